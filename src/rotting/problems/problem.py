"""A bandit problem: K mean-reward curves and the noise around them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.randomness import normal_quantile, uniform
from rotting.problems.curves import Curve, CurveArrays, as_curve, curve_arrays, mean_at

NOISES = ("gaussian", "bernoulli", "none")
_GAUSSIAN, _BERNOULLI, _NONE = range(3)


class ProblemArrays(NamedTuple):
    """A problem as compiled code sees it."""

    curves: CurveArrays
    noise: np.ndarray  # int64 [which noise, restless?]
    sigma: np.ndarray  # float64 [sigma]


class OracleResult(NamedTuple):
    """What the greedy oracle does in `horizon` rounds."""

    pulls: np.ndarray  # int64 (K,)
    reward: np.ndarray  # float64: cumulative expected reward at each of `rounds`
    rounds: np.ndarray  # int64


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
        How tables call the problem, and the horizon it is usually played for.

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

    def __post_init__(self) -> None:
        curves = self.curves
        if isinstance(curves, str) or not isinstance(curves, Iterable):
            raise TypeError(f"Problem: curves={curves!r} is not a sequence of curves, one per arm")
        object.__setattr__(self, "curves", tuple(as_curve(curve) for curve in curves))
        if not self.curves:
            raise ValueError("Problem: no curves; expected at least one arm")
        if self.noise not in NOISES:
            raise ValueError(f"Problem: noise={self.noise!r} is not one of {', '.join(map(repr, NOISES))}")
        real = isinstance(self.sigma, int | float | np.number) and not isinstance(self.sigma, bool)
        if not real or not 0 <= self.sigma < 1e300:
            raise ValueError(f"Problem: sigma={self.sigma!r} is out of range; expected a finite number >= 0")
        object.__setattr__(self, "sigma", float(self.sigma))
        whole = isinstance(self.horizon, int | np.integer) and not isinstance(self.horizon, bool)
        if not whole or self.horizon < 1:
            raise ValueError(f"Problem: horizon={self.horizon!r} is out of range; expected a whole number >= 1")
        for name in ("restless", "allow_increasing"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"Problem: {name}={getattr(self, name)!r} is neither True nor False")
        for arm, curve in enumerate(self.curves):
            self._check(arm, curve)

    def _check(self, arm: int, curve: Curve) -> None:
        if not self.allow_increasing and not curve.is_nonincreasing():
            raise ValueError(
                f"Problem: the curve of arm {arm} increases, and rotting arms never do; "
                "pass allow_increasing=True if that is meant"
            )
        highest, lowest = curve.highest_and_lowest()
        if self.noise == "bernoulli" and not 0 <= lowest <= highest <= 1:
            raise ValueError(
                f"Problem: arm {arm} has means from {lowest:g} to {highest:g}; Bernoulli noise needs means in [0, 1]"
            )

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.curves)

    @property
    def noise_scale(self) -> float:
        """The sub-Gaussian scale of the noise: sigma, 1/2 for 0/1 rewards, 0 without noise."""
        return {"gaussian": self.sigma, "bernoulli": 0.5, "none": 0.0}[self.noise]

    @cached_property
    def arrays(self) -> ProblemArrays:
        """The problem in the form that compiled code reads."""
        noise = np.array([NOISES.index(self.noise), int(self.restless)], np.int64)
        return ProblemArrays(curve_arrays(self.curves), noise, np.array([self.sigma]))

    def means(self, n: Any) -> np.ndarray:
        """Return mu_i(n) for every arm (first axis) and every n.

        >>> Problem([1.0, [3.0, 2.0]]).means([0, 1, 5])
        array([[1., 1., 1.],
               [3., 2., 2.]])
        """
        return np.stack([np.asarray(curve(n)) for curve in self.curves])

    def oracle(self, horizon: int, rounds: Any = None) -> OracleResult:
        """Return the greedy oracle's pulls per arm and cumulative expected reward (at `rounds`; default: the end).

        In every round it pulls the arm that is worth most now, the lowest-numbered on ties.
        """
        wanted = np.array([horizon] if rounds is None else rounds, dtype=np.int64)
        if horizon < 1 or len(wanted) == 0 or wanted[0] < 1 or np.any(np.diff(wanted) < 0) or wanted[-1] != horizon:
            raise ValueError(
                f"horizon={horizon!r}, rounds={rounds!r}: expected a horizon >= 1 and rounds that end with it"
            )
        pulls, reward = np.zeros(self.n_arms, np.int64), np.empty(len(wanted))
        _play_oracle(self.arrays, wanted, pulls, np.empty(self.n_arms), reward)
        return OracleResult(pulls, reward, wanted)

    @classmethod
    def from_log(cls, log: Any, pessimistic: bool = False, **columns: Any) -> Problem:
        """Return the problem that fits a log of exposures (needs `rotting[logs]`).

        Short for `rotting.logs.problem_from_log`, which says what is fitted.

        >>> from rotting.logs import make_log
        >>> Problem.from_log(make_log(arms=2, exposures=500)).n_arms
        2
        """
        from rotting.logs import problem_from_log

        return problem_from_log(log, pessimistic, **columns)

    def __str__(self) -> str:
        return self.name


@helper
def value_now(problem, arm, n, t):
    """Return what arm is worth in round t (1, 2, ...) after n pulls."""
    return mean_at(problem.curves, arm, t - 1 if problem.noise[1] else n)


@helper
def draw_reward(problem, key, mean, n):
    """Return the reward of an arm's pull number n (0, 1, ...), whose noise stream starts at `key`."""
    noise = problem.noise[0]
    if noise == _GAUSSIAN:
        return mean + problem.sigma[0] * normal_quantile(uniform(key, n))
    if noise == _BERNOULLI:
        return 1.0 if uniform(key, n) < mean else 0.0
    return mean


@entry
def _play_oracle(problem, rounds, pulls, values, reward):
    """Play the oracle up to the last of `rounds`, filling `pulls` and `reward`; `values` is room to work."""
    restless = problem.noise[1] == 1
    total, lost, place = 0.0, 0.0, 0
    best = -1
    for t in range(1, rounds[-1] + 1):
        # A rested arm's value changes only by its own pull, so most rounds need no comparison.
        if restless or best < 0 or value_now(problem, best, pulls[best], t) != values[best]:
            best = _most_valuable(problem, pulls, t, values)
        # Kahan's sum: over 10^7 rounds a plain one would lose digits.
        step = values[best] - lost
        grown = total + step
        lost = (grown - total) - step
        total = grown
        pulls[best] += 1
        while place < len(rounds) and rounds[place] == t:
            reward[place] = total
            place += 1


@helper
def _most_valuable(problem, pulls, t, values):
    """Return the arm that is worth most in round t, the lowest-numbered on ties; `values` receives all values."""
    best = 0
    for arm in range(len(pulls)):
        values[arm] = value_now(problem, arm, pulls[arm], t)
        if values[arm] > values[best]:
            best = arm
    return best
