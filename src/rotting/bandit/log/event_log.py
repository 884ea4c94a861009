"""The append-only event log of one bandit, and the state that is kept in step with it."""

from __future__ import annotations

import contextlib
import functools
import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from rotting.bandit.commit import Commits
from rotting.bandit.core.clocks import LogClock
from rotting.bandit.core.events import RESTORE, Event, Question
from rotting.bandit.core.identifiers import Identifiers
from rotting.bandit.core.seals import Seal, damaged_seal
from rotting.bandit.core.settings import BanditSettings
from rotting.bandit.core.snapshots import NOT_A_SNAPSHOT, Snapshot
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import DamagedLog, UnknownBandit
from rotting.bandit.log.snapshotting import Snapshotter
from rotting.bandit.log.stored import StoredLog, missing
from rotting.bandit.metrics import Observer
from rotting.bandit.store import forks
from rotting.bandit.store.contract import NO_LIMIT, BanditRow
from rotting.bandit.store.deadlines import Deadline
from rotting.errors import RottingError, quoted
from rotting.policies import Policy

# Consecutive empty catch-ups before optimistic appends: as many times in a row, no other process has written.
EMPTY_CATCH_UPS = 20
# Seconds that another process is given to learn again, and more for each reward; how often to look whether it has.
LEARNING_WAIT, LEARNING, LOOK_AGAIN = 0.2, 2e-6, 0.02

Planner = Callable[[BanditState, float], list[Event]]


@functools.cache
def warm_up(policy: Policy) -> None:
    """Compile or load the kernels of a policy, so that nobody waits for it later."""
    agent = policy.start(2)
    agent.select_among((0, 1), np.uint64(0))
    if policy.randomised and policy.tells_probabilities:
        agent.probabilities_among((0, 1), np.uint64(0))
    with contextlib.suppress(RottingError):  # a policy may want other rewards
        agent.update(0, 0.0)
        agent.update_many([0, 1], [0.0, 0.0])
        agent.select_among((0, 1), np.uint64(0))


