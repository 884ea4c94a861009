"""Threads that share a bandit share transactions, and nobody waits longer than it may."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit import BadSettings, ClosedBandit, Decide, Reward, StorageError, TimedOut, UnknownArm
from rotting.bandit.line import Ticket
from rotting.bandit.log.event_log import EventLog
from rotting.bandit.store import postgres
from rotting.bandit.store.deadlines import Deadline

COLOURS = ["red", "green", "blue"]
HALF = EffFEWA(sigma=0.5)


@pytest.fixture
def bandit(url):
    opened = Bandit.open(url, "hero", HALF, COLOURS)
    opened.reward(opened.decide().id, 1.0)  # everything is compiled
    return opened


class Held:
    """Somebody holds the bandit's database, so that calls gather in the line."""

    def __init__(self, bandit):
        self._release = threading.Event()
        self._commits = bandit._log.commits
        taken = threading.Event()

        def hold():
            with self._commits.held():
                taken.set()
                self._release.wait(30)

        self._thread = threading.Thread(target=hold)
        self._thread.start()
        taken.wait()

    def until(self, waiting):
        while len(self._commits.line) < waiting:
            time.sleep(0.001)
        self.end()

    def end(self):
        self._release.set()
        self._thread.join()


def in_threads(calls):
    """Start calls in threads; returns a function that waits for them and returns what each returned or raised."""
    results = [None] * len(calls)

    def run(place, call):
        try:
            results[place] = call()
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=each) for each in enumerate(calls)]
    for thread in threads:
        thread.start()

    def join():
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        return results

    return join


def test_whatever_waits_is_one_transaction(bandit):
    first, second = bandit.decide(2)
    held = Held(bandit)
    calls = [bandit.decide] * 20 + [
        lambda: bandit.reward(first.id, 1.0),
        lambda: bandit.decide(among=["nope"]),
        lambda: bandit.shown(second.id),
        lambda: bandit.reward_many({second.id: 0.5}),
    ]
    join = in_threads(calls)
    held.until(len(calls))
    results = join()
    assert len({choice.id for choice in results[:20]}) == 20
    assert results[20] is True
    assert isinstance(results[21], UnknownArm)
    assert results[22:] == [True, 1]
    log = bandit.history().iloc[7:]
    assert log["at"].nunique() == 1  # they were all written at once
    assert log.kind.tolist()[:20] == ["decided"] * 20
    bandit.verify()


def test_only_the_first_in_the_line_leads(bandit):
    """If all did who find the database free, some would wait for it long after their requests are carried out."""
    commits = bandit._log.commits
    first, second = (Ticket(bandit._log, (Decide(),), Deadline(), lambda: None) for _ in range(2))
    [commits.line.add(ticket) for ticket in (first, second)]
    assert [commits.is_turn_of(first), commits.is_turn_of(second)] == [True, False]
    first.abandoned = True
    assert commits.is_turn_of(second)
    with commits.held():  # this thread need not wait for itself
        assert commits.is_turn_of(first)
    taken = Held(bandit)
    assert not commits.is_turn_of(second)
    second.abandoned = True
    taken.end()


def test_many_threads_lose_nothing(bandit):
    def work():
        for place in range(15):
            choice = bandit.decide()
            assert bandit.reward(choice.id, float(place % 3)) is True

    assert in_threads([work] * 12)() == [None] * 12
    verified = bandit.verify()
    assert (verified.decisions, verified.rewards) == (181, 181)


def test_an_error_of_the_database_is_everybodys_own(bandit, monkeypatch):
    held = Held(bandit)
    join = in_threads([bandit.decide] * 4)

    def fail(*_):
        raise StorageError("the disk is full")

    monkeypatch.setattr(type(bandit._log.store), "append", fail)
    held.until(4)
    results = join()
    assert [type(each) for each in results] == [StorageError] * 4
    assert len(set(map(id, results))) == 4
    monkeypatch.undo()
    assert bandit.verify().decisions == 1


