"""What is asked of a bandit, and what it answers: the requests that `Bandit.exchange` carries out together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rotting._core.validation import whole_number
from rotting.bandit.core.checking import LONGEST_NAME, good_reward, name_list, reward_pairs
from rotting.bandit.errors import BadSettings, BanditError, StorageError, as_bad_settings

if TYPE_CHECKING:
    from rotting.bandit.core.events import Event
    from rotting.bandit.core.state import BanditState

LARGEST_BATCH = 1_000_000  # decisions


@dataclasses.dataclass(frozen=True)
class Choice:
    """A decision: show `arm`, and report its reward under this `id`.

    `why` is the reason in words. `probability` is that of the arm at that moment; None for a randomised policy without
    a closed form (`tells_probabilities`). A fallback, which is not a decision, has an empty `id`.
    """

    id: str
    arm: str
    why: str
    probability: float | None


@dataclasses.dataclass(frozen=True)
class Decide:
    """Choose an arm, or `n` times one; of all that are not retired, or of those named by `among`.

    `key` makes the request safe to repeat: the same key again gives the same decisions, whenever and wherever.
    `fallback` is an arm to show if the database does not answer: see `Bandit.decide`; `exchange` does not use it.
    """

    n: int | None = None
    among: Iterable[str] | None = None
    key: str | None = None
    fallback: str | None = None

    def __post_init__(self) -> None:
        if self.n is not None:
            with as_bad_settings():
                object.__setattr__(self, "n", whole_number("n", self.n, 1, LARGEST_BATCH))
        if self.among is not None:
            object.__setattr__(self, "among", tuple(name_list("among", self.among)))
        if self.key is not None and not (
            isinstance(self.key, str) and 1 <= len(self.key) <= LONGEST_NAME and self.key.isprintable()
        ):
            raise BadSettings(
                "cannot be a key",
                name="key",
                value=self.key,
                expected=f"a text of 1 to {LONGEST_NAME} printable characters",
            )


def answer(request: Request, outcome: Outcome) -> Any:
    """Return the outcome of a request; if it is an error, raise it, unless there is a fallback for it."""
    if isinstance(outcome, StorageError) and isinstance(request, Decide) and request.fallback is not None:
        choice = Choice("", request.fallback, f"fallback: {outcome.problem}", None)
        return choice if request.n is None else [choice] * request.n
    if isinstance(outcome, BanditError):
        raise outcome
    return outcome


@dataclasses.dataclass(frozen=True)
class Shown:
    """A decision has really been shown."""

    decision: str


@dataclasses.dataclass(frozen=True)
class Reward:
    """The reward of a decision."""

    decision: str
    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", good_reward(self.value))


@dataclasses.dataclass(frozen=True)
class All:
    """Many exposures or rewards: all of them are logged, or none; with `partial`, those that can be."""

    parts: tuple[Shown | Reward | BanditError, ...]
    partial: bool = False

    @classmethod
    def rewards(cls, given: object, partial: bool = False) -> All:
        """Return the request for a mapping, or for pairs."""
        return cls(tuple(_reward(*pair, partial) for pair in reward_pairs(given)), partial)


def _reward(decision: object, value: object, partial: bool) -> Reward | BanditError:
    try:
        return Reward(decision, value)  # type: ignore[arg-type]
    except BanditError as error:
        if partial:
            return error
        raise


@dataclasses.dataclass(frozen=True)
class Change:
    """Append events that follow from the newest state and the time, alone, with a seal that one of them announces.

    If arms or the policy may change, what was learnt for them is stored with the events, as a snapshot: other processes
    take it over instead of learning themselves.
    """

    events: Callable[[BanditState, float], list[Event]]
    changes_policy: bool = False
    seal: Any = None  # for the store


Request = Decide | Shown | Reward | All | Change
# Of `Decide` a choice, or a list of them if `n` was given; of the others whether it was new, or how many were. (Those
# that are not for users have others: `All` with `partial` a list, `Change` its events.)
Outcome = Choice | list[Choice] | bool | int | BanditError


def checked(requests: Iterable[Request]) -> list[Request]:
    """Return requests as a list; refuse what is none."""
    listed = list(requests)
    for each in listed:
        if not isinstance(each, Request):
            raise BadSettings(
                "is not a request", name="requests", value=each, expected="Decide(), Shown(id) or Reward(id, value)"
            )
    return listed
