"""Mean-reward curves under their short name; they live in `rotting.problems.curves`."""

from rotting.problems.curves import (
    Constant,
    Curve,
    CurveLike,
    Drop,
    Drops,
    Exponential,
    Growth,
    Linear,
    Logistic,
    Power,
    Sigmoid,
    Table,
    as_curve,
)
from rotting.problems.polynomial import Polynomial

__all__ = [
    "Constant",
    "Curve",
    "CurveLike",
    "Drop",
    "Drops",
    "Exponential",
    "Growth",
    "Linear",
    "Logistic",
    "Polynomial",
    "Power",
    "Sigmoid",
    "Table",
    "as_curve",
]
