"""What is chosen from: mean-reward curves, noise, and the named problems of the literature."""

from rotting.problems.curves import (
    Constant,
    Curve,
    Drop,
    Drops,
    Exponential,
    Linear,
    Logistic,
    Power,
    Table,
)
from rotting.problems.named import NAMED, levine_ten_arm, levine_two_arm, parse_problem, stationary, ten_arm, two_arm
from rotting.problems.problem import OracleResult, Problem

__all__ = [
    "NAMED",
    "Constant",
    "Curve",
    "Drop",
    "Drops",
    "Exponential",
    "Linear",
    "Logistic",
    "OracleResult",
    "Power",
    "Problem",
    "Table",
    "levine_ten_arm",
    "levine_two_arm",
    "parse_problem",
    "stationary",
    "ten_arm",
    "two_arm",
]
