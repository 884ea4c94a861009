"""How late rewards arrive: by a fixed number of rounds, or by a random one."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

from rotting._core.parameters import Parameters, parameter
from rotting._core.parsing import parse_call
from rotting.errors import BadType

# The smallest uniform number: see `rotting._core.randomness`.
_LOG_OF_SMALLEST = -53 * math.log(2)


@dataclasses.dataclass(frozen=True)
class Delay(Parameters):
    """A number of rounds, for each pull: 0 means that the reward is known before the next choice, as it usually is."""

    # Every delay by its name: how texts find it.
    known: ClassVar[dict[str, type[Delay]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Delay.known[cls.__name__] = cls

    def numbers(self) -> tuple[float, float]:
        """Return the delay as compiled code reads it: a + floor(b log(u)), u being uniform."""
        raise NotImplementedError

    def longest(self) -> int:
        """Return the largest delay that can occur."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class FixedDelay(Delay):
    """The reward of every pull arrives so many rounds late.

    >>> FixedDelay(20).longest()
    20
    """

    rounds: int = parameter(minimum=0, doc="how many rounds late")

    def numbers(self) -> tuple[float, float]:
        """Return the fixed part alone."""
        return float(self.rounds), 0.0

    def longest(self) -> int:
        """Return it."""
        return self.rounds


@dataclasses.dataclass(frozen=True)
class GeometricDelay(Delay):
    """Whatever its age, a reward that has not arrived does so in the next round with probability 1 / (1 + mean).

    The delay of arm i's n-th pull in run r is a function of (seed, r, i, n): the same for every policy.

    >>> GeometricDelay(mean=20).longest()  # what the smallest random number leads to
    753
    """

    mean: float = parameter(minimum=0, maximum=1e9, doc="how many rounds late on average")

    def numbers(self) -> tuple[float, float]:
        """Return the scale of log(u): 1 / log(1 - p), p being the probability to arrive."""
        return 0.0, -1 / math.log1p(1 / self.mean) if self.mean > 0 else 0.0

    def longest(self) -> int:
        """Return what the smallest uniform number leads to; logarithms may differ in their last bit, so one more."""
        return math.floor(_LOG_OF_SMALLEST * self.numbers()[1]) + 1


def as_delay(delay: Delay | int | str) -> Delay:
    """Return a delay: itself, so many rounds, or what a text such as "GeometricDelay(50)" or "20" describes.

    >>> as_delay(20), as_delay("GeometricDelay(50)")
    (FixedDelay(rounds=20), GeometricDelay(mean=50.0))
    """
    if isinstance(delay, Delay):
        return delay
    if isinstance(delay, str):
        found: Delay = FixedDelay(int(delay)) if delay.isdecimal() else parse_call(delay, Delay.known, "delay", {})
        return found
    if isinstance(delay, bool) or not hasattr(delay, "__index__"):
        expected = "a whole number of rounds, or GeometricDelay(mean)"
        raise BadType("is no delay", name="delay", value=delay, expected=expected)
    return FixedDelay(delay)
