"""A bandit problem: K mean-reward curves, the dynamics that move along them, and the noise around them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rotting._core.randomness import checked_seed
from rotting._core.validation import LARGEST_WHOLE, finite_number, whole_number, whole_numbers
from rotting.errors import BadType, BadValue, RottingError
from rotting.problems.contract import check_thoroughly, memory_of, part_of
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import curve_arrays
from rotting.problems.curves import CurveLike, as_curve
from rotting.problems.cycles import Cycle, best_cycle, constant_cycle, greedy_cycle, too_many_situations
from rotting.problems.dynamics import Dynamics
from rotting.problems.kernel import ELIGIBLE, ProblemArrays
from rotting.problems.noise import LARGEST_SIGMA, NOISES, Gaussian, Noise
from rotting.problems.oracle import OracleResult, play_oracle
from rotting.problems.rested import Rested
from rotting.problems.restless import Restless
from rotting.problems.rewards import reward_range

if TYPE_CHECKING:
    from rotting.logs import LogSource


@dataclasses.dataclass(frozen=True)
class Problem:
    """K arms, each with a mean-reward curve; dynamics, and a noise model.

    Parameters
    ----------
    curves
        One per arm: a `rotting.curves.Curve`, a number (constant), or a sequence of values (the last one holds).
    noise
        "gaussian", "bernoulli" (rewards 0 or 1; means must lie in [0, 1]), "none", or any `Noise`.
    sigma
        Standard deviation of "gaussian" noise.
    restless
        False: an arm's value follows its own pulls n (rested). True: it follows the round, mu_i(t - 1).
    allow_increasing
        Curves that increase break the assumption of rotting bandits and are refused unless this is True.
    name, horizon
        What tables call the problem, and the horizon it is usually played for.
    dynamics
        What moves an arm along its curve: any `Dynamics`. `Rested()` and `Restless()` are the same as restless=False
        and restless=True, and read back so.

    Examples
    --------
    >>> from rotting.problems.curves import Drop
    >>> problem = Problem([0.0, Drop(before=0.5, after=-0.5, at=100)], sigma=1.0)
    >>> problem.oracle(horizon=300).pulls
    array([200, 100])
    """

    curves: tuple[Curve, ...]
    # The three plain kinds are kept by name, as version 0.1 wrote them: `noise_model` is the object in every case.
    noise: str | Noise = "gaussian"
    sigma: float = 1.0
    restless: bool = False
    allow_increasing: bool = False
    name: str = "problem"
    horizon: int = 10_000
    # None: rested or restless, as `restless` says. `dynamics_model` is the object in every case.
    dynamics: Dynamics | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            curves: Iterable[CurveLike],
            noise: str | Noise = "gaussian",
            sigma: float = 1.0,
            restless: bool = False,
            allow_increasing: bool = False,
            name: str = "problem",
            horizon: int = 10_000,
            dynamics: Dynamics | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "curves", _checked_curves(self.curves))
        sigma = finite_number("sigma", self.sigma, minimum=0, below=LARGEST_SIGMA, owner="Problem")
        object.__setattr__(self, "sigma", sigma)
        horizon = whole_number("horizon", self.horizon, minimum=1, maximum=LARGEST_WHOLE, owner="Problem")
        object.__setattr__(self, "horizon", horizon)
        for name in ("restless", "allow_increasing"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise BadType("is neither True nor False", owner="Problem", name=name, value=value)
        self._settle_noise()
        self._settle_dynamics()
        self.dynamics_model.check(self.curves)
        if self.dynamics_model.rots and not self.allow_increasing:
            self._refuse_increasing()
        if math.isfinite(self.noise_model.lowest) or math.isfinite(self.noise_model.highest):
            self._refuse_means_beyond_noise()
        self.noise_model.arrays(self.n_arms)

    def _settle_noise(self) -> None:
        """Keep plain noise by its name."""
        if isinstance(self.noise, Gaussian) and isinstance(self.noise.sigma, float):
            object.__setattr__(self, "sigma", self.noise.sigma)
        for name, kind in NOISES.items():
            if type(self.noise) is kind and not isinstance(getattr(self.noise, "sigma", None), tuple):
                object.__setattr__(self, "noise", name)
        if isinstance(self.noise, Noise) or (isinstance(self.noise, str) and self.noise in NOISES):
            return
        raise BadValue(
            f"is not one of {', '.join(map(repr, NOISES))}",
            owner="Problem",
            name="noise",
            value=self.noise,
            hint="or pass a Noise, such as rotting.problems.Gaussian(0.5)",
        )

    def _settle_dynamics(self) -> None:
        """Keep rested and restless dynamics as `restless`."""
        if self.dynamics is None:
            return
        if not isinstance(self.dynamics, Dynamics):
            expected = "a Dynamics, such as Rested(), or None"
            raise BadType("is no dynamics", owner="Problem", name="dynamics", value=self.dynamics, expected=expected)
        if self.restless and type(self.dynamics) is not Restless:
            raise BadValue(
                f"contradicts {{dynamics}}{self.dynamics!r}",
                owner="Problem",
                name="restless",
                value=True,
                hint="give one of the two",
            )
        if type(self.dynamics) in (Rested, Restless):
            object.__setattr__(self, "restless", type(self.dynamics) is Restless)
            object.__setattr__(self, "dynamics", None)

    def _refuse_increasing(self) -> None:
        for arm, curve in enumerate(self.curves):
            if not curve.is_nonincreasing():
                raise BadValue(
                    "increases, and rotting arms never do",
                    owner=f"Problem: arm {arm}",
                    name="curve",
                    value=curve,
                    hint="pass allow_increasing=True if that is meant",
                )

    def _refuse_means_beyond_noise(self) -> None:
        noise = self.noise_model
        for arm, (lowest, highest) in enumerate(self.dynamics_model.lowest_and_highest(self.curves)):
            if not noise.lowest <= lowest <= highest <= noise.highest:
                raise BadValue(
                    f"has means from {lowest!r} to {highest!r}",
                    owner=f"Problem: arm {arm}",
                    name="curve",
                    value=self.curves[arm],
                    expected=f"means in [{noise.lowest:g}, {noise.highest:g}], as noise={self.noise!r} needs",
                )

    def __repr__(self) -> str:
        """Return the call that makes it; rested and restless problems as version 0.1 wrote them."""
        fields = [field.name for field in dataclasses.fields(self)]
        shown = [
            f"{name}={getattr(self, name)!r}" for name in fields if name != "dynamics" or self.dynamics is not None
        ]
        return f"Problem({', '.join(shown)})"

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.curves)

    @cached_property
    def noise_model(self) -> Noise:
        """The noise, as an object.

        >>> Problem([1.0], sigma=0.5).noise_model
        Gaussian(sigma=0.5)
        """
        if isinstance(self.noise, Noise):
            return self.noise
        return Gaussian(self.sigma) if self.noise == "gaussian" else NOISES[self.noise]()

    @cached_property
    def dynamics_model(self) -> Dynamics:
        """The dynamics, as an object.

        >>> Problem([1.0], restless=True).dynamics_model
        Restless()
        """
        return self.dynamics or (Restless() if self.restless else Rested())

    @property
    def is_limited(self) -> bool:
        """Whether some arms may not be pulled in some rounds (see `rotting.problems.kernel`)."""
        return ELIGIBLE in self.dynamics_model.Memory._fields  # type: ignore[attr-defined]

    @property
    def noise_scale(self) -> float:
        """The sub-Gaussian scale of the noise: sigma, 1/2 for 0/1 rewards, 0 without noise, infinity if it has none."""
        return self.noise_model.scale()

    @cached_property
    def reward_range(self) -> tuple[float, float] | None:
        """The range that all but one in ten thousand rewards of any arm lie in; None if its noise does not say.

        >>> Problem([0.5], noise="bernoulli").reward_range
        (0.0, 1.0)
        """
        return reward_range(self)

    @cached_property
    def arrays(self) -> ProblemArrays:
        """The problem in the form that compiled code reads."""
        dynamics, noise = self.dynamics_model, self.noise_model
        arrays = ProblemArrays(
            curves=curve_arrays(self.curves),
            dynamics=part_of(dynamics, dynamics.Arrays, dynamics.arrays(self.n_arms), "arrays"),
            noise=part_of(noise, noise.Arrays, noise.arrays(self.n_arms), "arrays"),
        )
        check_thoroughly(self, arrays)
        return arrays

    def new_memory(self) -> Any:
        """Return what a run remembers before its first round."""
        dynamics = self.dynamics_model
        return memory_of(dynamics, dynamics.Memory, dynamics.initial_memory(self.n_arms), self.n_arms)

    def means(self, n: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return mu_i(n) for every arm (first axis) and every n.

        >>> Problem([1.0, [3.0, 2.0]]).means([0, 1, 5])
        array([[1., 1., 1.],
               [3., 2., 2.]])
        """
        return np.stack([np.asarray(curve(n)) for curve in self.curves])

    def oracle(
        self,
        horizon: int,
        rounds: npt.ArrayLike | None = None,
        kind: str | None = None,
        seed: int = 0,
        run: int = 0,
    ) -> OracleResult:
        """Return an oracle's pulls per arm and cumulative expected reward, and what kind of oracle it is.

        For arms that never increase, rested or restless, it is the greedy one: in every round it pulls the arm with the
        largest mean, the lowest-numbered on ties. For rested arms of other shapes it is the best allocation of pulls.

        Parameters
        ----------
        horizon
            How many rounds it plays.
        rounds
            The rounds at which the reward is wanted, in order, the last of them the horizon (default: only that).
        kind
            "greedy", "best allocation", "constant arm", "best cycle", "look-ahead", "brute force" or "1 per round"
            (default: the best there is for the dynamics). `rotting.problems.oracle` says what they are.
        seed, run
            Which run, where each run draws its own arms.

        Examples
        --------
        >>> oracle = Problem([0.5, [1.0, 0.4]]).oracle(horizon=3)
        >>> oracle.pulls, oracle.reward, str(oracle)
        (array([2, 1]), array([2.]), 'greedy: optimal')
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
        number = whole_number("run", run, minimum=0, maximum=LARGEST_WHOLE)
        return play_oracle(self, wanted, kind, checked_seed(seed), number)

    def cycle(self, kind: str = "best") -> Cycle:
        """Return arms to pull over and over, and what they are worth per round in the long run.

        Only for dynamics in which few situations arise: boredom, recovering and blocked arms, tallies.

        Parameters
        ----------
        kind
            "best": the best cycle of all; "greedy": the one in which the greedy player ends; "constant": the best arm.

        Examples
        --------
        >>> from rotting.problems import Tally
        >>> Problem([[1.0, 0.4], 0.6], dynamics=Tally(m=1)).cycle()
        Cycle(arms=(0, 1), value=0.8)
        """
        if kind == "best":
            found = best_cycle(self)
            if found is None:
                raise too_many_situations(self)
            return found
        if kind not in ("greedy", "constant"):
            raise BadValue(name="kind", value=kind, expected="'best', 'greedy' or 'constant'")
        return greedy_cycle(self) if kind == "greedy" else constant_cycle(self)

    @classmethod
    def from_log(cls, log: LogSource, pessimistic: bool = False, **reading: Any) -> Problem:
        """Return the problem that fits a log of exposures (needs `rotting[logs]`).

        Short for `rotting.logs.problem_from_log`, which says what is fitted, and what else can be said about how the
        log is to be read (`arm`, `impressions`, `reward_delay`, ...).

        >>> from rotting.logs import make_log
        >>> Problem.from_log(make_log(arms=2, exposures=500)).n_arms
        2
        """
        from rotting.logs import problem_from_log

        return problem_from_log(log, pessimistic, **reading)

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
