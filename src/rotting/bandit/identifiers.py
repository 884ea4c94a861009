"""Identifiers of decisions: which bandit, which event, and a part that cannot be guessed."""

from __future__ import annotations

import hashlib
from typing import Any


class Identifiers:
    """Makes and reads the identifiers of one bandit's decisions.

    >>> identifiers = Identifiers("7d4db8e63b", "00ff")
    >>> identifiers.make(12)
    '7d4db8e63b-12-db201a3d67d7'
    >>> identifiers.seq_of("7d4db8e63b-12-db201a3d67d7")
    12
    >>> identifiers.seq_of("7d4db8e63b-13-db201a3d67d7") is None
    True
    """

    def __init__(self, token: str, secret: str):
        self._token = token
        self._key = bytes.fromhex(secret)

    def make(self, seq: int) -> str:
        """Return the identifier of the decision that is event number `seq`."""
        seal = hashlib.blake2b(b"%d" % seq, key=self._key, digest_size=6).hexdigest()
        return f"{self._token}-{seq}-{seal}"

    def seq_of(self, decision: Any) -> int | None:
        """Return the number of the event that an identifier speaks of, or None if it is none of this bandit's."""
        parts = decision.split("-") if isinstance(decision, str) and len(decision) < 100 else []
        if len(parts) != 3 or not parts[1].isdecimal() or len(parts[1]) > 18:
            return None
        return int(parts[1]) if self.make(int(parts[1])) == decision else None
