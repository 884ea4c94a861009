"""A bandit problem: K mean-reward curves and the noise around them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rotting._core.validation import LARGEST_WHOLE, finite_number, whole_number, whole_numbers
from rotting.errors import BadType, BadValue, RottingError
from rotting.problems.curve_kernels import curve_arrays
from rotting.problems.curves import Curve, CurveLike, as_curve
from rotting.problems.dynamics import ProblemArrays
from rotting.problems.noise import NOISES
from rotting.problems.oracle import OracleResult, play_oracle

if TYPE_CHECKING:
    from rotting.logs import LogSource

_LARGEST_SIGMA = 1e300  # rewards stay finite


@dataclasses.dataclass(frozen=True)
class Problem:
    """K arms, each with a mean-reward curve, and a noise model.

    Parameters
    ----------
    curves
        One per arm: a `rotting.curves.Curve`, a number (constant), or a sequence of values (the last one holds).
    noise
        "gaussian", "bernoulli" (rewards 0 or 1; means must lie in [0, 1]) or "none".
    sigma
        Standard deviation of Gaussian noise.
    restless
        False: an arm's value follows its own pulls n (rested). True: it follows the round, mu_i(t - 1).
    allow_increasing
        Curves that increase break the assumption of rotting bandits and are refused unless this is True. The greedy
        oracle is then only a reference, not the best possible (restless problems apart).
    name, horizon
        What tables call the problem, and the horizon it is usually played for.

    Examples
    --------
    >>> from rotting.problems.curves import Drop
    >>> problem = Problem([0.0, Drop(before=0.5, after=-0.5, at=100)], sigma=1.0)
    >>> problem.oracle(horizon=300).pulls
    array([200, 100])
    """

    curves: tuple[Curve, ...]
    noise: str = "gaussian"
    sigma: float = 1.0
    restless: bool = False
    allow_increasing: bool = False
    name: str = "problem"
    horizon: int = 10_000

    if TYPE_CHECKING:

        def __init__(
            self,
            curves: Iterable[CurveLike],
            noise: str = "gaussian",
            sigma: float = 1.0,
            restless: bool = False,
            allow_increasing: bool = False,
            name: str = "problem",
            horizon: int = 10_000,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "curves", _checked_curves(self.curves))
        if not isinstance(self.noise, str) or self.noise not in NOISES:
            names = ", ".join(map(repr, NOISES))
            raise BadValue(f"is not one of {names}", owner="Problem", name="noise", value=self.noise)
        sigma = finite_number("sigma", self.sigma, minimum=0, below=_LARGEST_SIGMA, owner="Problem")
        object.__setattr__(self, "sigma", sigma)
        horizon = whole_number("horizon", self.horizon, minimum=1, maximum=LARGEST_WHOLE, owner="Problem")
        object.__setattr__(self, "horizon", horizon)
        for name in ("restless", "allow_increasing"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise BadType("is neither True nor False", owner="Problem", name=name, value=value)
        for arm, curve in enumerate(self.curves):
            self._check(arm, curve)

    def _check(self, arm: int, curve: Curve) -> None:
        if not self.allow_increasing and not curve.is_nonincreasing():
            raise BadValue(
                "increases, and rotting arms never do",
                owner=f"Problem: arm {arm}",
                name="curve",
                value=curve,
                hint="pass allow_increasing=True if that is meant",
            )
        highest, lowest = curve.highest_and_lowest()
        noise = NOISES[self.noise]
        if not noise.lowest <= lowest <= highest <= noise.highest:
            raise BadValue(
                f"has means from {lowest!r} to {highest!r}",
                owner=f"Problem: arm {arm}",
                name="curve",
                value=curve,
                expected=f"means in [{noise.lowest:g}, {noise.highest:g}], as noise={self.noise!r} needs",
            )

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.curves)

    @property
    def noise_scale(self) -> float:
        """The sub-Gaussian scale of the noise: sigma, 1/2 for 0/1 rewards, 0 without noise."""
        scale = NOISES[self.noise].scale
        return self.sigma if scale is None else scale

    @cached_property
    def arrays(self) -> ProblemArrays:
        """The problem in the form that compiled code reads."""
        return ProblemArrays(
            curves=curve_arrays(self.curves),
            restless=np.array([int(self.restless)], np.int64),
            noise=np.array([NOISES[self.noise].code], np.int64),
            sigma=np.array([self.sigma]),
        )

    def means(self, n: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return mu_i(n) for every arm (first axis) and every n.

        >>> Problem([1.0, [3.0, 2.0]]).means([0, 1, 5])
        array([[1., 1., 1.],
               [3., 2., 2.]])
        """
        return np.stack([np.asarray(curve(n)) for curve in self.curves])

    def oracle(self, horizon: int, rounds: npt.ArrayLike | None = None) -> OracleResult:
        """Return the greedy oracle's pulls per arm and cumulative expected reward.

        In every round it pulls the arm with the largest mean, the lowest-numbered on ties.

        Parameters
        ----------
        horizon
            How many rounds it plays.
        rounds
            The rounds at which the reward is wanted, in order, the last of them the horizon (default: only that).
        """
        last = whole_number("horizon", horizon, minimum=1, maximum=LARGEST_WHOLE)
        wanted = whole_numbers("rounds", [last] if rounds is None else rounds, minimum=1)
        if wanted.ndim != 1 or wanted.size == 0 or np.any(np.diff(wanted) < 0) or wanted[-1] != last:
            raise BadValue(
                "does not fit {horizon}" + str(last),
                name="rounds",
                value=rounds,
                expected=f"whole numbers in order, the last of them {last}",
            )
        return play_oracle(self.arrays, wanted)

    @classmethod
    def from_log(
        cls,
        log: LogSource,
        pessimistic: bool = False,
        *,
        arm: str | None = None,
        reward: str | None = None,
        time: str | None = None,
        unit: str | None = None,
        drop_duplicates: bool = False,
    ) -> Problem:
        """Return the problem that fits a log of exposures (needs `rotting[logs]`).

        Short for `rotting.logs.problem_from_log`, which says what is fitted.

        >>> from rotting.logs import make_log
        >>> Problem.from_log(make_log(arms=2, exposures=500)).n_arms
        2
        """
        from rotting.logs import problem_from_log

        return problem_from_log(
            log, pessimistic, arm=arm, reward=reward, time=time, unit=unit, drop_duplicates=drop_duplicates
        )

    def __str__(self) -> str:
        return self.name


def _checked_curves(curves: Iterable[CurveLike]) -> tuple[Curve, ...]:
    if isinstance(curves, str) or not isinstance(curves, Iterable):
        raise BadType("is not a sequence of curves, one per arm", owner="Problem", name="curves", value=curves)
    checked: list[Curve] = []
    for curve in curves:
        try:
            checked.append(as_curve(curve))
        except RottingError as error:
            raise error.within(f"Problem: arm {len(checked)}") from None
    if not checked:
        raise BadValue("is empty", owner="Problem", name="curves", expected="at least one arm")
    return tuple(checked)
