"""Settings that change while the bandit runs: events of the log like any other."""

import math

import pytest
from sqlalchemy import update

from bandit import tables as schema
from rotting import FEWA, UCB1, Bandit, EffFEWA, GaussianThompson
from rotting.bandit import BadSettings, DamagedLog, RewardOutOfRange, SettingsConflict, UnknownArm, VerificationFailed

COLOURS = ["red", "green", "blue"]
WORTH = {"red": 0.9, "green": 0.5, "blue": 0.1, "purple": 0.7}
HALF = EffFEWA(sigma=0.5)


def play(bandit, rounds):
    for place in range(rounds):
        choice = bandit.decide()
        bandit.reward(choice.id, WORTH[choice.arm] + 0.05 * math.sin(7 * place))


def test_everything_that_may_change_changes_and_verifies(url):
    changes = [
        {"epsilon": 0.3},
        {"reward_wait": 1000.0, "default_reward": 0.0},
        {"reward_range": (-1.0, 2.0)},
        {"policy": FEWA(sigma=0.1)},
        {"sigma": 0.2},
        {"sigma": "auto"},
        {"policy": EffFEWA(sigma=0.4)},
        {"sigma": None},
        {"policy": GaussianThompson(sigma=0.3), "epsilon": 0.0},
        {"policy": UCB1(sigma=0.3)},
        {"default_reward": None, "reward_wait": None, "reward_range": None},
    ]
    with Bandit.open(url, "hero", HALF, COLOURS) as bandit:
        for change in changes:
            play(bandit, 40)
            assert bandit.change(**change)
            assert bandit.change(**change) == []  # it is so already: no event
        play(bandit, 5)
        kinds = bandit.history()["kind"].tolist()
        assert kinds.count("changed") == len(changes)
        assert bandit.verify().decisions == 40 * len(changes) + 5
        bandit.snapshot()
    with Bandit.open(url, "hero") as again:
        assert again._log.snapshots.seq > 0
        assert again.settings.policy == UCB1(sigma=0.3) == again.policy
        assert again.settings.epsilon == 0.0
        again.verify()


def test_a_new_policy_has_learnt_all_that_there_was(url):
    """The same rewards, and the policy from the start or from the middle: the same state."""
    with Bandit.open(url, "hero", UCB1(sigma=0.5), COLOURS) as bandit:
        play(bandit, 50)
        bandit.change(policy=FEWA(sigma=0.2))
        arms, rewards = bandit._state.rewards()
        agent = FEWA(sigma=0.2).start(3)
        agent.update_many(arms.tolist(), rewards.tolist())
        assert bandit._state.agent.same_as(agent)


def test_an_estimate_outlives_a_change_of_policy(sqlite):
    with Bandit.open(sqlite, "hero", HALF, COLOURS, sigma="auto") as bandit:
        play(bandit, 40)
        estimate = bandit.policy.sigma
        assert estimate != 0.5
        bandit.change(policy=FEWA(sigma=0.7))
        assert bandit.policy == FEWA(sigma=estimate)
        bandit.change(sigma=None)
        assert bandit.policy == FEWA(sigma=0.7)


def test_other_processes_follow(url):
    with Bandit.open(url, "hero", HALF, COLOURS) as one, Bandit.open(url, "hero") as other:
        one.change(epsilon=1.0)
        assert other.decide().why == "explored: epsilon=1"
        other.change(epsilon=0.0)
        assert one.decide().probability == 1.0
        one.verify(), other.verify()


