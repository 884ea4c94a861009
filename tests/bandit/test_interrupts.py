"""Exceptions that a signal handler raises in the middle of a call, and processes that are forked."""

import faulthandler
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from rotting import FEWA, Bandit, EffFEWA
from rotting.bandit.core.state import BanditState
from rotting.bandit.log import snapshotting
from rotting.bandit.log.event_log import EventLog
from rotting.policies import Agent

COLOURS = ["red", "green", "blue"]
HALF = EffFEWA(sigma=0.5)
needs_timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="NOT TESTED: this system has no timers")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT TESTED: this system cannot fork")


@pytest.fixture
def alarm():
    """Return a function that says when to raise what. What hangs is ended, with a traceback."""
    faulthandler.dump_traceback_later(120, exit=True)

    def set_alarm(after, error):
        def handler(*_):
            raise error

        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, after)

    before = signal.getsignal(signal.SIGALRM)
    yield set_alarm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    faulthandler.cancel_dump_traceback_later()


def is_from_alarm(error):
    """Say whether an exception is the alarm's, or what a library that was cleaning up made of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt | TimeoutError):
        error = error.__context__
    return error is not None


@needs_timers
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # raised in a destructor
def test_interrupted_at_random_moments(url, alarm, monkeypatch):
    """Whatever was acknowledged is there, the log verifies, and nothing hangs."""
    monkeypatch.setattr(snapshotting, "EVENTS_PER_SNAPSHOT", 100)  # so that some snapshots are interrupted
    monkeypatch.setattr(snapshotting, "BYTES_PER_EVENT", 10**6)
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    bandit.reward(bandit.decide().id, 1.0)  # everything is compiled
    other = Bandit.open(url, "hero")
    dice, decided, rewarded, longest = random.Random(7), [], {}, 0.03
    # PostgreSQL's driver takes up to 5 seconds to cancel what a KeyboardInterrupt interrupts: only few of them there.
    rare = 2 if url.startswith("sqlite") else 100
    for number in itertools.count():
        try:
            alarm(dice.uniform(0.001, longest), TimeoutError if number % rare else KeyboardInterrupt)
            end = time.monotonic() + 0.2  # Python ignores an exception that is raised in a destructor
            while time.monotonic() < end:
                choice = bandit.decide()
                decided.append(choice.id)
                bandit.reward(choice.id, float(len(decided) % 7))
                rewarded[choice.id] = float(len(decided) % 7)
            alarm(0, TimeoutError)  # none any more: on a busy machine, one could come late, and outside of this
        except BaseException as error:
            if not is_from_alarm(error):
                raise
        if number % 10 == 0:
            other.decide()  # another process would not wait either: nothing stays locked until the next call
        if number >= 200 and len(rewarded) > 50:
            break
        if number >= 100:  # on a busy machine, no call might ever return before it is interrupted
            longest *= 1.02
    assert bandit.verify() == other.verify()
    log = bandit.history()
    assert set(decided) <= set(log[log.kind == "decided"].decision)
    assert rewarded.items() <= log[log.kind == "rewarded"].set_index("decision").reward.to_dict().items()


def interrupt_after(monkeypatch, owner, name):
    """Let a method do its work, and raise an exception right after."""
    method = getattr(owner, name)

    def interrupted(*arguments):
        method(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)


def test_a_state_that_is_incomplete_is_loaded_again(url, monkeypatch):
    bandit = Bandit.open(url, "hero", FEWA(sigma=0.2), COLOURS)
    first, second = bandit.decide(2)
    with monkeypatch.context() as patched:
        interrupt_after(patched, BanditState, "_learn")
        with pytest.raises(KeyboardInterrupt):
            bandit.reward_many({first.id: 1.0, second.id: 0.0})
    assert bandit.reward(second.id, 0.0) is False  # that was durable before the interrupt
    assert bandit.verify().rewards == 2


def test_an_agent_that_was_interrupted_is_made_again(url, monkeypatch):
    bandit = Bandit.open(url, "hero", FEWA(sigma=0.2), COLOURS)
    first, second = bandit.decide(2)  # there is an agent now
    bandit.reward_many({first.id: 1.0, second.id: 0.0})
    with monkeypatch.context() as patched:
        interrupt_after(patched, Agent, "update_many")
        with pytest.raises(KeyboardInterrupt):
            bandit.decide()
    bandit.decide()
    assert bandit.verify().rewards == 2


def test_a_handler_may_look_at_the_bandit_in_the_middle_of_a_call(url, monkeypatch):
    """It takes in what the call has just written, which must not be taken in twice."""
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    apply = EventLog._apply

    def looked_at_first(log, events, checked=True):
        if checked:
            monkeypatch.setattr(EventLog, "_apply", apply)
            assert len(bandit.arms) == 3
        apply(log, events, checked)

    monkeypatch.setattr(EventLog, "_apply", looked_at_first)
    bandit.reward(bandit.decide().id, 1.0)
    assert bandit.verify().decisions == 1


# Forks.

PARENT_GOES_FIRST = """
import os, sys, time
from rotting import Bandit
bandit = Bandit.open(sys.argv[1], "hero")
bandit.decide()
ready, go = os.pipe(), os.pipe()
if os.fork() == 0:
    bandit.decide()
    os.write(ready[1], b"!")
    os.read(go[0], 1)
    bandit.decide(5)
    print(len(bandit.history()), flush=True)
    os._exit(0)
os.read(ready[0], 1)
bandit.decide()
bandit.close()
os.write(go[1], b"!")
os.wait()
"""


@needs_fork
def test_a_fork_loses_nothing_whoever_closes_first(url):
    """SQLite removes its write-ahead log with the last connection that it knows of."""
    Bandit.open(url, "hero", HALF, COLOURS).close()
    done = subprocess.run([sys.executable, "-c", PARENT_GOES_FIRST, url], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "11\n"), done.stderr
    with Bandit.open(url, "hero") as bandit:
        assert bandit.verify().decisions == 8


@needs_fork
def test_a_fork_waits_for_other_threads(url):
    """A child whose parent was in the middle of a call could use the bandit no more."""
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            bandit.decide()

    thread = threading.Thread(target=work)
    thread.start()
    children = []
    for _ in range(5):
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                bandit.decide()
            finally:
                os._exit(0 if sys.exc_info()[0] is None else 1)
        children.append(child)
    codes = [os.waitpid(child, 0)[1] for child in children]
    stop.set()
    thread.join()
    assert codes == [0] * 5
    bandit.verify()
