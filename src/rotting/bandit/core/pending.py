"""The decisions that wait for a reward.

There may be hundreds of thousands of them, for hours. Each is kept as a few bytes: Python's garbage collector would
look at objects with fields again and again, while everybody waits, and a snapshot would take them apart one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, MutableMapping
from typing import NamedTuple

from rotting.bandit.core.events import Event
from rotting.errors import DamagedFile

# The number of the decision, `since`, `arm`, `shown`, `holdout` (-1: None), and the length of the identifier after it.
_ROW = struct.Struct("<qdibbH")


class Pending(NamedTuple):
    """A decision that waits for its reward."""

    arm: int
    since: float  # when it was decided, or shown
    shown: bool
    decision: str  # its identifier
    holdout: int | None = None  # as in `rotting.bandit.core.events.Event`

    def events(self, seq: int) -> list[Event]:
        """Return the events of this decision, number `seq`, as far as they matter."""
        decided = Event(seq, "decided", self.since, self.arm, decision=self.decision, holdout=self.holdout)
        return [decided, Event(seq + 1, "shown", self.since, self.arm, target=seq)] if self.shown else [decided]


class PendingDecisions(MutableMapping[int, Pending]):
    """Decisions that wait, by the number of their event, in the order in which they were put here.

    >>> waiting = PendingDecisions()
    >>> waiting[7] = Pending(arm=0, since=1.5, shown=False, decision="7d4db8e63b-7-e2d33c838241")
    >>> waiting[7]
    Pending(arm=0, since=1.5, shown=False, decision='7d4db8e63b-7-e2d33c838241', holdout=None)
    >>> PendingDecisions.from_bytes(waiting.to_bytes()) == waiting
    True
    """

    def __init__(self) -> None:
        self._rows: dict[int, bytes] = {}

    def __setitem__(self, seq: int, waiting: Pending) -> None:
        arm, since, shown, decision, holdout = waiting
        identifier = decision.encode()
        row = _ROW.pack(seq, since, arm, shown, -1 if holdout is None else holdout, len(identifier)) + identifier
        self._rows[seq] = row

    def __getitem__(self, seq: int) -> Pending:
        row = self._rows[seq]
        _, since, arm, shown, holdout, _ = _ROW.unpack_from(row)
        return Pending(arm, since, shown == 1, row[_ROW.size :].decode(), None if holdout < 0 else holdout)

    def __delitem__(self, seq: int) -> None:
        del self._rows[seq]

    def __contains__(self, seq: object) -> bool:
        return seq in self._rows  # much quicker than to read the row

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def copy(self) -> PendingDecisions:
        """Return a copy that does not follow what happens to this one."""
        another = PendingDecisions()
        another._rows = self._rows.copy()
        return another

    def to_bytes(self) -> bytes:
        """Return all of them as bytes, one after the other."""
        return b"".join(self._rows.values())

    @classmethod
    def from_bytes(cls, content: bytes) -> PendingDecisions:
        """Return what `to_bytes` wrote; raise `DamagedFile`, `struct.error` or a ValueError for anything else."""
        found, start = cls(), 0
        while start < len(content):
            seq, _, _, shown, holdout, length = _ROW.unpack_from(content, start)
            end = start + _ROW.size + length
            row = content[start:end]
            row[_ROW.size :].decode()
            if end > len(content) or seq in found._rows or shown not in (0, 1) or holdout not in (-1, 0, 1):
                raise DamagedFile("makes no sense", owner="snapshot", name="pending", value=row)
            found._rows[seq], start = row, end
        return found
