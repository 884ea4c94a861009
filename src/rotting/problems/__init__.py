"""Bandit problems: mean-reward curves, dynamics, noise, oracles, and the named problems of the literature."""

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
from rotting.problems.dynamics import Dynamics
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
from rotting.problems.noise import Bernoulli, Gaussian, Noise, NoNoise
from rotting.problems.oracle import OracleResult
from rotting.problems.problem import Problem
from rotting.problems.rested import Rested
from rotting.problems.restless import Restless

__all__ = [
    "NAMED",
    "Bernoulli",
    "Constant",
    "Curve",
    "CurveLike",
    "Drop",
    "Drops",
    "Dynamics",
    "Exponential",
    "Gaussian",
    "Linear",
    "Logistic",
    "NoNoise",
    "Noise",
    "OracleResult",
    "Power",
    "Problem",
    "ProblemLike",
    "Rested",
    "Restless",
    "Table",
    "levine_ten_arm",
    "levine_two_arm",
    "parse_problem",
    "stationary",
    "ten_arm",
    "two_arm",
]