def test_those_who_wait_outlive_an_interrupted_leader(bandit, monkeypatch):
    """The leader is interrupted right after the commit: the others get what was written for them, and nothing twice."""
    kind, leaders = type(bandit._log.store), []
    held, append = Held(bandit), kind.append

    def interrupted(store, batches):
        accepted = append(store, batches)
        if not leaders:
            leaders.append(threading.current_thread())
            raise KeyboardInterrupt
        return accepted

    monkeypatch.setattr(kind, "append", interrupted)
    join = in_threads([bandit.decide] * 5)
    held.until(5)
    results = join()
    assert sorted(type(each).__name__ for each in results) == ["Choice"] * 4 + ["KeyboardInterrupt"]
    ids = {each.id for each in results if not isinstance(each, KeyboardInterrupt)}
    log = bandit.history()
    assert ids < set(log[log.kind == "decided"].decision)
    assert bandit.verify().decisions == 1 + 5  # all five were written, once


def test_a_leader_interrupted_before_it_could_write(bandit, monkeypatch):
    held, plan, leaders = Held(bandit), EventLog.now, []

    def interrupted(log):
        if not leaders:
            leaders.append(threading.current_thread())
            raise KeyboardInterrupt
        return plan(log)

    monkeypatch.setattr(EventLog, "now", interrupted)
    join = in_threads([bandit.decide] * 5)
    held.until(5)
    results = join()
    assert sorted(type(each).__name__ for each in results) == ["Choice"] * 4 + ["KeyboardInterrupt"]
    assert bandit.verify().decisions == 1 + 4


def test_a_connection_that_breaks_while_it_commits(postgres_bandit, monkeypatch):
    """Whether it was written is found out: no decision is taken twice."""
    append, broken = postgres.PostgresStore.append, []

    def break_afterwards(store, batches):
        done = append(store, batches)
        if not broken:
            broken.append(True)
            store.driver.close()
            raise postgres.psycopg.OperationalError("server closed the connection unexpectedly")
        return done

    monkeypatch.setattr(postgres.PostgresStore, "append", break_afterwards)
    choice = postgres_bandit.decide()
    assert broken
    log = postgres_bandit.history()
    assert log[log.kind == "decided"].decision.tolist()[1:] == [choice.id]
    other = Bandit.open(postgres_bandit._log.store._url, "hero")
    other.decide()
    broken.clear()
    choice = postgres_bandit.decide()  # under the lock, this time
    assert broken
    assert postgres_bandit.verify().decisions == 4


@pytest.fixture
def postgres_bandit(postgres):
    opened = Bandit.open(postgres, "hero", HALF, COLOURS)
    opened.reward(opened.decide().id, 1.0)
    return opened


# Deadlines.


@pytest.mark.parametrize("timeout", [-1, "soon", float("nan"), float("inf")])
def test_timeouts_are_seconds(bandit, timeout):
    with pytest.raises(BadSettings, match="timeout"):
        bandit.decide(timeout=timeout)


def test_nobody_waits_for_another_thread_beyond_the_deadline(bandit):
    held = Held(bandit)
    started = time.monotonic()
    with pytest.raises(TimedOut, match=r"no answer within 0\.2 s: .*nothing was written") as raised:
        bandit.decide(timeout=0.2)
    assert time.monotonic() - started >= 0.2
    assert raised.value.may_be_written is False
    assert isinstance(raised.value, TimeoutError)
    held.end()
    assert bandit.decide(timeout=30).arm
    assert bandit.verify().decisions == 2


STOPPED_WRITER = """
import sys, time
from rotting import Bandit
from rotting.bandit.core.events import Question
bandit = Bandit.open(sys.argv[1], "hero")
with bandit._log.store.writing():
    bandit._log.store.look_up({bandit._log.bandit_id: Question(1)}, lock=True)
    print("in", flush=True)
    time.sleep(60)
"""


