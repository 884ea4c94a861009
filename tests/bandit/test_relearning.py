"""What takes long is done before anybody has to wait for it."""

import contextlib

import pytest

from rotting import FEWA, Bandit, EffFEWA
from rotting.bandit.core import state
from rotting.bandit.core.state import BanditState
from rotting.bandit.log import event_log
from rotting.bandit.store import Contention, Deadline, Question

COLOURS = ["red", "green", "blue"]


@pytest.fixture(autouse=True)
def few_rewards_are_many(monkeypatch):
    monkeypatch.setattr(state, "LEARNT_AT_ONCE", 10)


def play(bandit, rounds):
    for place in range(rounds):
        bandit.reward(bandit.decide().id, float(place % 3))


@pytest.mark.parametrize("policy", [EffFEWA(sigma=0.5), FEWA(sigma=0.5)], ids=str)
def test_an_arm_is_learnt_before_it_is_added_and_only_once(url, policy, monkeypatch):
    one, two = (Bandit.open(url, "hero", policy, COLOURS) for _ in range(2))
    play(one, 30)
    two.decide()
    learnt = []
    rewards = BanditState.rewards
    monkeypatch.setattr(BanditState, "rewards", lambda self: learnt.append(self) or rewards(self))
    assert one.change_arms(add=["purple", "mauve"], retire=["red"]) == 3
    play(one, 5)
    play(two, 5)
    play(one, 5)
    assert learnt == []  # nobody replayed the log within a call: one had learnt before, two took its snapshot
    assert two.arms == {"red": False, "green": True, "blue": True, "purple": True, "mauve": True}
    monkeypatch.undo()
    assert one.verify() == two.verify()
    assert one._state.difference(two._state) is None


def test_a_policy_is_learnt_before_it_is_used(url, monkeypatch):
    one, two = (Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS) for _ in range(2))
    play(one, 30)
    two.decide()
    learnt, rewards = [], BanditState.rewards
    monkeypatch.setattr(BanditState, "rewards", lambda self: learnt.append(self) or rewards(self))
    one.change(policy=FEWA(sigma=0.2))
    play(one, 5)
    play(two, 5)
    assert learnt == []
    monkeypatch.undo()
    assert one.verify() == two.verify()


def test_rewards_that_come_while_an_arm_is_learnt(url, monkeypatch):
    """They are learnt, too: by the agent that goes on, and by the one that is prepared."""
    one, two = (Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS) for _ in range(2))
    play(one, 20)
    expect = event_log.EventLog.expect

    def meanwhile(log, plan, deadline):
        expect(log, plan, deadline)
        play(two, 7)

    monkeypatch.setattr(event_log.EventLog, "expect", meanwhile)
    one.add_arm("purple")
    assert one.decide().why == "never tried"
    assert one.verify().rewards == two.verify().rewards == 27


def test_two_processes_add_arms_at_once(url, monkeypatch):
    """What was learnt for other arms is of no use, and no harm."""
    one, two = (Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS) for _ in range(2))
    play(one, 20)
    expect = event_log.EventLog.expect

    def meanwhile(log, plan, deadline):
        expect(log, plan, deadline)
        if log is one._log:
            two.add_arm("mauve")

    monkeypatch.setattr(event_log.EventLog, "expect", meanwhile)
    one.add_arm("purple")
    play(one, 5)
    play(two, 5)
    assert list(one.arms) == [*COLOURS, "mauve", "purple"]
    assert one.verify() == two.verify()


def keeps_others_waiting(log):
    """Say whether another writer would have to wait for the log."""
    with contextlib.closing(log.store.another()) as other, other.lock:
        try:
            with other.writing(Deadline(5.0)):
                other.look_up({log.bandit_id: Question()}, lock=True, patience=0.0)
        except Contention:
            return True
    return False


def test_a_new_estimate_of_the_noise_is_learnt_outside_the_lock_and_only_once(url, monkeypatch):
    one, two = (Bandit.open(url, "hero", EffFEWA(sigma=3.0), COLOURS, sigma="auto") for _ in range(2))
    rewards, where = BanditState.rewards, []

    def noted(self):
        where.append(keeps_others_waiting(bandit._log))
        return rewards(self)

    monkeypatch.setattr(BanditState, "rewards", noted)
    for place in range(70):
        bandit = (one, two)[place % 2]
        bandit.reward(bandit.decide().id, float(place % 5))
    assert where == [False, False]  # after 32 and after 64 rewards, by whoever wrote the last of them
    monkeypatch.undo()
    assert one.policy.sigma == two.policy.sigma != 3.0
    assert one.verify() == two.verify()


def test_what_a_process_that_died_should_have_learnt_is_learnt(url, monkeypatch):
    one, two = (Bandit.open(url, "hero", EffFEWA(sigma=3.0), COLOURS, sigma="auto") for _ in range(2))
    monkeypatch.setattr(one._log, "after_append", lambda: None)
    play(one, 32)
    assert two.decide().arm in COLOURS
    assert two.policy.sigma == one.policy.sigma != 3.0
    assert one.verify() == two.verify()


def test_kernels_are_ready_before_the_first_transaction(url, monkeypatch):
    Bandit.open(url, "hero", EffFEWA(sigma=0.4321), COLOURS).close()
    bandit, order = Bandit.open(url, "hero"), []
    kind = type(bandit._log.store)
    warm_up, append = event_log.warm_up, kind.append
    monkeypatch.setattr(event_log, "warm_up", lambda policy: order.append("warm up") or warm_up(policy))
    monkeypatch.setattr(kind, "append", lambda *given: order.append("append") or append(*given))
    bandit.decide()
    assert order[:2] == ["warm up", "append"]
