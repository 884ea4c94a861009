"""The log of a bandit, and the state that is kept in step with it."""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from zipfile import BadZipFile

from sqlalchemy import Connection

from rotting.bandit import storage
from rotting.bandit.damage import check_event
from rotting.bandit.database import Database
from rotting.bandit.errors import BanditError, DamagedLog
from rotting.bandit.fold import Fold
from rotting.bandit.identifiers import Identifiers
from rotting.bandit.settings import Settings
from rotting.bandit.storage import BanditRow, Event

QUIET = 20  # looks at the log that must find nobody else writing before we do without
# A snapshot is taken after this many events, or more if it is large: one per BYTES_PER_EVENT of its size.
EVENTS_PER_SNAPSHOT, BYTES_PER_EVENT = 10_000, 500

# Returns events to append, given a connection that sees the newest state.
Plan = Callable[[Connection], list[Event]]


class Journal:
    """Appends to the log of one bandit, and keeps `fold`, the state that follows from it, up to date.

    Whoever looks at `fold` for longer than one statement holds `lock`.
    """

    def __init__(self, database: Database, row: BanditRow, settings: Settings):
        self.database = database
        self.lock = database.lock
        self.bandit = row.id
        self.name = row.name
        self.identifiers = Identifiers(row.token, row.secret)
        self.settings = settings
        self._quiet = QUIET  # looks at the log in a row that found nobody else writing
        self._snapshot_seq = 0
        self._snapshot_size = 0
        # An exception may strike while events are applied, raised by a signal handler: a state that is not whole is
        # made anew before it is used.
        self.fold = self.fresh_fold()
        self._whole = False
        self.refresh()

    def append(self, plan: Plan) -> list[Event]:
        """Append the events that `plan` returns, given the newest state; the state follows once they are durable.

        While nobody else writes, the newest state is the one in memory, so events are appended right away: had
        somebody else written meanwhile, their number would be taken, and the database refuse them. Whenever that
        happens, or `plan` has nothing to append or objects, it is asked again, with a lock and the newest state.
        """

        def work(connection: Connection, catch_up: bool = False) -> list[Event]:
            if catch_up:
                self._quiet = self._quiet + 1 if self.catch_up(connection) == 0 else 0
            elif not self._log_is_whole(connection):
                return []
            events = plan(connection)
            if events:
                storage.append_events(connection, self.bandit, events)
            return events

        with self.lock:
            events = self.database.write_unless_overtaken(work) if self._whole and self._quiet >= QUIET else None
            if not events:
                events = self.database.write(partial(work, catch_up=True), self.bandit)
            self._apply(events)
            self._snapshot_if_due()
            return events

    def catch_up(self, connection: Connection) -> int:
        """Take in what other processes have appended; returns how many events that were."""
        if not self._whole:
            self._load(connection)
        if not self._log_is_whole(connection):
            raise DamagedLog(
                f"event {self.fold.seq} of bandit {self.name!r} is no longer the one that was there: an older copy has "
                "taken the place of the log; open the bandit again"
            )
        new = storage.events_after(connection, self.bandit, self.fold.seq)
        self._apply(new, checked=False)
        return len(new)

    def _apply(self, events: Sequence[Event], checked: bool = True) -> None:
        self._whole = False
        for event in events:
            if checked and event.seq <= self.fold.seq:
                continue  # taken in already, by a signal handler that used the bandit in the middle of this call
            if not checked:
                self.fold.check(event)
            self.fold.apply(event)
        self._whole = True

    def _load(self, connection: Connection) -> None:
        """Make the state from the newest snapshot and the log."""
        if storage.time_of(connection, self.bandit, 1) is None:
            raise self._missing(1)  # the log begins with arms
        fold = self.stored_fold(connection) or self.fresh_fold()
        if fold.seq > 0 and storage.time_of(connection, self.bandit, fold.seq) != fold.at:
            raise DamagedLog(
                f"bandit {self.name!r} has a snapshot that ends with event {fold.seq}, which its log does not have, or "
                "not at the same time: events are missing or changed; restore a backup of the database, or, if the "
                "log is right as it is, delete the bandit's row in rotting_snapshots"
            )
        for event in storage.every_event(connection, self.bandit, fold.seq):
            fold.check(event)
            fold.apply(event)
        self.fold, self._whole = fold, True

    def refresh(self) -> None:
        """Take in what other processes have appended, in a transaction of its own."""
        with self.database.reading() as connection:
            self.catch_up(connection)

    def _log_is_whole(self, connection: Connection) -> bool:
        """Say whether the last event that is known is still in the log."""
        return storage.time_of(connection, self.bandit, self.fold.seq) == self.fold.at

    def about(self, connection: Connection, seq: int) -> list[Event]:
        """Return a decision and what became of it."""
        events = storage.events_about(connection, self.bandit, seq)
        for event in events:
            check_event(event, len(self.fold.names))
        return events

    def events(self, connection: Connection) -> Sequence[Event]:
        """Return everything that has happened so far."""
        events = storage.events_after(connection, self.bandit, 0, self.fold.seq)
        for place, event in enumerate(events, start=1):
            if event.seq != place:
                raise self._missing(place)
            check_event(event, len(self.fold.names))
        if len(events) < self.fold.seq:
            raise self._missing(len(events) + 1)
        return events

    def _missing(self, seq: int) -> DamagedLog:
        return DamagedLog(f"event {seq} of bandit {self.name!r} is missing; restore a backup of the database")

    def now(self) -> float:
        """Return the time, which in a log never runs backwards."""
        return max(time.time(), self.fold.at)

    # States.

    def fresh_fold(self) -> Fold:
        """Return the state before the first event."""
        return Fold(self.settings, self._rewards)

    def stored_fold(self, connection: Connection) -> Fold | None:
        """Return the state of the newest snapshot. One that cannot be read is as good as none: the log has it all."""
        content = storage.get_snapshot(connection, self.bandit)
        if content is None:
            return None
        try:
            fold = Fold.from_bytes(self.settings, self._rewards, content)
        except (LookupError, TypeError, ValueError, OSError, EOFError, RuntimeError, BadZipFile, zlib.error):
            return None
        self._snapshot_seq, self._snapshot_size = fold.seq, len(content)
        return fold

    def _rewards(self, seq: int) -> Any:
        with self.database.reading_along() as connection:
            return storage.rewards_until(connection, self.bandit, seq)

    def snapshot(self) -> None:
        """Keep the state, so that opening the bandit is quick."""
        with self.lock:
            with self.database.reading() as connection:
                self.catch_up(connection)
                content, seq = self.fold.to_bytes(), self.fold.seq
            self.database.write(
                lambda connection: storage.put_snapshot(connection, self.bandit, seq, content), self.bandit
            )
            self._snapshot_seq, self._snapshot_size = seq, len(content)

    def _snapshot_if_due(self) -> None:
        wait = max(EVENTS_PER_SNAPSHOT, self._snapshot_size // BYTES_PER_EVENT)
        if self.fold.seq < self._snapshot_seq + wait:
            return
        # It only saves time: trouble with it is no trouble with what has just been written.
        with contextlib.suppress(BanditError):
            with self.database.reading() as connection:
                self._snapshot_seq = storage.snapshot_seq(connection, self.bandit)  # perhaps somebody else's
            if self.fold.seq >= self._snapshot_seq + wait:
                self.snapshot()
