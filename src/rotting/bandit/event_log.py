"""The append-only event log of one bandit, and the state that is kept in step with it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from sqlalchemy import Connection

from rotting.bandit.database import Database
from rotting.bandit.errors import BanditError, DamagedLog
from rotting.bandit.events import Event
from rotting.bandit.identifiers import Identifiers
from rotting.bandit.settings import BanditSettings
from rotting.bandit.snapshots import NOT_A_SNAPSHOT, Snapshot
from rotting.bandit.state import BanditState
from rotting.bandit.storage import BanditRow, StoredLog
from rotting.errors import quoted

# Consecutive empty catch-ups before optimistic appends: as many times in a row, no other process has written.
EMPTY_CATCH_UPS = 20
# A snapshot is taken after this many events, or more if it is large: one per BYTES_PER_EVENT of its size.
EVENTS_PER_SNAPSHOT, BYTES_PER_EVENT = 10_000, 500

# Returns the events to append, given the newest state, the time, and the stored log to look things up in.
Planner = Callable[[BanditState, float, StoredLog], list[Event]]


class EventLog:
    """Appends to the log of one bandit, and keeps `state`, which follows from it, up to date.

    Hold `lock` while you use `state` for longer than one statement.
    """

    def __init__(self, database: Database, row: BanditRow, settings: BanditSettings):
        self.database = database
        self.lock = database.lock
        self.bandit_id = row.id
        self.name = row.name
        self.identifiers = Identifiers(row.token, row.secret)
        self.settings = settings
        self.state = self.fresh_state()
        # False while events are applied. If a signal handler raises an exception meanwhile, it stays False, and the
        # state is loaded again before it is used.
        self._state_is_complete = False
        self._empty_catch_ups = EMPTY_CATCH_UPS  # in a row
        self._snapshot_seq = 0
        self._snapshot_size = 0
        self.refresh()

    # Appending.

    def append(self, plan: Planner) -> list[Event]:
        """Append the events that `plan` returns, given the newest state; the state follows once they are durable.

        While no other process writes, the state in memory is the newest one, and events are appended optimistically:
        if another process has written meanwhile, their numbers are taken, and the database refuses them. When that
        happens, or `plan` has nothing to append or raises an error, it is called again, after a catch-up under a lock.
        """
        with self.lock:
            events: list[Event] | None = None
            if self._state_is_complete and self._empty_catch_ups >= EMPTY_CATCH_UPS:
                events = self.database.write_optimistically(partial(self._append_if_newest, plan))
            if not events:
                events = self.database.write(partial(self._append_after_catch_up, plan), self.bandit_id)
            self._apply(events)
            self._snapshot_if_due()
            return events

    def _append_if_newest(self, plan: Planner, connection: Connection) -> list[Event]:
        stored = StoredLog(connection, self.bandit_id)
        return self._append_planned(plan, stored) if self._has_last_event(stored) else []

    def _append_after_catch_up(self, plan: Planner, connection: Connection) -> list[Event]:
        stored = StoredLog(connection, self.bandit_id)
        self._empty_catch_ups = self._empty_catch_ups + 1 if self._catch_up(stored) == 0 else 0
        return self._append_planned(plan, stored)

    def _append_planned(self, plan: Planner, stored: StoredLog) -> list[Event]:
        now = max(time.time(), self.state.at)  # in a log, time never runs backwards
        events = plan(self.state, now, stored)
        if events:
            stored.append(events)
        return events

    def _apply(self, events: Sequence[Event], checked: bool = True) -> None:
        self._state_is_complete = False
        for event in events:
            if checked and event.seq <= self.state.seq:
                continue  # applied already, by a signal handler that used the bandit in the middle of this call
            if not checked:
                self.state.check(event)
            self.state.apply(event)
        self._state_is_complete = True

    # Reading.

    @contextlib.contextmanager
    def reading(self) -> Iterator[StoredLog]:
        """Yield the log as one read transaction sees it, with the state caught up; `lock` is held meanwhile."""
        with self.lock, self.database.reading() as connection:
            stored = StoredLog(connection, self.bandit_id)
            self._catch_up(stored)
            yield stored

    def refresh(self) -> None:
        """Apply what other processes have appended."""
        with self.reading():
            pass

    def _catch_up(self, stored: StoredLog) -> int:
        """Apply what other processes have appended; returns how many events that were."""
        if not self._state_is_complete:
            self._load(stored)
        if not self._has_last_event(stored):
            raise DamagedLog(
                f"event {self.state.seq} of bandit {quoted(self.name)} is no longer the one that was there: an older "
                "copy has taken the place of the log",
                hint="open the bandit again",
            )
        new = stored.after(self.state.seq)
        self._apply(new, checked=False)
        return len(new)

    def _load(self, stored: StoredLog) -> None:
        """Make the state from the newest snapshot and the events after it."""
        if stored.time_of(1) is None:
            raise self._missing(1)  # the log begins with arms
        state = self.stored_state(stored) or self.fresh_state()
        if state.seq > 0 and stored.time_of(state.seq) != state.at:
            raise DamagedLog(
                f"bandit {quoted(self.name)} has a snapshot that ends with event {state.seq}, which its log does not "
                "have, or not at the same time: events are missing or changed",
                hint="restore a backup of the database, or, if the log is right as it is, delete the bandit's row in "
                "rotting_snapshots",
            )
        for event in stored.stream(state.seq):
            state.check(event)
            state.apply(event)
        self.state, self._state_is_complete = state, True

    def _has_last_event(self, stored: StoredLog) -> bool:
        """Say whether the last event that is known is still in the log."""
        return stored.time_of(self.state.seq) == self.state.at

    def _missing(self, seq: int) -> DamagedLog:
        return DamagedLog(
            f"event {seq} of bandit {quoted(self.name)} is missing", hint="restore a backup of the database"
        )

    # States and snapshots.

    def fresh_state(self) -> BanditState:
        """Return the state before the first event."""
        return BanditState(self.name, self.settings, self._read_rewards)

    def stored_state(self, stored: StoredLog) -> BanditState | None:
        """Return the state of the newest snapshot. One that makes no sense is not used: the log has everything."""
        content = stored.get_snapshot()
        if content is None:
            return None
        try:
            snapshot = Snapshot.from_bytes(content)
            state = BanditState.from_snapshot(self.name, self.settings, self._read_rewards, snapshot)
        except NOT_A_SNAPSHOT:
            return None
        self._snapshot_seq, self._snapshot_size = state.seq, len(content)
        return state

    def _read_rewards(self, seq: int) -> tuple[np.ndarray, np.ndarray]:
        with self.database.reading_in_transaction() as connection:
            return StoredLog(connection, self.bandit_id).rewards_until(seq)

    def snapshot(self) -> None:
        """Store the state, so that opening the bandit is quick."""
        with self.lock:
            with self.reading():
                content, seq = self.state.snapshot().to_bytes(), self.state.seq
            self.database.write(
                lambda connection: StoredLog(connection, self.bandit_id).put_snapshot(seq, content), self.bandit_id
            )
            self._snapshot_seq, self._snapshot_size = seq, len(content)

    def _snapshot_if_due(self) -> None:
        interval = max(EVENTS_PER_SNAPSHOT, self._snapshot_size // BYTES_PER_EVENT)
        if self.state.seq < self._snapshot_seq + interval:
            return
        # A snapshot only saves time: if it fails, what has just been appended is durable all the same.
        with contextlib.suppress(BanditError):
            with self.database.reading() as connection:
                # Perhaps another process has taken one.
                self._snapshot_seq = StoredLog(connection, self.bandit_id).snapshot_seq()
            if self.state.seq >= self._snapshot_seq + interval:
                self.snapshot()
