"""Bandit problems: mean-reward curves, noise, the greedy oracle, and the named problems of the literature."""

from rotting.problems.curves import (
    Constant,
    Curve,
    CurveLike,
    Drop,
    Drops,
    Exponential,
    Linear,
    Logistic,
    Power,
    Table,
)
from rotting.problems.named import (
    NAMED,
    ProblemLike,
    levine_ten_arm,
    levine_two_arm,
    parse_problem,
    stationary,
    ten_arm,
    two_arm,
)
from rotting.problems.oracle import OracleResult
from rotting.problems.problem import Problem

__all__ = [
    "NAMED",
    "Constant",
    "Curve",
    "CurveLike",
    "Drop",
    "Drops",
    "Exponential",
    "Linear",
    "Logistic",
    "OracleResult",
    "Power",
    "Problem",
    "ProblemLike",
    "Table",
    "levine_ten_arm",
    "levine_two_arm",
    "parse_problem",
    "stationary",
    "ten_arm",
    "two_arm",
]
