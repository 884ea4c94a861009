"""One queue for all bandits of a store: what waits for any of them is one transaction, and each is judged by itself."""

import contextlib
import threading
import time

import pytest
from test_group_commit import Held, in_threads

from rotting import Bandit, EffFEWA
from rotting.bandit import DamagedLog, Segments, StorageError, TimedOut
from rotting.bandit import commit as module
from rotting.bandit.core.events import Question
from rotting.bandit.core.state import BanditState
from rotting.bandit.store.deadlines import Deadline

COLOURS = ["red", "green", "blue"]


@pytest.fixture
def segments(url):
    with Segments.open(url, "home/{user}", EffFEWA(sigma=0.5), COLOURS) as made:
        made.reward(made.decide(user=0).id, 1.0)  # everything is compiled
        yield made


def appended(monkeypatch, store):
    """Note which logs each call of `append` was for, and which it accepted."""
    kind, calls = type(store), []
    append = kind.append

    def noted(self, batches):
        accepted = append(self, batches)
        if self is store:
            calls.append((set(batches), accepted))
        return accepted

    monkeypatch.setattr(kind, "append", noted)
    return calls


def test_what_waits_for_many_bandits_is_one_transaction(segments, monkeypatch):
    bandits = [segments.bandit(user=user) for user in range(20)]
    for bandit in bandits:
        bandit.decide()
    calls = appended(monkeypatch, segments.head._log.store)
    held = Held(segments.head)
    join = in_threads([bandit.decide for bandit in bandits * 3])
    held.until(60)
    results = join()
    assert len({choice.id for choice in results}) == 60
    assert [len(batches) for batches, _ in calls if len(batches) > 1] == [20]
    for bandit, later in zip(bandits, zip(*[iter(results)] * 20, strict=True), strict=False):
        assert bandit.verify().decisions == 4 + (bandit is bandits[0])
        assert later


def test_each_bandit_is_accepted_or_refused_by_itself(segments, url, monkeypatch):
    """Another process has written to one of them meanwhile."""
    bandits = [segments.bandit(user=user) for user in range(5)]
    for bandit in bandits:
        bandit.decide()
    Bandit.open(url, bandits[2].name).decide()
    calls = appended(monkeypatch, segments.head._log.store)
    held = Held(segments.head)
    join = in_threads([bandit.decide for bandit in bandits])
    held.until(5)
    assert len({choice.id for choice in join()}) == 5
    ids = [bandit._log.bandit_id for bandit in bandits]
    assert (set(ids), set(ids) - {ids[2]}) in calls
    assert [bandit.verify().decisions for bandit in bandits] == [3, 2, 3, 2, 2]


def test_a_lost_answer_is_resolved_bandit_by_bandit(segments, monkeypatch):
    bandits = [segments.bandit(user=user) for user in range(6)]
    for bandit in bandits:
        bandit.decide()
    kind, lost = type(segments.head._log.store), []
    append = kind.append

    def loses_answers(store, batches):
        if lost or len(batches) < 6:
            return append(store, batches)
        written = {number: batch for place, (number, batch) in enumerate(batches.items()) if place % 2}
        lost.append(append(store, written))
        error = StorageError("the connection broke")
        error.may_be_written = True
        raise error

    monkeypatch.setattr(kind, "append", loses_answers)
    held = Held(segments.head)
    join = in_threads([bandit.decide for bandit in bandits])
    held.until(6)
    choices = join()
    assert len(lost) == 1
    for bandit, choice in zip(bandits, choices, strict=True):
        log = bandit.history()
        assert log[log.kind == "decided"].decision.tolist()[-1] == choice.id
        assert bandit.verify().decisions == 2 + (bandit is bandits[0])


@pytest.mark.parametrize("error", [DamagedLog("its log is damaged"), ZeroDivisionError("its policy divides by 0")])
def test_a_broken_bandit_harms_nobody_else(segments, monkeypatch, error):
    bandits = [segments.bandit(user=user) for user in range(4)]
    for bandit in bandits:
        bandit.decide()
    select = BanditState.select

    def breaks(state, *given):
        if state.bandit_name == bandits[1].name:
            raise error
        return select(state, *given)

    monkeypatch.setattr(BanditState, "select", breaks)
    held = Held(segments.head)
    join = in_threads([bandit.decide for bandit in bandits])
    held.until(4)
    results = join()
    assert type(results[1]) is type(error)
    monkeypatch.undo()
    assert [bandit.verify().decisions for bandit in bandits] == [3, 1, 2, 2]