def test_rewards_out_of_range_are_refused(url):
    with Bandit.open(url, "hero", HALF, COLOURS, reward_range=(0, 1)) as bandit:
        first, second = bandit.decide(2)
        with pytest.raises(RewardOutOfRange, match=r"reward=1\.5 is out of range; expected 0\.0 to 1\.0"):
            bandit.reward_many({first.id: 1.0, second.id: 1.5})
        assert bandit.reward(first.id, 1.0)  # all or none: it was not written
        bandit.change(reward_range=(0, 2))
        assert bandit.reward(second.id, 1.5)
        bandit.change(reward_range=(0, 1))
        assert bandit.reward(second.id, 1.5) is False  # a retry of what was right then
        assert bandit.verify().rewards == 2


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"seed": 3}, BadSettings, "'seed' is never changed"),
        ({"count": "shown"}, BadSettings, "'count' is never changed"),
        ({"temperature": 3}, BadSettings, "'temperature' is unknown; expected one of policy"),
        ({"epsilon": 2}, BadSettings, "epsilon=2 is out of range"),
        ({"default_reward": 0.0}, BadSettings, "never used without reward_wait="),
        ({"policy": "FEWA"}, BadSettings, "not a policy"),
        ({"sigma": -1.0}, ValueError, "sigma=-1.0"),
        ({"sigma": "often"}, BadSettings, "sigma='often'"),
        ({"policy": UCB1(sigma=0.5), "sigma": math.nan}, ValueError, "sigma=nan"),
        ({"reward_range": (1, 0)}, BadSettings, "is not a range"),
        ({"reward_range": 3}, BadSettings, "is not a range"),
        ({"control": "red"}, BadSettings, "never used without holdout="),
        ({"holdout": 0.1, "control": "mauve"}, UnknownArm, "'mauve', which its settings name"),
        ({"min_exposures": {"mauve": 3}}, UnknownArm, "'mauve', which its settings name"),
        ({"max_exposures": -1}, BadSettings, "max_exposures=-1 is out of range"),
        ({"exposure_period": 60.0}, BadSettings, "never used without min_exposures= or max_exposures="),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(sqlite, change, error, words):
    with Bandit.open(sqlite, "hero", HALF, COLOURS) as bandit:
        before = bandit.settings
        with pytest.raises(error, match=words):
            bandit.change(**change)
        assert bandit.settings == before
        assert bandit.verify().events == 3


def test_opening_says_what_differs_and_how_to_change_it(sqlite):
    with Bandit.open(sqlite, "hero", HALF, COLOURS) as bandit:
        bandit.change(epsilon=0.1)
    Bandit.open(sqlite, "hero", epsilon=0.1).close()  # what it has now, not what it was made with
    with pytest.raises(SettingsConflict, match=r"epsilon=0\.2 differs from 0\.1, .* so do holdout=.*bandit\.change\("):
        Bandit.open(sqlite, "hero", HALF, epsilon=0.2, holdout=0.5)
    with pytest.raises(SettingsConflict, match=r"seed=3 differs from 0, .*make a bandit of another name"):
        Bandit.open(sqlite, "hero", HALF, seed=3)


def test_arms_of_the_configuration_are_added(url):
    with Bandit.open(url, "hero", HALF, COLOURS) as bandit:
        play(bandit, 10)
    with pytest.raises(UnknownArm, match="purple"):
        Bandit.open(url, "hero", HALF, [*COLOURS, "purple"])
    for _ in range(2):  # the second time there is nothing to add
        with Bandit.open(url, "hero", HALF, ["purple", "red"], update_arms=True) as bandit:
            assert list(bandit.arms) == [*COLOURS, "purple"]
            play(bandit, 5)
            bandit.verify()


EVENTS = schema.events.c


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"details": '{"epsilon": 0.2}'}, VerificationFailed),
        ({"details": '{"epsilon": 7.0}'}, DamagedLog),
        ({"details": '{"control": "mauve", "holdout": 0.5}'}, UnknownArm),
        ({"details": "[]"}, DamagedLog),
        ({"details": None}, DamagedLog),
        ({"arm": 0}, DamagedLog),
    ],
)
def test_a_change_that_was_tampered_with_is_found(url, values, error, tamper):
    with Bandit.open(url, "hero", HALF, COLOURS) as bandit:
        bandit.change(epsilon=0.5)
        play(bandit, 30)
        tamper(url, update(schema.events).where(EVENTS.kind == "changed").values(**values))
        with pytest.raises(error):
            bandit.verify()


def test_arguments_out_of_range_are_errors_of_the_bandit(sqlite):
    with Bandit.open(sqlite, "hero", EffFEWA(sigma=0.3), ["red", "green"]) as bandit:
        with pytest.raises(BadSettings, match="sigma"):
            bandit.change(sigma=-1)
        with pytest.raises(BadSettings, match="size"):
            bandit.history_portions(size=0)
