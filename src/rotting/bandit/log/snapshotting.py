"""When snapshots are taken: after so many events, in a thread of their own, so that no caller waits for one."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from rotting.bandit.core.snapshots import packed
from rotting.bandit.log.stored import checksum
from rotting.bandit.store.contract import Snapshot
from rotting.bandit.store.deadlines import Deadline
from rotting.errors import RottingError

if TYPE_CHECKING:
    from rotting.bandit.log.event_log import EventLog

# A snapshot is taken after this many events, or more if it is large: one per BYTES_PER_EVENT of its size. Otherwise
# a database would write more for snapshots than for events.
EVENTS_PER_SNAPSHOT, BYTES_PER_EVENT = 10_000, 50
PATIENCE = 1.0  # seconds that a snapshot waits for the database: the next one will do as well


def row_of(seq: int, content: bytes) -> Snapshot:
    """Return what a store keeps of a snapshot."""
    return Snapshot(seq, checksum(content), content)


class Snapshotter:
    """Stores the state of one log now and then, so that opening the bandit is quick."""

    def __init__(self, log: EventLog):
        self._log = log
        self.seq = 0  # the last event that the newest snapshot includes, as far as is known
        self._size = 0

    def note(self, seq: int, size: int) -> None:
        """Take note of a snapshot that is stored."""
        self.seq, self._size = seq, size

    def take(self) -> None:
        """Store the state."""
        self._store(0, None)

    def take_soon(self, interval: int = 1) -> None:
        """Store the state, unless there is a snapshot of so many events before it, without making anybody wait."""

        def work() -> None:
            # A snapshot only saves time: the log has everything. What is wrong with a policy, the next caller is told.
            with contextlib.suppress(RottingError):
                self._store(interval, PATIENCE)

        self._log.commits.in_background(work)

    def take_if_due(self) -> None:
        """Store the state after so many events that opening the bandit would take long; nobody waits for it."""
        interval = max(EVENTS_PER_SNAPSHOT, self._size // BYTES_PER_EVENT)
        if self._log.state.seq >= self.seq + interval:
            self.take_soon(interval)

    def _store(self, interval: int, timeout: float | None) -> None:
        """Store the state, unless the snapshot that is there is newer than so many events before it.

        The database is held while the state is copied and while it is written, but not while it is packed. With an
        interval, nothing is learnt again for it either: when that has been done, a snapshot is taken anyway.
        """
        log = self._log
        with log.reading(Deadline(timeout)) as stored:
            seq, there = log.state.seq, stored.snapshot_seq()
            if there > seq - interval:  # another process has taken one
                self.seq = there
                return
            if interval and log.state.learnable_since is not None:
                return
            parts = log.state.snapshot().parts()
        content = packed(parts)
        deadline = Deadline(timeout)
        with log.commits.held(deadline):
            log.store.put_snapshot(log.bandit_id, row_of(seq, content), interval, deadline=deadline)
            self.note(seq, len(content))
