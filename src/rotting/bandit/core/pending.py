"""The decisions that wait for a reward.

There may be hundreds of thousands of them, for hours. Each is kept as a few bytes: Python's garbage collector would
look at objects with fields again and again, while everybody waits, and a snapshot would take them apart one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

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


class PendingDecisions:
    """Decisions that wait, by the number of their event, in the order in which they were put here.

    >>> waiting = PendingDecisions()
    >>> waiting.put(7, Pending(arm=0, since=1.5, shown=False, decision="7d4db8e63b-7-e2d33c838241"))
    >>> waiting.get(7)
    Pending(arm=0, since=1.5, shown=False, decision='7d4db8e63b-7-e2d33c838241', holdout=None)
    >>> PendingDecisions.from_bytes(waiting.to_bytes()) == waiting
    True
    """

    def __init__(self) -> None:
        self._rows: dict[int, bytes] = {}

    def put(self, seq: int, waiting: Pending) -> None:
        """Add a decision as the last one."""
        arm, since, shown, decision, holdout = waiting
        identifier = decision.encode()
        row = _ROW.pack(seq, since, arm, shown, -1 if holdout is None else holdout, len(identifier)) + identifier
        self._rows[seq] = row

    def get(self, seq: int) -> Pending | None:
        """Return a decision, None if it does not wait."""
        row = self._rows.get(seq)
        return None if row is None else _read(row)

    def pop(self, seq: int) -> Pending | None:
        """Remove a decision and return it, None if it does not wait."""
        row = self._rows.pop(seq, None)
        return None if row is None else _read(row)

    def values(self) -> Iterator[Pending]:
        """Yield all of them, without their numbers."""
        return map(_read, self._rows.values())

    def items(self) -> Iterator[tuple[int, Pending]]:
        """Yield all of them."""
        return ((seq, _read(row)) for seq, row in self._rows.items())

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

    def __contains__(self, seq: int) -> bool:
        return seq in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PendingDecisions) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]


def _read(row: bytes) -> Pending:
    _, since, arm, shown, holdout, _ = _ROW.unpack_from(row)
    return Pending(arm, since, shown == 1, row[_ROW.size :].decode(), None if holdout < 0 else holdout)
