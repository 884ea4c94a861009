"""The time of events, measurements of transactions, and bandits that are not copied."""

import copy
import logging
import pickle

import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit import BanditError, CannotCopy, Decide, Reward, StorageError

COLOURS = ["red", "green", "blue"]
HALF = EffFEWA(sigma=0.5)


def test_a_clock_that_was_ahead_heals(url, clock):
    """Waits end as if nothing had happened, for processes that saw the jump and for new ones."""
    one = Bandit.open(url, "hero", HALF, COLOURS, reward_wait=60, default_reward=0.0)
    one.decide()
    clock.now += 10 * 365 * 86_400
    one.decide()
    clock.now -= 10 * 365 * 86_400
    for bandit in (one, Bandit.open(url, "hero")):
        bandit.expire()
        bandit.decide(2)
        clock.now += 30
        assert bandit.expire() == 0
        clock.now += 40  # 70 seconds by the clock are 63 in the log
        assert bandit.expire() >= 2
    one.verify()


def test_the_log_and_the_clock_meet_again(url, clock):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    clock.now += 3600
    bandit.decide()
    clock.now -= 3600
    for _ in range(12):
        clock.now += 3600
        bandit.decide()
    assert bandit._state.at == clock.now


@pytest.mark.parametrize("now", [9.1e9, -5.0])
def test_what_could_not_be_read_is_not_written(url, clock, now):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    choice = bandit.decide()
    clock.now = now
    if now > 0:
        with pytest.raises(StorageError, match=r"the clock says 9100000000 .*\(2258\).*set the clock"):
            bandit.reward(choice.id, 1.0)
    with pytest.raises(StorageError, match="set the clock"):
        Bandit.open(url, "another", HALF, COLOURS)
    clock.now = 1_000_001.0
    assert Bandit.open(url, "hero").reward(choice.id, 1.0) is True


def test_postgresql_has_a_clock_of_its_own(postgres, monkeypatch):
    import time

    now = time.time()
    monkeypatch.setattr(time, "time", lambda: 5.0)
    bandit = Bandit.open(postgres, "hero", HALF, COLOURS)
    bandit.decide()
    assert abs(bandit._state.at - now) < 60


def test_every_transaction_is_measured(url, caplog):
    bandit = Bandit.open(url, "hero", HALF, COLOURS, reward_wait=0.0, default_reward=0.0)
    seen = []
    bandit.observe(seen.append)
    bandit.observe(lambda _: 1 / 0)
    with caplog.at_level(logging.CRITICAL, "rotting.bandit"):
        choice = bandit.decide()
        Bandit.open(url, "hero").decide()
        bandit.exchange([Decide(2), Reward("nonsense", 1.0), Reward(choice.id, 0.0)])
    first, second = seen
    assert (first.bandit, first.requests, first.calls, first.events, first.error) == ("hero", 1, 1, 1, None)
    assert 0.0 <= first.lock_wait <= first.seconds
    assert (second.requests, second.refused, second.calls, second.expired) == (3, 1, 1, 1)
    assert second.caught_up == 2  # the other's decision, and what it settled
    assert second.pending == 2
    bandit.close()
    with pytest.raises(BanditError):
        bandit.decide()
    assert seen[-1].error == "ClosedBandit"


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_bandit_is_not_copied(sqlite, how):
    with Bandit.open(sqlite, "hero", HALF, COLOURS) as bandit:
        with pytest.raises(CannotCopy, match="open it again where it is needed") as raised:
            how(bandit)
        assert isinstance(raised.value, TypeError)


def test_many_overdue_decisions_are_settled_in_portions(url, clock):
    bandit = Bandit.open(url, "hero", HALF, COLOURS, reward_wait=60, default_reward=0.0)
    bandit.decide(1300)
    clock.now += 61
    seen = []
    bandit.observe(seen.append)
    bandit.decide()
    assert seen[0].expired == 500
    assert bandit.expire() == 800
    assert bandit.verify().rewards == 1300