@contextlib.contextmanager
def locked_elsewhere(bandit):
    """Another process is at work on a bandit, and does not end."""
    other = bandit._log.store.another()
    with other.lock, other.writing(Deadline(30.0)):
        other.look_up({bandit._log.bandit_id: Question(1)}, lock=True)
        yield
    other.close()


def test_a_bandit_that_another_process_has_locked_keeps_no_other_waiting(postgres):
    with Segments.open(postgres, "home/{user}", EffFEWA(sigma=0.5), COLOURS) as segments:
        stuck, free = (segments.bandit(user=user) for user in range(2))
        stuck.decide(), free.decide()
        for bandit in (stuck, free):
            bandit._log._empty_catch_ups = 0  # as if others had written: nobody hurries
        waits = []

        def decide_often():
            for _ in range(10):
                start = time.monotonic()
                free.decide()
                waits.append(time.monotonic() - start)

        with locked_elsewhere(stuck):
            results = in_threads([lambda: stuck.decide(timeout=1.0), decide_often])()
        assert isinstance(results[0], TimedOut)
        assert not results[0].may_be_written
        assert max(waits) < 10 * module.PATIENCE
        assert stuck.decide().arm
        assert [bandit.verify().decisions for bandit in (stuck, free)] == [2, 11]


def test_everybody_gets_a_fair_share(segments, monkeypatch):
    """Ten callers with large batches do not keep one with a small request for another bandit waiting."""
    monkeypatch.setattr(module, "LARGEST_TRANSACTION", 4)
    busy, quiet = segments.bandit(user=1), segments.bandit(user=2)
    busy.decide(), quiet.decide()
    calls = appended(monkeypatch, segments.head._log.store)
    held = Held(segments.head)
    join = in_threads([busy.decide] * 12 + [quiet.decide])
    held.until(13)
    join()
    with_quiet = [place for place, (batches, _) in enumerate(calls) if quiet._log.bandit_id in batches]
    assert with_quiet[0] <= 1
    assert len(calls) >= 4
    assert (busy.verify().decisions, quiet.verify().decisions) == (13, 2)


def test_threads_over_many_bandits_lose_nothing(segments, url):
    others = Segments.open(url, "home/{user}")  # as another process would

    def work(made, first):
        for place in range(30):
            choice = made.decide(user=(first + place) % 7)
            assert made.reward(choice.id, float(place % 3)) is True

    threads = [lambda made=made, first=first: work(made, first) for made in (segments, others) for first in range(6)]
    assert in_threads(threads)() == [None] * 12
    verified = [segments.bandit(user=user).verify() for user in range(7)]
    assert sum(each.decisions for each in verified) == sum(each.rewards for each in verified) == 1 + 12 * 30
    others.close()


def test_no_thread_is_left_behind(segments):
    before = threading.active_count()
    in_threads([lambda user=user: segments.decide(user=user) for user in range(5)])()
    assert threading.active_count() <= before + 1  # a snapshot, perhaps


# What the simulator has found.


def lost_answer(monkeypatch, store, after):
    """Let the answer to the next append be lost, and what comes after it be as a function says."""
    kind, calls = type(store), []
    append = kind.append

    def loses(self, batches):
        calls.append(batches)
        if len(calls) > 1:
            return after(self, batches, append)
        append(self, batches)
        error = StorageError("the connection broke")
        error.may_be_written = True
        raise error

    monkeypatch.setattr(kind, "append", loses)


def test_what_may_have_been_written_is_never_said_not_to_be(url, monkeypatch):
    """An answer is lost, and whoever wants to find out is kept waiting by another process until the deadline."""
    bandit = Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS)
    bandit.decide()
    kind = type(bandit._log.store)
    look_up = kind.look_up

    def never_free(self, questions, lock=False, patience=0.0):
        if lock:
            raise self.deadline.error("other writers")
        return look_up(self, questions)

    lost_answer(monkeypatch, bandit._log.store, lambda self, batches, append: append(self, batches))
    with monkeypatch.context() as patched:
        patched.setattr(kind, "look_up", never_free)
        with pytest.raises(TimedOut, match="not known") as raised:
            bandit.decide(timeout=0.2)
    assert raised.value.may_be_written
    assert bandit.verify().decisions == 2