@contextlib.contextmanager
def stopped_writer(url):
    """Another process is stopped in the middle of a transaction."""
    process = subprocess.Popen([sys.executable, "-c", STOPPED_WRITER, url], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"in\n"
        os.kill(process.pid, signal.SIGSTOP)
        yield
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="NOT TESTED: this system has no SIGSTOP")
def test_a_writer_that_is_stopped_stops_nobody_for_longer_than_the_deadline(url, bandit):
    waiting = bandit.decide()
    with stopped_writer(url):
        bandit._log._empty_catch_ups = 0  # as if the other had written before: no optimistic append
        results = in_threads(
            [
                lambda: bandit.decide(timeout=0.3),
                lambda: bandit.reward(waiting.id, 1.0, timeout=0.5),
                lambda: bandit.exchange([Decide(), Reward(waiting.id, 1.0)], timeout=0.4),
                lambda: bandit.change_arms(add=["purple"], timeout=0.5),
            ]
        )()
    assert [type(each) for each in results] == [TimedOut] * 4
    assert not any(each.may_be_written for each in results)
    assert bandit.reward(waiting.id, 1.0) is True
    assert bandit.verify().decisions == 2


def test_a_closed_bandit_says_so_to_everybody(bandit):
    held = Held(bandit)
    join = in_threads([bandit.decide] * 3)
    bandit._log.store._closed = True
    held.until(3)
    assert [type(each) for each in join()] == [ClosedBandit] * 3


# Round trips.


def test_one_round_trip_alone_and_two_among_others(postgres_bandit, monkeypatch):
    trips, wait = [], postgres.BoundedConnection.wait
    monkeypatch.setattr(
        postgres.BoundedConnection, "wait", lambda *given, **rest: trips.append(1) or wait(*given, **rest)
    )
    choice = postgres_bandit.decide()
    assert len(trips) == 1
    postgres_bandit.reward(choice.id, 1.0)
    assert len(trips) == 2
    postgres_bandit.exchange([Decide(3), *[Reward(choice.id, 1.0)]])
    assert len(trips) == 4  # the log was asked about a decision that has its reward
    postgres_bandit._log._empty_catch_ups = 0
    trips.clear()
    postgres_bandit.decide()
    postgres_bandit.decide(100)
    assert len(trips) == 4


def test_the_statement_that_appends_is_prepared_once(postgres_bandit):
    log = postgres_bandit._log

    def prepared():
        return [
            row[0]
            for row in log.store.driver.execute(
                "SELECT calls FROM (SELECT generic_plans + custom_plans AS calls FROM pg_prepared_statements "
                "WHERE name = 'rotting_append') AS ours"
            )
        ]

    def among_others(call):
        log._empty_catch_ups = 0
        return call()

    [alone] = prepared()
    choices = [among_others(postgres_bandit.decide) for _ in range(3)]
    assert prepared() == [alone + 3]
    for choice in choices[:2]:
        assert among_others(lambda id=choice.id: postgres_bandit.reward(id, 1.0)) is True
    assert prepared() == [alone + 5]
    assert among_others(lambda: postgres_bandit.reward(choices[0].id, 1.0)) is False  # rolls back
    assert prepared() == []
    among_others(postgres_bandit.decide)
    assert prepared() == [1]
    log.store.driver.execute("DEALLOCATE ALL")  # by somebody between us and the server, such as a pooler
    among_others(postgres_bandit.decide)
    assert prepared() == [1]
    postgres_bandit.verify()


def test_two_writers_disturb_neither_the_terminal_nor_each_others_connection(postgres, capfd):
    """Nothing fails because another was quicker: an error would close the connection, and be in the server's log."""
    one, two = (Bandit.open(postgres, "hero", HALF, COLOURS) for _ in range(2))
    one.decide(), two.decide()
    connections = [each._log.store.driver for each in (one, two)]
    for place in range(90):
        (one if place % 30 else two).decide()  # again and again, one of them believes to be alone
    assert [each._log.store.driver for each in (one, two)] == connections
    in_threads([lambda: [one.decide() for _ in range(20)], lambda: [two.decide() for _ in range(20)]])()
    assert [each._log.store.driver for each in (one, two)] == connections
    assert capfd.readouterr().err == ""
    assert one.verify().decisions == 132
