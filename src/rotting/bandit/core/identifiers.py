"""Identifiers of decisions: which bandit, which event, and a tag that cannot be guessed."""

from __future__ import annotations

import hashlib
from typing import TypeGuard

LONGEST = 100  # characters: more than any has
TAG = 12  # characters of a code


class Identifiers:
    """Makes the identifiers of one bandit's decisions.

    The last part is a message authentication code of the event's number and time, and the mark of the process. So an
    event that takes the number of another, after a backup has been restored, has another identifier; and so has what
    another process decides at the same instant. The first databases had no mark.

    >>> identifiers = Identifiers("7d4db8e63b", "00ff")
    >>> identifiers.make(12, at=1700000000.5)
    '7d4db8e63b-12-e2d33c838241'
    >>> identifiers.belongs("7d4db8e63b-12-e2d33c838241", 12, at=1700000000.5)
    True
    >>> identifiers.belongs("7d4db8e63b-12-e2d33c838241", 12, at=1700000000.6)
    False
    """

    def __init__(self, token: str, secret: str, mark: str = ""):
        self._token, self.mark = token, mark
        self._hash = hashlib.blake2b(key=bytes.fromhex(secret), digest_size=TAG // 2)

    def make(self, seq: int, at: float) -> str:
        """Return the identifier of the decision that is event number `seq`."""
        return self._tagged(seq, f"{seq} {at!r}", self.mark)

    def belongs(self, decision: str | None, seq: int, at: float) -> bool:
        """Say whether an identifier is that of a decision. The first databases authenticated the number alone."""
        mark = (decision or "").rpartition("-")[2][TAG:]
        return decision in (self._tagged(seq, f"{seq} {at!r}", mark), self._tagged(seq, f"{seq}"))

    def _tagged(self, seq: int, text: str, mark: str = "") -> str:
        tag = self._hash.copy()
        tag.update((f"{text} {mark}" if mark else text).encode())
        return f"{self._token}-{seq}-{tag.hexdigest()}{mark}"


def is_identifier(decision: object) -> TypeGuard[str]:
    """Say whether this may be an identifier: a text that is not too long."""
    return isinstance(decision, str) and len(decision) < LONGEST


def seq_of(decision: object) -> int | None:
    """Return the event number in a text that looks like an identifier; None if it does not.

    >>> seq_of("7d4db8e63b-12-e2d33c838241")
    12
    """
    parts = decision.split("-") if is_identifier(decision) else []
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() and len(parts[1]) < 19 else None
