"""What every noise is: parameters, and a function that draws a reward around a mean. The three plain ones are here.

The reward of arm i's n-th pull in run r is a function of (seed, r, i, n) and of its mean, and of nothing else.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core import defining
from rotting._core.compiling import helper
from rotting._core.parameters import Parameters, parameter
from rotting._core.randomness import normal_quantile, uniform
from rotting._core.validation import finite_number
from rotting.errors import BadValue, ProblemDefinitionError
from rotting.problems import kernel

LARGEST_SIGMA = 1e300  # rewards stay finite
_GAUSSIAN, _BERNOULLI, _NONE = range(3)


@dataclasses.dataclass(frozen=True)
class Noise(Parameters):
    """What an arm pays around its mean.

    A subclass names its function in its class line:

        @dataclass(frozen=True)
        class Mine(Noise, draw=draw):
            spread: float = parameter(1.0, minimum=0, doc="what it means")

    `rotting.problems.kernel` says what the function must be. In it `problem.noise.numbers` holds the parameters in
    their order, unless the class says otherwise. A class derived from another noise inherits what it does not give.

    Parameters
    ----------
    draw
        `draw(problem, arm, mean, key, n)`: the reward of pull number n of the arm.
    arrays
        The NamedTuple of the parameters in compiled code (default: their numbers). Overrides the method `arrays`.
    lowest, highest
        The means around which it can be drawn.
    abstract
        Whether it is no noise itself, and only others are derived from it.
    """

    # Every noise by its name: how texts find it.
    known: ClassVar[dict[str, type[Noise]]] = {}
    Arrays: ClassVar[type] = kernel.Numbers
    lowest: ClassVar[float] = -math.inf  # a noise may also set them on itself, if they follow from its parameters
    highest: ClassVar[float] = math.inf
    _draw: ClassVar[Callable[..., Any] | None] = None

    def __init_subclass__(
        cls,
        *,
        draw: Callable[..., Any] | None = None,
        arrays: type | None = None,
        lowest: float | None = None,
        highest: float | None = None,
        abstract: bool = False,
    ) -> None:
        super().__init_subclass__()
        if arrays is not None and not defining.is_tuple_class(arrays):
            raise ProblemDefinitionError(
                "is not a class of NamedTuples",
                owner=cls.__name__,
                name="arrays",
                value=arrays,
                expected="a NamedTuple",
            )
        cls.lowest = cls.lowest if lowest is None else lowest
        cls.highest = cls.highest if highest is None else highest
        own = defining.plain_function(ProblemDefinitionError, cls.__name__, "draw", draw, kernel.DRAW_ARGUMENTS)
        if own is not None or arrays is not None:
            cls._draw = staticmethod(own or cls._draw)  # type: ignore[arg-type]
            cls.Arrays = defining.own_tuple_class(cls, arrays or cls.Arrays, "Arrays")
            assert cls._draw is not None
            kernel.register_noise(cls.Arrays, cls._draw)
        if abstract:
            return
        if cls._draw is None:
            raise ProblemDefinitionError(
                "draw missing in the class line",
                owner=cls.__name__,
                expected=f"class {cls.__name__}(Noise, draw=...)",
                hint="abstract=True is for classes that only others are derived from",
            )
        defining.refuse_methods(ProblemDefinitionError, "Noise", cls, ("draw",))
        defining.check_name(ProblemDefinitionError, "curve, dynamics or noise", cls, defining.IN_PROBLEMS)
        Noise.known[cls.__name__] = defining.IN_PROBLEMS[cls.__name__] = cls

    def arrays(self, n_arms: int) -> Any:
        """Return the parameters as compiled code reads them: by default the numbers of all fields."""
        return kernel.Numbers(np.array([float(getattr(self, field.name)) for field in dataclasses.fields(self)]))

    def scale(self) -> float:
        """Return the sub-Gaussian scale (the largest, where arms differ); infinity if there is none."""
        return math.inf

    def outside(self, arm: int, mean: float, low: float, high: float) -> float:
        """Return the chance that a reward around a mean is below `low` or above `high`; NaN if it does not say."""
        return math.nan


def normal_outside(low: float, high: float) -> float:
    """Return the chance that a standard normal number lies outside these bounds."""
    return 0.5 * (math.erfc(-low / math.sqrt(2)) + math.erfc(high / math.sqrt(2)))


class PlainArrays(NamedTuple):
    """Gaussian, 0/1 or no noise."""

    kind: npt.NDArray[np.int64]  # [_GAUSSIAN, _BERNOULLI or _NONE]
    sigma: npt.NDArray[np.float64]  # (K,): standard deviation of each arm, for Gaussian noise


def standard_plain(problem, arm, key, n):
    """Return a standard normal number for Gaussian noise, else a uniform one."""
    drawn = uniform(key, n)
    return normal_quantile(drawn) if problem.noise.kind[0] == _GAUSSIAN else drawn


def around_plain(problem, arm, mean, standard):
    """Return the reward: one function for the three kinds, so that they share machine code."""
    kind = problem.noise.kind[0]
    if kind == _GAUSSIAN:
        return mean + problem.noise.sigma[arm] * standard
    if kind == _BERNOULLI:
        return 1.0 if standard < mean else 0.0
    return mean


_standard, _around = helper(standard_plain), helper(around_plain)


def draw_plain(problem, arm, mean, key, n):
    """Return a reward with Gaussian, 0/1 or no noise."""
    return _around(problem, arm, mean, _standard(problem, arm, key, n))


@dataclasses.dataclass(frozen=True)
class Plain(Noise, arrays=PlainArrays, draw=draw_plain, abstract=True):
    """What the three have in common."""

    _kind: ClassVar[int]

    def arrays(self, n_arms: int) -> PlainArrays:
        """Return the kind of noise."""
        return PlainArrays(np.array([self._kind], np.int64), np.zeros(n_arms))


kernel.register_steps(Plain.Arrays, kernel.NoiseSteps(standard_plain, around_plain))


@dataclasses.dataclass(frozen=True)
class Gaussian(Plain):
    """The mean plus sigma times a standard normal number.

    Examples
    --------
    >>> Gaussian(0.5)
    Gaussian(sigma=0.5)
    >>> Gaussian([0.5, 1]).scale()  # one sigma per arm
    1.0
    """

    _kind = _GAUSSIAN
    sigma: float | tuple[float, ...] = parameter(1.0, raw=True, doc="standard deviation, or one of each arm")

    if TYPE_CHECKING:

        def __init__(self, sigma: float | npt.ArrayLike = 1.0) -> None: ...

    def __post_init__(self) -> None:
        def checked(sigma: object) -> float:
            return finite_number("sigma", sigma, minimum=0, below=LARGEST_SIGMA, owner="Gaussian")

        each = not isinstance(self.sigma, str) and hasattr(self.sigma, "__len__")
        sigma = tuple(map(checked, self.sigma)) if each else checked(self.sigma)  # type: ignore[arg-type]
        object.__setattr__(self, "sigma", sigma)

    def arrays(self, n_arms: int) -> PlainArrays:
        """Return sigma of each arm."""
        if isinstance(self.sigma, tuple) and len(self.sigma) != n_arms:
            raise BadValue(
                f"does not fit {n_arms} arms",
                owner="Gaussian",
                name="sigma",
                value=self.sigma,
                expected="one number for all arms, or one for each",
            )
        sigma = np.ascontiguousarray(np.broadcast_to(np.array(self.sigma), n_arms))
        return super().arrays(n_arms)._replace(sigma=sigma)

    def scale(self) -> float:
        """Return sigma."""
        return max(self.sigma, default=0.0) if isinstance(self.sigma, tuple) else self.sigma

    def outside(self, arm: int, mean: float, low: float, high: float) -> float:
        """Return the chance."""
        sigma = self.sigma[arm] if isinstance(self.sigma, tuple) else self.sigma
        return normal_outside((low - mean) / sigma, (high - mean) / sigma) if sigma else float(not low <= mean <= high)


@dataclasses.dataclass(frozen=True)
class Bernoulli(Plain, lowest=0.0, highest=1.0):
    """A reward of 1 with the mean as its probability, else 0.

    >>> Bernoulli().scale()
    0.5
    """

    _kind = _BERNOULLI

    def scale(self) -> float:
        """Return 1/2: rewards lie between 0 and 1."""
        return 0.5

    def outside(self, arm: int, mean: float, low: float, high: float) -> float:
        """Return the chances of 0 and of 1, if they lie there."""
        return (1 - mean) * (not low <= 0 <= high) + mean * (not low <= 1 <= high)


@dataclasses.dataclass(frozen=True)
class NoNoise(Plain):
    """The mean itself."""

    _kind = _NONE

    def scale(self) -> float:
        """Return 0."""
        return 0.0

    def outside(self, arm: int, mean: float, low: float, high: float) -> float:
        """Say whether the mean lies there."""
        return float(not low <= mean <= high)


# What version 0.1 calls them, and still the short way to write them. "gaussian" takes its sigma from the problem.
NOISES: dict[str, type[Noise]] = {"gaussian": Gaussian, "bernoulli": Bernoulli, "none": NoNoise}