class EventLog:
    """Appends to the log of one bandit, and keeps `state`, which follows from it, up to date.

    Hold `lock` while you use `state` for longer than one statement.
    """

    def __init__(self, commits: Commits, row: BanditRow):
        self.commits = commits
        self.store = commits.store
        self.lock = commits.lock
        self.bandit_id, self.name, self.token, *_ = row
        column = "settings"
        try:
            settings = dict(json.loads(row.settings))
            self.template: str | None = settings.pop("template", None)  # whose segment it is
            column = "secret"
            self.identifiers = Identifiers(row.token, row.secret)
        except (TypeError, ValueError, RecursionError):
            raise DamagedLog(f"the {column} of bandit {quoted(row.name)} cannot be read", hint=RESTORE) from None
        self.forget_other_threads()
        forks.in_child(self)
        self.settings = BanditSettings.from_dict(settings)
        self.stored = StoredLog(self.store, row.id)
        self.state = self.fresh_state()
        # False while events are applied. If a signal handler raises an exception meanwhile, it stays False, and the
        # state is loaded again before it is used.
        self._state_is_complete = False
        self._written = range(0)  # the events of the last append
        self._empty_catch_ups = EMPTY_CATCH_UPS  # in a row
        self.observers: list[Observer] = []
        self._compiled: Policy | None = None  # the policy whose kernels are known to be compiled
        self.caught_up = 0  # events of other processes so far
        self._clock = LogClock()
        self.snapshots = Snapshotter(self)
        with self.reading():
            pass

    def forget_other_threads(self) -> None:
        """Take a mark for decisions; in a child, after a fork, it is another than its parent's."""
        self.identifiers.mark = secrets.token_hex(2)

    # What carries out requests for many logs needs of each; see `rotting.bandit.commit`.

    @property
    def is_alone(self) -> bool:
        """Whether the state is the newest one, as far as is known, since no other process writes."""
        return self._state_is_complete and self._empty_catch_ups >= EMPTY_CATCH_UPS

    @property
    def is_ready(self) -> bool:
        """Whether nothing that takes long has to be done before a transaction."""
        return self.state.learnable_since is None and self._compiled == self.state.settings.policy

    def last_known(self) -> Question:
        """Return what asks for the last event that is known, and all after it."""
        return Question(self.state.seq if self._state_is_complete else NO_LIMIT)

    def take_in(self, events: list[Event]) -> None:
        """Take in what other processes have appended: the answer to `last_known`."""
        new = self._catch_up(events if self._state_is_complete else None)
        self.caught_up += new
        self._empty_catch_ups = self._empty_catch_ups + 1 if new == 0 else 0

    def applied(self, events: Sequence[Event]) -> None:
        """Apply events of our own that are durable now."""
        self._apply(events)
        self._written = range(events[0].seq, events[-1].seq + 1)

    def now(self) -> float:
        """Return the time for the next events: in a log, it never runs backwards."""
        return self._clock.next_time(self.store.clock(), self.state.at)

    # What takes long is done before others have to wait for it.

    def prepare(self) -> None:
        """Compile kernels and rebuild the agent before others have to wait for it."""
        warm_up(self.state.settings.policy)
        self._compiled = self.state.settings.policy
        if not self._state_is_complete or self.state.learnable_since is None or self._take_over():
            return
        with self.store.reading():
            _ = self.state.agent
        self.snapshots.take_soon()

    def after_append(self) -> None:
        """Do what is due after an event, once its callers have their answers."""
        if self.state.learnable_since is not None:
            self.prepare()
        self.snapshots.take_if_due()

    def _take_over(self) -> bool:
        """Take over what another process has learnt again; False if none has.

        The process that wrote the event learns at once, and the others wait for its snapshot: but not longer than they
        would take themselves, since it may have died.
        """
        since = self.state.learnable_since
        assert since is not None
        patience = 0.0 if since in self._written else LEARNING_WAIT + LEARNING * sum(self.state.received)
        end = time.monotonic() + patience
        while True:
            with self.store.reading():
                if self.stored.snapshot_seq() >= since:
                    self._load()
                    return self.state.learnable_since is None
            if time.monotonic() >= end:
                return False
            time.sleep(LOOK_AGAIN)

    def expect(self, plan: Planner, deadline: Deadline) -> None:
        """Learn for arms or a policy that a plan will bring, so that the bandit goes on at once. Needs no lock."""
        with self.reading(deadline):
            settled = self.state.seq
            later = self.state.after(plan(self.state, self.now()))
        if later.learnable_since is None:
            return
        with contextlib.closing(self.store.another()) as other, other.lock, other.reading(deadline):
            arms, values = StoredLog(other, self.bandit_id).rewards_until(settled)
        agent = later.policy.start(len(later.names), seed=later.settings.seed)
        agent.update_many(arms.tolist(), values.tolist())
        with self.reading(deadline) as stored:
            self.state.expect(agent, stored.rewards_until(self.state.seq, settled))

    def _apply(self, events: Iterable[Event], checked: bool = True) -> None:
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
        with self.commits.held(deadline), self.store.reading(deadline):
            self._catch_up()
            yield self.stored

    def _catch_up(self, rows: list[Event] | None = None) -> int:
        """Apply what other processes have appended; returns how many events that were.

        `rows` are the last event that is known and all after it, if they have been read already.
        """
        if not self._state_is_complete:
            self._load()
        if rows is None:
            rows = list(self.stored.stream(self.state.seq - 1))
        last, new = (rows[0] if rows else None), rows[1:]
        if last is None or (last.seq, last.at) != (self.state.seq, self.state.at):
            if self.stored.sealed()[0] >= self.state.seq:
                self._load()  # the log was compacted, beyond what is known here
                return 1
            if self.store.find(id=self.bandit_id) is None:
                raise UnknownBandit(f"bandit {quoted(self.name)} was deleted", value=self.name)
            raise DamagedLog(
                f"event {self.state.seq} of bandit {quoted(self.name)} is no longer the one that was there: an older "
                "copy has taken the place of the log",
                hint="open the bandit again",
            )
        self._apply(new, checked=False)
        return len(new)

    def _load(self) -> None:
        """Make the state from the newest snapshot and the events after it."""
        stored = self.stored
        sealed = stored.sealed()
        if not any(sealed) and stored.time_of(1) is None:
            raise missing(self.name, 1)  # the log begins with arms
        state = self.stored_state()
        if state is None:
            state = self.first_state(stored.newest_seal())
        elif state.seq > 0 and (state.seq, state.at) != sealed and stored.time_of(state.seq) != state.at:
            raise DamagedLog(
                f"bandit {quoted(self.name)} has a snapshot that ends with event {state.seq}, which its log does not "
                "have, or not at the same time: events are missing or changed",
                hint="restore a backup of the database, or, if the log is right as it is, delete the bandit's row in "
                "rotting_snapshots",
            )
        self.state = state
        self._apply(stored.stream(state.seq), checked=False)

    # States and snapshots.

    def fresh_state(self) -> BanditState:
        """Return the state before the first event."""
        return BanditState(self.name, self.settings, self._read_rewards)

    def first_state(self, seal: Seal | None) -> BanditState:
        """Return the state before the first event that is still in the log, which follows the newest seal."""
        if seal is None:
            return self.fresh_state()
        try:
            return BanditState.from_snapshot(self.name, self.settings, self._read_rewards, seal.snapshot)
        except NOT_A_SNAPSHOT:
            raise damaged_seal("is not one of this bandit") from None

    def stored_state(self) -> BanditState | None:
        """Return the state of the newest snapshot. One that makes no sense is not used: the log has everything.

        Nor is one that is older than the newest seal: the events that follow it are gone.
        """
        content = self.stored.get_snapshot()
        if content is None:
            return None
        try:
            snapshot = Snapshot.from_bytes(content)
            state = BanditState.from_snapshot(self.name, self.settings, self._read_rewards, snapshot)
        except NOT_A_SNAPSHOT:
            return None
        if state.seq < self.stored.sealed()[0]:
            return None
        self.snapshots.note(state.seq, len(content))
        return state

    def _read_rewards(self, seq: int) -> tuple[np.ndarray, np.ndarray]:
        with self.store.reading_now():
            return self.stored.rewards_until(seq)