def test_a_lost_answer_about_what_was_overdue_is_no_decision(url, monkeypatch):
    """The events that settled it were written, and nothing else: the decision is still to be taken."""
    bandit = Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS, reward_wait=0.0, default_reward=0.5)
    bandit.decide()
    lost_answer(monkeypatch, bandit._log.store, lambda self, batches, append: append(self, batches))
    choice = bandit.decide()
    log = bandit.history()
    assert log.kind.tolist()[3:] == ["decided", "expired", "decided"]
    assert log.decision.iloc[-1] == choice.id


def test_what_was_refused_is_not_taken_for_what_another_process_wrote(url, monkeypatch):
    """Both give the same reward at the same instant, and the disk is full for one of them."""
    bandit = Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS)
    choice, other, kind = bandit.decide(), Bandit.open(url, "hero"), type(bandit._log.store)
    append, tried = kind.append, []
    monkeypatch.setattr(kind, "clock", lambda store: 2e9)

    def fills_the_disk(store, batches):
        tried.append(batches)
        if len(tried) > 1:
            return append(store, batches)
        raise StorageError("the disk is full")

    def looks_up(store, questions, *given, **named):
        if tried:
            monkeypatch.setattr(kind, "look_up", look_up)
            assert other.reward(choice.id, 1.0) is True
        return look_up(store, questions, *given, **named)

    look_up = kind.look_up
    monkeypatch.setattr(kind, "append", fills_the_disk)
    monkeypatch.setattr(kind, "look_up", looks_up)
    assert bandit.reward(choice.id, 1.0) is False


def test_an_error_of_the_database_about_one_bandit_is_told_to_its_callers_alone(segments, monkeypatch):
    bandits = [segments.bandit(user=user) for user in range(4)]
    for bandit in bandits:
        bandit.decide()
    broken = bandits[1]._log.bandit_id
    kind = type(segments.head._log.store)
    append = kind.append

    def refuses(store, batches):
        if broken in batches:
            raise StorageError("a key is there already")
        return append(store, batches)

    monkeypatch.setattr(kind, "append", refuses)
    held = Held(segments.head)
    join = in_threads([bandit.decide for bandit in bandits])
    held.until(4)
    results = join()
    assert isinstance(results[1], StorageError)
    monkeypatch.undo()
    assert [bandit.verify().decisions for bandit in bandits] == [3, 1, 2, 2]


def test_a_change_that_is_written_asks_nothing_more(url, monkeypatch):
    """The server hangs after the answer: who changed the policy has that answer."""
    bandit = Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS)
    kind = type(bandit._log.store)
    append, reading = kind.append, kind.reading

    def hangs(store, deadline=None):
        raise StorageError("the server does not answer")

    def written(store, batches):
        monkeypatch.setattr(kind, "reading", hangs)
        return append(store, batches)

    monkeypatch.setattr(kind, "append", written)
    assert bandit.change(policy=EffFEWA(alpha=0.1, sigma=0.5)) == ["policy"]
    monkeypatch.setattr(kind, "reading", reading)
    assert bandit.policy == EffFEWA(alpha=0.1, sigma=0.5)


def test_a_key_may_have_been_used_by_another_process_for_an_arm_that_is_new(url):
    bandit = Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS)
    bandit.decide()
    other = Bandit.open(url, "hero")
    other.change_arms(add=["purple"], retire=COLOURS)
    choice = other.decide(key="page view 81")
    again = bandit.decide(key="page view 81")
    assert (again.id, again.arm) == (choice.id, "purple")


def test_two_processes_never_share_a_decision(url, monkeypatch):
    """Both decide at the same instant, and the first loses the answer to something that was never written."""
    bandit = Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS)
    other, kind = Bandit.open(url, "hero"), type(bandit._log.store)
    bandit.decide()
    append, taken = kind.append, []
    monkeypatch.setattr(kind, "clock", lambda store: 2e9)

    def loses_the_answer(store, batches):
        if not taken:
            error = StorageError("the connection broke")
            error.may_be_written = True
            taken.append(None)
            taken.append(other.decide())
            raise error
        return append(store, batches)

    monkeypatch.setattr(kind, "append", loses_the_answer)
    choice = bandit.decide()
    assert choice.id != taken[1].id
    assert bandit.verify().decisions == 3
