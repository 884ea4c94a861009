"""What is asked of a log, and what it says: all that a plan needs to know besides the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rotting.bandit.core.events import Event


class Question(NamedTuple):
    """What is asked about one bandit."""

    after: int | None = None  # the events from this number on, the number itself included; None: none
    decisions: Sequence[int] = ()  # numbers of decisions that are asked about
    keys: Sequence[str] = ()  # of requests that may have been carried out before


class Facts(NamedTuple):
    """The answer to a question."""

    events: list[Event]  # in order
    about: dict[int, list[Event]]  # for each decision that the log has: itself, and what has it as target, in order
    keyed: dict[str, list[Event]]  # for each key that the log has: the decisions that were taken with it, in order
