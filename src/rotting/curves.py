"""Mean-reward curves under their short name; they live in `rotting.problems.curves`."""

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
    as_curve,
)

__all__ = [
    "Constant",
    "Curve",
    "CurveLike",
    "Drop",
    "Drops",
    "Exponential",
    "Linear",
    "Logistic",
    "Power",
    "Table",
    "as_curve",
]
