"""Push notifications: users who have seen some templates lately, and templates that suit some users only."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting._core.randomness import uniform, word
from rotting.errors import BadValue
from rotting.problems.curve import Curve
from rotting.problems.curve_kernels import mean_at
from rotting.problems.dynamics import Dynamics

USERS, GAMMA, HALF_LIFE, ACTIVE, RATE_ACTIVE, RATE = range(6)  # of `numbers`
_NEVER = -1


class PushArrays(NamedTuple):
    """Who the users are, and which templates suit them."""

    numbers: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]  # (2, K): how often a template suits users who are not active, and who are


class PushMemory(NamedTuple):
    """The users, and what is next."""

    pulls: npt.NDArray[np.int64]
    eligible: npt.NDArray[np.int64]  # (K,)
    rest: npt.NDArray[np.float64]  # (K,): days since the user saw it
    key: npt.NDArray[np.uint64]  # [where the run's random numbers start]
    active: npt.NDArray[np.int64]  # (users,)
    last: npt.NDArray[np.int64]  # (users, K): the day on which each user saw each template


def begin(problem, memory, key):
    """Draw who is active; nobody has seen anything."""
    memory.key[0] = key
    for user in range(len(memory.active)):
        memory.active[user] = uniform(word(key, 0), user) < problem.dynamics.numbers[ACTIVE]
    _prepare(problem, memory, 1)


@helper
def _prepare(problem, memory, t):
    """Draw which templates suit the user of round t, one at least, and say how long each was not seen."""
    users, n_arms = len(memory.active), len(memory.pulls)
    user, day = (t - 1) % users, (t - 1) // users
    random, left = word(memory.key[0], t), 0
    for arm in range(n_arms):
        memory.eligible[arm] = uniform(random, arm) < problem.dynamics.shares[memory.active[user], arm]
        left += memory.eligible[arm]
        seen = memory.last[user, arm]
        memory.rest[arm] = np.inf if seen == _NEVER else float(day - seen)
    if left == 0:
        memory.eligible[np.int64(uniform(random, n_arms) * n_arms)] = 1


def value(problem, memory, arm, t):
    """Return how likely the user of round t comes back."""
    numbers = problem.dynamics.numbers
    users = len(memory.active)
    rate = numbers[RATE_ACTIVE] if memory.active[(t - 1) % users] == 1 else numbers[RATE]
    lift = mean_at(problem.curves, arm, (t - 1) // users)
    return rate * (1.0 + lift - numbers[GAMMA] * 0.5 ** (memory.rest[arm] / numbers[HALF_LIFE]))


def pulled(problem, memory, arm, t):
    """Note the day, and go on to the next user."""
    users = len(memory.active)
    memory.last[(t - 1) % users, arm] = (t - 1) // users
    _prepare(problem, memory, t + 1)


@dataclasses.dataclass(frozen=True)
class Push(Dynamics, arrays=PushArrays, memory=PushMemory, value=value, pulled=pulled, begin=begin):
    """Each user gets one notification a day, of a template that suits them on that day; who saw it lately minds.

    Round t is for user (t - 1) mod `users`, on day (t - 1) // users. Template a suits an active user on a day with
    probability `shares_active[a]`, others with `shares[a]`; if none does, one is drawn that will do. The user comes
    back with probability rate (1 + lift - gamma 0.5^(d / half_life)), d days after they last saw the template (never:
    no penalty); rate is `rate_active` or `rate`, and the lift is the template's curve on that day.

    Policies are shown which arms are `eligible`, and d of each arm (`rest`).

    References
    ----------
    Yancey, Settles (2020), "A sleeping, recovering bandit algorithm for optimizing recurring notifications", whose
    gamma and half-life are the defaults.

    Examples
    --------
    >>> from rotting.problems import Problem
    >>> problem = Problem([0.0, 0.1], noise="bernoulli", dynamics=Push(users=5), allow_increasing=True)
    >>> problem.oracle(horizon=100).kind
    'greedy'
    """

    rots: ClassVar[bool] = False
    users: int = parameter(1000, minimum=1, maximum=10**7, doc="how many users there are")
    gamma: float = parameter(0.017, minimum=0, doc="by how much a template is worse that was seen a moment ago")
    half_life: float = parameter(15.0, above=0, doc="after how many days half of that is left")
    shares: tuple[float, ...] = parameter((1.0,), raw=True, doc="how often a template suits users who are not active")
    shares_active: tuple[float, ...] = parameter((1.0,), raw=True, doc="how often it suits active users")
    active: float = parameter(0.1, minimum=0, maximum=1, doc="the share of users who are active")
    rate_active: float = parameter(0.4, minimum=0, doc="how often active users come back")
    rate: float = parameter(0.1, minimum=0, doc="how often others come back")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("shares", "shares_active"):
            given: Any = getattr(self, name)
            shares = tuple(float(share) for share in (given if hasattr(given, "__len__") else (given,)))
            if not shares or not all(0 <= share <= 1 for share in shares):
                raise BadValue(owner="Push", name=name, value=given, expected="shares from 0 to 1, one for each arm")
            object.__setattr__(self, name, shares)

    def check(self, curves: Sequence[Curve]) -> None:
        """Refuse another number of arms."""
        for name in ("shares", "shares_active"):
            if len(getattr(self, name)) not in (1, len(curves)):
                problem, expected = f"does not fit {len(curves)} arms", "one share for all arms, or one for each"
                raise BadValue(problem, owner="Push", name=name, value=getattr(self, name), expected=expected)

    def arrays(self, n_arms: int) -> PushArrays:
        """Return the numbers, and the shares of each arm."""
        numbers = self.users, self.gamma, self.half_life, self.active, self.rate_active, self.rate
        shares = [np.broadcast_to(each, n_arms) for each in (self.shares, self.shares_active)]
        return PushArrays(np.array(numbers, float), np.array(shares))

    def initial_memory(self, n_arms: int) -> PushMemory:
        """Return users who have seen nothing."""
        return PushMemory(
            pulls=np.zeros(n_arms, np.int64),
            eligible=np.ones(n_arms, np.int64),
            rest=np.full(n_arms, np.inf),
            key=np.zeros(1, np.uint64),
            active=np.zeros(self.users, np.int64),
            last=np.full((self.users, n_arms), _NEVER, np.int64),
        )

    def lowest_and_highest(self, curves: Sequence[Curve]) -> list[tuple[float, float]]:
        """Return what those who come least and most often can do."""
        rates = self.rate, self.rate_active
        found = []
        for low, high in super().lowest_and_highest(curves):
            ends = [rate * (1 + lift) for rate in rates for lift in (low - self.gamma, high)]
            found.append((min(ends), max(ends)))
        return found
