"""A problem as compiled code sees it, and what an arm is worth at a given moment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.compiling import helper
from rotting.problems.curve_kernels import CurveArrays, mean_at


class ProblemArrays(NamedTuple):
    """A problem as compiled code sees it."""

    curves: CurveArrays
    restless: npt.NDArray[np.int64]  # [1 if values follow the round, 0 if they follow the arm's own pulls]
    noise: npt.NDArray[np.int64]  # [the code of the noise: `rotting.problems.noise.NOISES`]
    sigma: npt.NDArray[np.float64]  # [sigma]


@helper
def value_now(problem, arm, n, t):
    """Return the mean of an arm in round t (1, 2, ...) after n pulls of it."""
    return mean_at(problem.curves, arm, t - 1 if problem.restless[0] else n)
