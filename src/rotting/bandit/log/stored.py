"""The log of one bandit as a block of its store sees it: what was compacted, and what was not, as one."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from rotting.bandit.core.events import Event, Facts, Question, damaged
from rotting.bandit.core.seals import Seal, damaged_seal
from rotting.bandit.errors import DamagedLog
from rotting.bandit.store.contract import NO_LIMIT, Store
from rotting.errors import quoted
from rotting.policies._contract.agent import LARGEST_REWARD

PORTION = 10_000  # events that are read at once
_REWARD = np.dtype([("seqs", np.int64), ("arms", np.int64), ("values", np.float64)])

Early = dict[int, list[Event]]  # what a seal says of decisions that waited when it was made


def with_early(facts: Facts, early: Early, sealed: int) -> Facts:
    """Return what a store says of decisions, with what a seal says of them before it."""
    if not early:
        return facts
    about = {number: [event for event in events if event.seq > sealed] for number, events in facts.about.items()}
    about |= {number: [*events, *about.get(number, [])] for number, events in early.items()}
    return facts._replace(about=about)


class StoredLog:
    """The log of one bandit. Its methods are called within a block of the store."""

    def __init__(self, store: Store, bandit_id: int):
        self.store = store
        self._id = bandit_id

    def stream(self, after: int = 0, upto: int = NO_LIMIT) -> Iterator[Event]:
        """Yield the events after one number and up to another, read in portions."""
        while portion := self.store.events(self._id, after, upto, PORTION):
            yield from portion
            after = portion[-1].seq

    def time_of(self, seq: int) -> float | None:
        """Return the time of an event, None if it is not in the log."""
        found = self.store.numbered(self._id, [seq]).get(seq)
        return None if found is None else found.at

    def question(self, decisions: Sequence[int], keys: Sequence[str], sealed: int) -> tuple[Question, Early]:
        """Return what to ask the store about some decisions and keys, and what the newest seal says of them.

        `sealed` is the last event that was compacted. Of decisions before it, only those are known that waited for
        a reward then.
        """
        seal = self.newest_seal() if any(number <= sealed for number in decisions) else None
        early = {} if seal is None else {each: seal.about(each) for each in decisions if each in seal.snapshot.pending}
        return Question(None, [each for each in decisions if each > sealed or each in early], keys), early

    def rewards(self, after: int, upto: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return number, arm and value of all rewards after one event and up to another, in the order they came in."""
        seals = self.seals()
        rows = self.store.rewards(self._id, max([after, *(seal.snapshot.seq for seal in seals)]), upto)
        for seq, arm, value in rows:
            is_arm = type(arm) is int and arm >= 0
            if not (is_arm and type(value) is float and abs(value) <= LARGEST_REWARD):
                event = Event(seq, "rewarded", 0.0, arm, value=value)
                raise damaged(event, "value" if is_arm else "arm", "a finite reward of an arm")
        recent = np.array(rows, _REWARD)
        seqs, arms, values = (
            np.concatenate([*(getattr(seal, name) for seal in seals), recent[name]])
            for name in ("seqs", "arms", "values")
        )
        wanted = (seqs > after) & (seqs <= upto)
        return seqs[wanted], arms[wanted], values[wanted]

    def rewards_until(self, seq: int, after: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the arms and the values of all rewards up to an event."""
        _, arms, values = self.rewards(after, seq)
        return arms, values

    def exposures_until(self, seq: int) -> dict[int, int]:
        """Return for each arm how many decisions were shown up to an event; those with a reward must have been."""
        seal = self.newest_seal()
        counts, earlier = self.store.exposures(self._id, 0 if seal is None else seal.snapshot.seq, seq)
        exposures = Counter(counts)
        if seal is not None:
            exposures.update(dict(enumerate(seal.exposures)))
            # Decisions that had been shown then are counted in the seal.
            for arm, target in earlier:
                if target not in seal.known:
                    raise damaged_seal(f"does not have decision {target}, which a later event is about")
                exposures[arm] -= seal.known[target].shown
        return dict(exposures)

    # Seals and snapshots.

    def seals(self, newest: bool = False) -> list[Seal]:
        """Return all seals in order, or only the newest one."""
        rows = self.store.seals(self._id, newest)
        if any(checksum(row.content) != row.checksum for row in rows):
            raise damaged_seal("is not as it was written")
        return [Seal.from_bytes(row.content) for row in rows]

    def newest_seal(self) -> Seal | None:
        """Return the newest seal, None without one."""
        return next(iter(self.seals(newest=True)), None)

    def sealed(self) -> tuple[int, float]:
        """Return the number and the time of the last event that was compacted, zeros without one."""
        return next(((row.seq, row.at) for row in self.store.seals(self._id, newest=True, content=False)), (0, 0.0))

    def snapshot_seq(self) -> int:
        """Return the last event that the newest snapshot includes, 0 without one."""
        row = self.store.snapshot(self._id, content=False)
        return row.seq if row is not None and type(row.seq) is int else 0

    def get_snapshot(self) -> bytes | None:
        """Return the newest snapshot, or None if there is none that is whole."""
        row = self.store.snapshot(self._id)
        is_whole = row is not None and isinstance(row.content, bytes) and checksum(row.content) == row.checksum
        return row.content if row is not None and is_whole else None


def missing(bandit: str, seq: int) -> DamagedLog:
    """Return the error that an event is not in a log."""
    return DamagedLog(f"event {seq} of bandit {quoted(bandit)} is missing", hint="restore a backup of the database")


def checksum(content: bytes) -> str:
    """Return what reveals accidental damage of a snapshot. It has no key, so it is no protection against intent."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
