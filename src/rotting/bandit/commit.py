"""The queue of a store: whatever waits for any of its bandits while a transaction is committed is the next one.

There is no timer. A caller puts a ticket into the line. If nobody holds the store and it is the first, it leads: it
carries out what waits, for all bandits, in one transaction, and wakes everybody. Otherwise it waits until its ticket
has been carried out, or it is its turn to lead.

Carrying out, in one direction: store.look_up, core.plan, store.append, state.apply, outcomes. Each bandit is accepted
or refused by itself. If an answer is lost, whoever leads next finds out from each log whether it was written.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rotting.bandit.core.requests import Outcome, Request, answer
from rotting.bandit.errors import BanditError, Contention, StorageError, TimedOut
from rotting.bandit.groups import Group
from rotting.bandit.line import Line, Ticket
from rotting.bandit.store import forks
from rotting.bandit.store.contract import Batch, Store
from rotting.bandit.store.deadlines import Deadline

if TYPE_CHECKING:
    from rotting.bandit.log.event_log import EventLog

LARGEST_TRANSACTION = 1000  # requests
# Seconds after which a caller looks by itself whether it should lead: a leader may have been interrupted before it
# could wake the next one.
LOOK_AGAIN = 0.1
# Seconds that a transaction waits for another process at one bandit before callers of other bandits have their turn.
# While nobody waits for other bandits, it waits longer: who gives up loses its place.
PATIENCE, LONG_PATIENCE = 0.05, 0.25
IDLE = 1.0  # seconds after which a thread that leads for coroutines ends


class _BrokenError(Exception):
    """Planning for one of several bandits went wrong: whoever leads for it is told how."""

    def __init__(self, log: EventLog):
        self.log = log


class Bell:
    """What wakes a thread, once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def ring(self) -> None:
        """Wake the thread."""
        if self._lock.locked():
            self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Wait for the bell; False if it did not ring."""
        return self._lock.acquire(timeout=seconds)


class Commits:
    """Carries out what callers ask of the bandits of one store. Whoever uses the store, or a state, holds `lock`."""

    def __init__(self, store: Store, background: Callable[[Callable[[], None]], None] | None = None):
        self.store = store
        self._do_in_background = background  # None: a thread does
        self.lock = store.lock
        self.line = Line()
        self._holder: int | None = None  # the thread that holds the lock
        # What was begun for a log and is not known to have ended: its leader was interrupted, or lost the connection.
        self._unfinished: dict[EventLog, Group] = {}
        self._background: threading.Thread | None = None
        self._carrier: threading.Thread | None = None  # leads for coroutines
        self._carried: queue.SimpleQueue[Ticket] = queue.SimpleQueue()
        self._carriers_bell = Bell()
        forks.in_child(self)

    # Whose turn it is.

    @contextlib.contextmanager
    def held(self, deadline: Deadline | None = None) -> Iterator[None]:
        """Hold the lock, so that others wait in the line; afterwards, wake the first of them."""
        me = threading.get_ident()
        if self._holder == me:  # a signal handler, in the middle of a call
            yield
            return
        try:
            # Who has it keeps it until its own deadline: so it must not be waited for beyond this one.
            seconds = -1.0 if deadline is None else deadline.remaining()
            if not self.lock.acquire(timeout=seconds) and deadline is not None:
                raise deadline.error("other callers")
            self._holder = me
            try:
                yield
            finally:
                self._holder = None
                self.line.drop_settled()
                if (first := self.line.first()) is not None:
                    first.wake()
        finally:
            # A signal may raise an exception anywhere, even between acquiring the lock and the next line.
            try:  # noqa: SIM105
                self.lock.release()
            except RuntimeError:
                pass  # it was not acquired

    def is_turn_of(self, ticket: Ticket) -> bool:
        """Say whether the caller of a ticket should carry it out: it is the first in the line, or holds the lock.

        If everybody did who finds the lock free, some would wait for the lock long after their tickets are done.
        """
        if self._holder is not None:
            return self._holder == threading.get_ident()
        return self.line.first() is ticket

    # Callers in threads.

    def submit(self, log: EventLog, requests: Sequence[Request], deadline: Deadline) -> list[Outcome]:
        """Carry out requests in one transaction, with those of others, and return the outcomes once it is durable."""
        bell = Bell()
        ticket = Ticket(log, requests, deadline, bell.ring)
        try:
            self.line.add(ticket)
            while not ticket.is_settled:
                if self._lead_or_wait(ticket, bell) or not deadline.is_over():
                    continue
                if (error := ticket.withdraw()) is not None:
                    raise error
                # Somebody is writing it right now: the leader gives up at its own deadline, or has just finished. There
                # is no time to lead oneself.
                bell.wait(LOOK_AGAIN)
                if not ticket.is_settled:
                    raise ticket.withdraw() or deadline.error("the database", may_be_written=True)
        finally:
            ticket.abandoned = True
        return ticket.result()

    def ask(self, log: EventLog, request: Request, deadline: Deadline) -> Any:
        """Return the outcome of one request; if it is an error, raise it."""
        try:
            (outcome,) = self.submit(log, [request], deadline)
        except StorageError as error:
            outcome = error
        return answer(request, outcome)

    def _lead_or_wait(self, ticket: Ticket, bell: Bell) -> bool:
        """Carry out what waits if it is the turn of this ticket, or else wait for a moment; False if neither helped."""
        rung = self.is_turn_of(ticket) or bell.wait(min(LOOK_AGAIN, ticket.deadline.remaining()))
        if self.is_turn_of(ticket) or (not rung and self._holder is None and not ticket.deadline.is_over()):
            with contextlib.suppress(TimedOut), self.held(ticket.deadline):
                if not ticket.is_settled:
                    self._carry_out(ticket)
                return True
            return False
        return rung

    # Callers in coroutines: a thread leads for them.

    def carry(self, log: EventLog, requests: Sequence[Request], deadline: Deadline, wake: Callable[[], None]) -> Ticket:
        """Put a ticket into the line; a thread sees to it that it is carried out, and calls `wake` when it is."""
        ticket = self.put(log, requests, deadline, lambda: self._wake_carrier(ticket, wake))
        self._carried.put(ticket)
        if self._carrier is None or not self._carrier.is_alive():
            self._carrier = threading.Thread(target=self._keep_carrying, name="rotting-carrier", daemon=True)
            self._carrier.start()
        return ticket

    def put(self, log: EventLog, requests: Sequence[Request], deadline: Deadline, wake: Callable[[], None]) -> Ticket:
        """Put a ticket into the line."""
        ticket = Ticket(log, requests, deadline, wake)
        self.line.add(ticket)
        return ticket

    def _wake_carrier(self, ticket: Ticket, wake: Callable[[], None]) -> None:
        self._carriers_bell.ring()
        if ticket.is_settled:
            wake()

    def _keep_carrying(self) -> None:
        """Carry out tickets until none has come for a while."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.lead_for(self._carried.get(timeout=IDLE))

    def lead_for(self, ticket: Ticket) -> None:
        """Carry out what waits until a ticket is settled."""
        while not ticket.is_settled:
            try:
                self._lead_or_wait(ticket, self._carriers_bell)
            except Exception as error:  # of a user's policy, most likely
                ticket.settle(error)

    # Carrying out.

    def _carry_out(self, mine: Ticket) -> None:
        """Carry out a ticket, and whatever else waits and can be written with it."""
        log = mine.log
        try:
            log.prepare()
        except BanditError as error:
            self._tell([log], error)
            return
        lock, is_second_try = self._needs_lock(log), False
        others = [other for other in self.line.waiting() if other is not log and other.is_ready]
        logs = [log, *(other for other in others if self._needs_lock(other) == lock)]
        while logs:
            try:
                logs = self._transaction(mine, logs, lock)
            except Contention:
                if lock and not mine.deadline.is_over() and any(other is not log for other in self.line.waiting()):
                    self.line.send_back(mine)  # another process is at work on this bandit: others come first
                    self._dissolve(logs)
                    return
            except TimedOut as error:  # the others may have more time
                self._group(log).fail(error, [mine])
                self._dissolve(logs)
                return
            except BanditError as error:  # what is wrong, if anything is, is found out under a lock, ...
                if lock and (is_second_try or not getattr(error, "may_be_written", False)):
                    if logs == [log]:
                        self._tell(logs, error)
                        return
                    self._dissolve(logs)  # it may concern another: this one is tried alone, as the others will be
                    logs = [each for each in logs if each is log]
                is_second_try = lock  # ... and whether it was written
            lock = True

    def _needs_lock(self, log: EventLog) -> bool:
        """Say whether to append under a lock: somebody else writes, too, or something is not known to have ended."""
        return not log.is_alone or log in self._unfinished

    def _transaction(self, mine: Ticket, logs: list[EventLog], lock: bool) -> list[EventLog]:
        """Carry out what waits for some logs in one transaction; returns those to try again, with a lock."""
        groups: list[Group] = []
        try:
            with self.store.writing(mine.deadline):
                groups = self._gather(self._locked(logs) if lock else logs)
                self._look_up(groups)
                planned = {group.log.bandit_id: self._planned(group) for group in groups}
                batches = {bandit: batch for bandit, batch in planned.items() if batch is not None}
                accepted = self.store.append(batches) if batches else set()
        except (BanditError, _BrokenError) as error:
            if not getattr(error, "may_be_written", False):
                for group in groups:
                    group.forget_attempt()
            if isinstance(error, BanditError):
                raise
            if error.log is mine.log and (cause := error.__cause__) is not None:
                raise cause from cause.__cause__
            self._dissolve([error.log])  # whoever leads for this bandit gets the error
            return [log for log in logs if log is not error.log]
        return [group.log for group in groups if not self._is_finished(group, accepted, lock)]

    def _locked(self, logs: list[EventLog]) -> list[EventLog]:
        """Lock logs and take in what others have written; returns those that can be written now."""
        patience = PATIENCE if len(self.line.waiting()) > 1 else LONG_PATIENCE
        facts = self.store.look_up({log.bandit_id: log.last_known() for log in logs}, True, patience)
        ready: list[EventLog] = []
        unready: list[EventLog] = []
        for log in logs:
            try:
                if log.bandit_id in facts:
                    log.take_in(facts[log.bandit_id].events)
            except BanditError as error:
                self._tell([log], error)
            else:
                (ready if log.bandit_id in facts and log.is_ready else unready).append(log)
        self._dissolve(unready)
        return ready

    def _group(self, log: EventLog) -> Group:
        """Return what is not finished of a log, or nothing."""
        return self._unfinished.get(log) or Group(log)

    def _gather(self, logs: Sequence[EventLog]) -> list[Group]:
        """Claim what waits for some logs: a fair share for each."""
        waiting, groups = self.line.waiting(), []
        for log in logs:
            group = self._unfinished[log] = self._group(log)
            group.claim(waiting.get(log, []), LARGEST_TRANSACTION // len(logs))
            groups.append(group)
        return groups

    def _look_up(self, groups: Sequence[Group]) -> None:
        """Ask what the states do not know, of all logs at once."""
        asked = {group: question for group in groups if (question := group.question()) is not None}
        if asked:
            facts = self.store.look_up({group.log.bandit_id: question for group, (question, _) in asked.items()})
            for group, (_, early) in asked.items():
                group.answer(facts[group.log.bandit_id], early)

    @staticmethod
    def _planned(group: Group) -> Batch | None:
        """Return what to append for a group."""
        try:
            return group.batch()
        except Exception as error:  # of a user's policy, most likely; or a signal's, in the middle of a statement
            raise _BrokenError(group.log) from error

    # What became of it.

    def _is_finished(self, group: Group, accepted: set[int], lock: bool) -> bool:
        log = group.log
        if not group.is_done(log.bandit_id in accepted, lock):
            return False
        del self._unfinished[log]
        group.deliver()
        with contextlib.suppress(BanditError):  # the next caller is told
            log.after_append()
        return True

    def _tell(self, logs: Sequence[EventLog], error: BanditError) -> None:
        """Give an error to all who wait for some logs."""
        waiting = self.line.waiting()
        for log in logs:
            group = self._group(log)
            self._unfinished.pop(log, None)
            group.claim(waiting.get(log, []))
            group.fail(error, group.tickets)

    def _dissolve(self, logs: Sequence[EventLog]) -> None:
        """Let the callers of some logs wait again: nothing has been written for them."""
        for log in logs:
            if (group := self._unfinished.get(log)) is not None and not group.attempts:
                del self._unfinished[log]
                group.release()

    # Work that nobody waits for, and the end.

    def in_background(self, work: Callable[[], None]) -> None:
        """Do some work in a thread of its own, unless the last one is not done; `close` and the program wait for it."""
        if self._do_in_background is not None:
            self._do_in_background(work)
            return
        if self._background is None or not self._background.is_alive():
            thread = threading.Thread(target=work, name="rotting-background")
            with contextlib.suppress(RuntimeError):  # the program ends, or has too many threads
                thread.start()
                self._background = thread

    def wait_for_background(self) -> None:
        """Wait for the end of such work, unless that would wait for this thread."""
        if self._background is not None and self._holder != threading.get_ident():
            self._background.join()

    def close(self) -> None:
        """Finish what is done in the background, and close the store."""
        self.wait_for_background()
        self.store.close()

    def give_back(self) -> None:
        """Disconnect what nobody uses: its bandit was dropped without being closed.

        A server has few connections, and the garbage collector may find this object much later, since it is part of
        a cycle. Who still has it, such as an iterator over the log, gets another connection.
        """
        if self._holder is None and self.lock.acquire(blocking=False):
            try:
                self.store.disconnect()
            finally:
                self.lock.release()

    def forget_other_threads(self) -> None:
        """Forget who waits and who holds the lock: in a child, after a fork, these threads are the parent's."""
        self.line.abandon()
        self._unfinished.clear()
        self._holder = self._carrier = None
