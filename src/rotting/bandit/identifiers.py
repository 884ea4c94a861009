"""Identifiers of decisions: which bandit, which event, and a part that cannot be guessed."""

from __future__ import annotations

import hashlib
from typing import Any


class Identifiers:
    """Makes the identifiers of one bandit's decisions.

    The last part seals the number of the event and its time, so that an event which takes the place of another, after
    a backup has been restored, has another identifier.

    >>> identifiers = Identifiers("7d4db8e63b", "00ff")
    >>> identifiers.make(12, at=1700000000.5)
    '7d4db8e63b-12-e2d33c838241'
    >>> identifiers.belongs("7d4db8e63b-12-e2d33c838241", 12, at=1700000000.5)
    True
    >>> identifiers.belongs("7d4db8e63b-12-e2d33c838241", 12, at=1700000000.6)
    False
    """

    def __init__(self, token: str, secret: str):
        self._token = token
        self._key = bytes.fromhex(secret)

    def make(self, seq: int, at: float) -> str:
        """Return the identifier of the decision that is event number `seq`."""
        return self._sealed(seq, f"{seq} {at!r}")

    def belongs(self, decision: Any, seq: int, at: float) -> bool:
        """Say whether an identifier is that of a decision. Once they sealed the number alone."""
        return decision in (self.make(seq, at), self._sealed(seq, f"{seq}"))

    def _sealed(self, seq: int, text: str) -> str:
        seal = hashlib.blake2b(text.encode(), key=self._key, digest_size=6).hexdigest()
        return f"{self._token}-{seq}-{seal}"


def seq_of(decision: Any) -> int | None:
    """Return the number of the event that a text would speak of if it were an identifier; None if it cannot be one.

    >>> seq_of("7d4db8e63b-12-e2d33c838241")
    12
    """
    parts = decision.split("-") if isinstance(decision, str) and len(decision) < 100 else []
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() and len(parts[1]) < 19 else None
