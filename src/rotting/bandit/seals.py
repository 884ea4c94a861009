"""Seals: what is left of the part of a log that was compacted.

A seal is an .npz file without pickles: `snapshot` (the state after the last event of the part), the rewards of the part
(`seqs`, `arms`, `values`), from which a policy can be taught anew, and `exposures` (of each arm, since the beginning).
Its checksum is in the log, in the event that says so.
"""

from __future__ import annotations

import dataclasses
import io

import numpy as np

from rotting.bandit.errors import DamagedLog
from rotting.bandit.events import Event
from rotting.bandit.snapshots import NOT_A_SNAPSHOT, Snapshot
from rotting.policies._contract.agent import LARGEST_REWARD


@dataclasses.dataclass(frozen=True)
class Seal:
    """The state after event `snapshot.seq`, and the rewards since the seal before."""

    snapshot: Snapshot
    seqs: np.ndarray
    arms: np.ndarray
    values: np.ndarray
    exposures: list[int]

    def to_bytes(self) -> bytes:
        """Return the seal as an .npz file."""
        file = io.BytesIO()
        np.savez_compressed(
            file,
            snapshot=np.frombuffer(self.snapshot.to_bytes(), np.uint8),
            seqs=self.seqs,
            arms=self.arms,
            values=self.values,
            exposures=np.array(self.exposures, np.int64),
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Seal:
        """Return the seal that `to_bytes` wrote. Nothing could replace one that is damaged."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                arrays = {name: file[name] for name in ("snapshot", "seqs", "arms", "values", "exposures")}
            snapshot = Snapshot.from_bytes(arrays["snapshot"].tobytes())
        except NOT_A_SNAPSHOT:
            raise damaged_seal("cannot be read") from None
        seal = cls(snapshot, arrays["seqs"], arrays["arms"], arrays["values"], arrays["exposures"].tolist())
        if not seal._is_good():
            raise damaged_seal("makes no sense")
        return seal

    def _is_good(self) -> bool:
        arms = len(self.snapshot.names)
        numbers = [(each.dtype, each.ndim) for each in (self.seqs, self.arms, self.values)]
        return (
            numbers == [(np.dtype(np.int64), 1), (np.dtype(np.int64), 1), (np.dtype(np.float64), 1)]
            and len(self.seqs) == len(self.arms) == len(self.values)
            and len(self.exposures) == arms
            and bool((np.diff(self.seqs) > 0).all())
            and bool(((self.arms >= 0) & (self.arms < arms)).all())
            and bool((np.abs(self.values) <= LARGEST_REWARD).all())
            and (len(self.seqs) == 0 or 0 < self.seqs[0] <= self.seqs[-1] <= self.snapshot.seq)
        )

    def about(self, decision: int) -> list[Event]:
        """Return the events of a decision that waited for a reward, as far as they matter."""
        waiting = self.snapshot.pending.get(decision)
        assert waiting is not None
        arm, since, shown, identifier, holdout = waiting
        events = [Event(decision, "decided", since, arm, decision=identifier, holdout=holdout)]
        return [*events, Event(self.snapshot.seq, "shown", since, arm, target=decision)] if shown else events

    @property
    def waiting(self) -> dict[int, str]:
        """The identifiers of the decisions that waited for a reward."""
        return {seq: pending.decision for seq, pending in self.snapshot.pending.items()}


def damaged_seal(problem: str) -> DamagedLog:
    """Return the error about a seal."""
    return DamagedLog(f"a seal of the compacted log {problem}", hint="restore a backup of the database")
