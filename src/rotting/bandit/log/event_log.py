"""The append-only event log of one bandit, and the state that is kept in step with it."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from sqlalchemy import Connection

from rotting.bandit.core.clocks import LogClock
from rotting.bandit.core.events import Event
from rotting.bandit.core.identifiers import Identifiers
from rotting.bandit.core.seals import damaged_seal
from rotting.bandit.core.settings import BanditSettings
from rotting.bandit.core.snapshots import NOT_A_SNAPSHOT, Snapshot
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BanditError, DamagedLog, UnknownBandit
from rotting.bandit.log.snapshotting import Snapshotter
from rotting.bandit.store.database import Database
from rotting.bandit.store.deadlines import Deadline
from rotting.bandit.store.storage import NO_LIMIT, BanditRow, StoredLog
from rotting.errors import RottingError, quoted
from rotting.policies import Policy

# Consecutive empty catch-ups before optimistic appends: as many times in a row, no other process has written.
EMPTY_CATCH_UPS = 20
# Seconds that another process is given to learn anew, and more for each reward; how often to look whether it has.
LEARNING_WAIT, LEARNING, LOOK_AGAIN = 0.2, 2e-6, 0.02

# Returns the events to append, given the newest state, the time, and the stored log to look things up in.
Planner = Callable[[BanditState, float, StoredLog], list[Event]]


class _UnpreparedError(BanditError):
    """Something that takes long has to be done before the transaction."""


@functools.cache
def warm_up(policy: Policy) -> None:
    """Compile or load the kernels of a policy, so that nobody waits for it later."""
    agent = policy.start(2)
    agent.select_among((0, 1), np.uint64(0))
    with contextlib.suppress(RottingError):  # a policy may want other rewards
        agent.update(0, 0.0)
        agent.update_many([0, 1], [0.0, 0.0])
        agent.select_among((0, 1), np.uint64(0))


class EventLog:
    """Appends to the log of one bandit, and keeps `state`, which follows from it, up to date.

    Hold `lock` while you use `state` for longer than one statement.
    """

    def __init__(self, database: Database, row: BanditRow, settings: BanditSettings):
        self.database = database
        self.lock = database.lock
        self.bandit_id = row.id
        self.name = row.name
        self.token = row.token
        self.template = row.template
        self.identifiers = Identifiers(row.token, row.secret)
        self.settings = settings
        self.state = self.fresh_state()
        # False while events are applied. If a signal handler raises an exception meanwhile, it stays False, and the
        # state is loaded again before it is used.
        self._state_is_complete = False
        self._written = range(0)  # the events of the last append
        self._empty_catch_ups = EMPTY_CATCH_UPS  # in a row
        self.caught_up = 0  # events of other processes so far
        self._clock = LogClock()
        self.snapshots = Snapshotter(self)
        self.refresh()

    # Appending.

    def append(
        self, plan: Planner, deadline: Deadline | None = None, optimistic: bool = True, changes_policy: bool = False
    ) -> list[Event]:
        """Append the events that `plan` returns, given the newest state; the state follows once they are durable.

        While no other process writes, the state in memory is the newest one, and events are appended optimistically:
        if another process has written meanwhile, their numbers are taken, and nothing is appended. When that happens,
        or `plan` has nothing to append or raises an error, it is called again, after a catch-up under a lock.

        If arms or the policy change, what was learnt for them (`expect`) is stored in the same transaction, as
        a snapshot: other processes take it over instead of learning themselves.
        """
        deadline = deadline or Deadline()
        with self.lock:
            events: list[Event] | None = None
            if changes_policy:
                plan, optimistic = self._with_snapshot(plan), False
            if optimistic and self._state_is_complete and self._empty_catch_ups >= EMPTY_CATCH_UPS:
                events = self._append_optimistically(plan, deadline)
            if not events:
                events = self._append_under_lock(plan, deadline, in_one_message=not changes_policy)
            self._apply(events)
            if events:
                self._written = range(events[0].seq, events[-1].seq + 1)
            return events

    def _with_snapshot(self, plan: Planner) -> Planner:
        def planned(state: BanditState, now: float, stored: StoredLog) -> list[Event]:
            events = plan(state, now, stored)
            if events and (snapshot := state.snapshot_after(events)) is not None:
                stored.put_snapshot(snapshot.seq, snapshot.to_bytes())
            return events

        return planned

    def _append_optimistically(self, plan: Planner, deadline: Deadline) -> list[Event] | None:
        if self.database.is_postgres:
            return self.database.trying(partial(self._append_in_one_trip, plan, deadline), deadline)
        return self.database.write_optimistically(partial(self._append_if_newest, plan), deadline)

    def _append_under_lock(self, plan: Planner, deadline: Deadline, in_one_message: bool = True) -> list[Event]:
        while True:
            try:
                if self.database.is_postgres:
                    work = partial(self._append_in_two_trips, plan, deadline, in_one_message)
                    return self.database.retrying(work, deadline)
                return self.database.write(partial(self._append_after_catch_up, plan), self.bandit_id, deadline)
            except _UnpreparedError:
                self.prepare()

    # What takes long is done before others have to wait for it.

    def prepare(self) -> None:
        """Have kernels compiled, and learn what is to be learnt anew, before others have to wait for it."""
        warm_up(self.state.settings.policy)
        if not self._state_is_complete or self.state.learnable_since is None or self._take_over():
            return
        with self.database.reading():
            _ = self.state.agent
        self.snapshots.take_soon()

    def after_append(self) -> None:
        """Do what is due after an event, once its callers have their answers."""
        if self.state.learnable_since is not None:
            self.prepare()
        self.snapshots.take_if_due()

    def _take_over(self) -> bool:
        """Take over what another process has learnt anew; False if none has.

        The process that wrote the event learns at once, and the others wait for its snapshot: but not longer than they
        would take themselves, since it may have died.
        """
        since = self.state.learnable_since
        assert since is not None
        patience = 0.0 if since in self._written else LEARNING_WAIT + LEARNING * sum(self.state.received)
        end = time.monotonic() + patience
        while True:
            with self.database.reading() as connection:
                stored = StoredLog(connection, self.bandit_id)
                if stored.snapshot_seq() >= since:
                    self._load(stored)
                    return self.state.learnable_since is None
            if time.monotonic() >= end:
                return False
            time.sleep(LOOK_AGAIN)

    def expect(self, plan: Planner, deadline: Deadline) -> None:
        """Learn for arms or a policy that a plan will bring, so that the bandit goes on at once. Needs no lock."""
        with self.reading(deadline) as stored:
            settled = self.state.seq
            later = self.state.after(plan(self.state, self._now(), stored))
        if later.learnable_since is None:
            return
        with contextlib.closing(self.database.another()) as other, other.lock, other.reading(deadline) as connection:
            arms, values = StoredLog(connection, self.bandit_id).rewards_until(settled)
        agent = later.policy.start(len(later.names), seed=later.settings.seed)
        agent.update_many(arms.tolist(), values.tolist())
        with self.reading(deadline) as stored:
            self.state.expect(agent, stored.rewards_until(self.state.seq, settled))

    def _check_prepared(self) -> None:
        if self.state.learnable_since is not None:
            raise _UnpreparedError

    # In SQLite, statements cost little, and a transaction is what others wait for.

    def _append_if_newest(self, plan: Planner, connection: Connection) -> list[Event]:
        stored = StoredLog(connection, self.bandit_id)
        return self._append_planned(plan, stored) if self._has_last_event(stored) else []

    def _append_after_catch_up(self, plan: Planner, connection: Connection) -> list[Event]:
        stored = StoredLog(connection, self.bandit_id)
        self._note_catch_up(self._catch_up(stored))
        self._check_prepared()
        return self._append_planned(plan, stored)

    def _append_planned(self, plan: Planner, stored: StoredLog) -> list[Event]:
        events = plan(self.state, self._now(), stored)
        if events:
            stored.append(events)
        return events

    # In PostgreSQL, every statement is a round trip: see `rotting.bandit.store.postgres`.

    def _append_in_one_trip(self, plan: Planner, deadline: Deadline) -> list[Event]:
        from rotting.bandit.store import postgres

        with self.database.connected(deadline) as connection:
            events = plan(self.state, self._now(), StoredLog(connection, self.bandit_id))
            last = self.state.seq, self.state.at
            if not events:
                return []
            self.database.committing()
            driver, greeting = self.database.driver, self.database.greeting
            assert greeting is not None
            appended = postgres.append(driver, greeting.namespace, self.bandit_id, last, events, commit=False)
            return events if appended else []

    def _append_in_two_trips(self, plan: Planner, deadline: Deadline, in_one_message: bool) -> list[Event]:
        """Append under a lock; `in_one_message` with the commit, unless `plan` itself has written something."""
        from rotting.bandit.store import postgres

        while True:
            with self.database.connected(deadline) as connection:
                driver, greeting = self.database.driver, self.database.greeting
                assert greeting is not None
                known = self.state.seq if self._state_is_complete else NO_LIMIT
                rows = postgres.lock_and_read(driver, greeting.namespace, self.bandit_id, known, deadline)
                stored = StoredLog(connection, self.bandit_id)
                self._note_catch_up(self._catch_up(stored, rows if self._state_is_complete else None))
                self._check_prepared()
                events = plan(self.state, self._now(), stored)
                if not events:
                    postgres.roll_back(driver)
                    return []
                last = self.state.seq, self.state.at
                self.database.committing()
                if postgres.append(driver, greeting.namespace, self.bandit_id, last, events, commit=in_one_message):
                    if not in_one_message:
                        driver.execute("COMMIT")
                    return events
                if not in_one_message:
                    postgres.roll_back(driver)
            # A process that believed to be alone was quicker.
            if deadline.is_over():
                raise deadline.error("other writers")

    def _note_catch_up(self, events: int) -> None:
        self.caught_up += events
        self._empty_catch_ups = self._empty_catch_ups + 1 if events == 0 else 0

    def _now(self) -> float:
        """Return the time for the next events: in a log, it never runs backwards."""
        return self._clock.next_time(self.database.clock(), self.state.at)

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
    def reading(self, deadline: Deadline | None = None) -> Iterator[StoredLog]:
        """Yield the log as one read transaction sees it, with the state caught up; `lock` is held meanwhile."""
        with self.database.held(), self.database.reading(deadline) as connection:
            stored = StoredLog(connection, self.bandit_id)
            self._catch_up(stored)
            yield stored

    def refresh(self) -> None:
        """Apply what other processes have appended."""
        with self.reading():
            pass

    def _catch_up(self, stored: StoredLog, rows: list[Event] | None = None) -> int:
        """Apply what other processes have appended; returns how many events that were.

        `rows` are the last event that is known and all after it, if they have been read already.
        """
        if not self._state_is_complete:
            self._load(stored)
        if rows is None:
            rows = stored.after(self.state.seq - 1)
        last, new = (rows[0] if rows else None), rows[1:]
        if last is None or (last.seq, last.at) != (self.state.seq, self.state.at):
            if (sealed := stored.sealed()) is not None and sealed[0] >= self.state.seq:
                self._load(stored)  # the log was compacted, beyond what is known here
                return 1
            if stored.is_deleted():
                raise UnknownBandit(f"bandit {quoted(self.name)} was deleted", value=self.name)
            raise DamagedLog(
                f"event {self.state.seq} of bandit {quoted(self.name)} is no longer the one that was there: an older "
                "copy has taken the place of the log",
                hint="open the bandit again",
            )
        self._apply(new, checked=False)
        return len(new)

    def _load(self, stored: StoredLog) -> None:
        """Make the state from the newest snapshot and the events after it."""
        sealed = stored.sealed()
        if sealed is None and stored.time_of(1) is None:
            raise self._missing(1)  # the log begins with arms
        state = self.stored_state(stored)
        if state is None:
            state = self.first_state(stored)
        elif state.seq > 0 and (state.seq, state.at) != sealed and stored.time_of(state.seq) != state.at:
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

    def first_state(self, stored: StoredLog) -> BanditState:
        """Return the state before the first event that is still in the log."""
        seal = stored.newest_seal()
        if seal is None:
            return self.fresh_state()
        try:
            return BanditState.from_snapshot(self.name, self.settings, self._read_rewards, seal.snapshot)
        except NOT_A_SNAPSHOT:
            raise damaged_seal("is not one of this bandit") from None

    def stored_state(self, stored: StoredLog) -> BanditState | None:
        """Return the state of the newest snapshot. One that makes no sense is not used: the log has everything.

        Nor is one that is older than the newest seal: the events that follow it are gone.
        """
        sealed = stored.sealed()
        if sealed is not None and stored.snapshot_seq() < sealed[0]:
            return None
        content = stored.get_snapshot()
        if content is None:
            return None
        try:
            snapshot = Snapshot.from_bytes(content)
            state = BanditState.from_snapshot(self.name, self.settings, self._read_rewards, snapshot)
        except NOT_A_SNAPSHOT:
            return None
        self.snapshots.note(state.seq, len(content))
        return state

    def _read_rewards(self, seq: int) -> tuple[np.ndarray, np.ndarray]:
        with self.database.reading_in_transaction() as connection:
            return StoredLog(connection, self.bandit_id).rewards_until(seq)
