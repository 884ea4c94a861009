"""Seals: what is left of the part of a log that was compacted.

A seal is an .npz file without pickles: `snapshot` (the state after the last event of the part), the rewards of the part
(`seqs`, `arms`, `values`), from which a policy can be taught again, `exposures` (of each arm, since the beginning), and
`late` (decisions that no longer waited for a reward, and that a later event is about: an exposure or a reward that came
late). Its checksum is in the log, in the event that says so.
"""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Mapping

import numpy as np

from rotting.bandit.core.events import Event
from rotting.bandit.core.pending import Pending, PendingDecisions
from rotting.bandit.core.snapshots import NOT_A_SNAPSHOT, Snapshot
from rotting.bandit.errors import DamagedLog
from rotting.policies._contract.agent import LARGEST_REWARD


@dataclasses.dataclass(frozen=True)
class Seal:
    """The state after event `snapshot.seq`, and the rewards since the seal before."""

    snapshot: Snapshot
    seqs: np.ndarray
    arms: np.ndarray
    values: np.ndarray
    exposures: list[int]
    late: PendingDecisions

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
            late=np.frombuffer(self.late.to_bytes(), np.uint8),
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Seal:
        """Return the seal that `to_bytes` wrote. Nothing could replace one that is damaged."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                arrays = {"late": np.empty(0, np.uint8)} | {name: file[name] for name in file.files}
            snapshot = Snapshot.from_bytes(arrays["snapshot"].tobytes())
            late = PendingDecisions.from_bytes(arrays["late"].tobytes())
            seal = cls(snapshot, arrays["seqs"], arrays["arms"], arrays["values"], arrays["exposures"].tolist(), late)
        except NOT_A_SNAPSHOT:
            raise damaged_seal("cannot be read") from None
        if not seal._is_good():
            raise damaged_seal("makes no sense")
        return seal

    def _is_good(self) -> bool:
        arms = len(self.snapshot.head["names"])
        columns = ((self.seqs, np.int64), (self.arms, np.int64), (self.values, np.float64))
        if not all(column.dtype == kind and column.shape == (self.seqs.size,) for column, kind in columns):
            return False
        steps = np.diff(self.seqs, prepend=0, append=self.snapshot.seq + 1)
        checks = (steps > 0, self.arms >= 0, self.arms < arms, np.abs(self.values) <= LARGEST_REWARD)
        return len(self.exposures) == arms and all(check.all() for check in checks)

    def about(self, decision: int) -> list[Event]:
        """Return the events of one of the decisions that are `known`, as far as they matter."""
        return self.known[decision].events(decision)

    @functools.cached_property
    def known(self) -> Mapping[int, Pending]:
        """The decisions that waited for a reward, and those that are late."""
        return dict(self.snapshot.pending.items()) | dict(self.late.items())


def damaged_seal(problem: str) -> DamagedLog:
    """Return the error about a seal."""
    return DamagedLog(f"a seal of the compacted log {problem}", hint="restore a backup of the database")
