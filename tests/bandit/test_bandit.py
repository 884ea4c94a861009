"""What a bandit does, on both kinds of database."""

import math

import numpy as np
import pytest

from rotting import FEWA, RAWUCB, UCB1, Bandit, EffFEWA, GaussianThompson
from rotting.bandit import RewardConflict, SettingsConflict, UnknownArm, UnknownDecision

COLOURS = ["red", "green", "blue"]
HALF = EffFEWA(sigma=0.5)


def reward_of(arm: str, n: int) -> float:
    """Return a reward without randomness that wears out and looks noisy."""
    start = {"red": 0.9, "green": 0.6, "blue": 0.5}.get(arm, 0.7)
    return start * 0.99**n + 0.3 * math.sin(12.9898 * n + len(arm))


def play(bandit, rounds, **options):
    """Decide and reward at once; returns the arms chosen."""
    shown: dict[str, int] = {}
    arms = []
    for _ in range(rounds):
        choice = bandit.decide(**options)
        n = shown[choice.arm] = shown.get(choice.arm, 0) + 1
        bandit.reward(choice.id, reward_of(choice.arm, n))
        arms.append(choice.arm)
    return arms


@pytest.mark.parametrize("policy", [HALF, FEWA(sigma=0.1), RAWUCB(sigma=0.1), UCB1(sigma=0.1)], ids=str)
def test_with_rewards_at_once_it_is_the_policy_itself(url, policy):
    bandit = Bandit.open(url, "hero", policy, COLOURS)
    arms = play(bandit, 120)

    agent = policy.start(3)
    for arm in arms:
        expected = agent.select()
        assert arm == COLOURS[expected]
        agent.update(expected, reward_of(arm, int(agent.pulls[expected]) + 1))
    assert len(set(arms)) == 3
    bandit.verify()


# Rewards.


def test_decisions_in_flight_spread(url):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    first = bandit.decide(6)
    assert [choice.arm for choice in first] == COLOURS * 2  # nothing is known yet
    bandit.reward_many([(choice.id, 0.5) for choice in first])
    assert [bandit.decide().arm for _ in range(6)] == COLOURS * 2
    assert [choice.arm for choice in bandit.decide(6)] == COLOURS * 2
    bandit.verify()


def test_an_arm_whose_first_reward_is_awaited_does_not_stop_the_others(url):
    bandit = Bandit.open(url, "hero", FEWA(sigma=0.01), COLOURS)
    red, green, _ = bandit.decide(3)
    bandit.reward_many([(red.id, 1.0), (green.id, 0.0)])
    # Green is dropped; blue is not known to be worse, and has been shown as often as red.
    assert [choice.arm for choice in bandit.decide(4)] == ["red", "blue"] * 2
    bandit.verify()


def test_the_same_reward_again_is_nothing_and_another_is_a_conflict(url):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    choice = bandit.decide()
    assert bandit.reward(choice.id, 1) is True
    assert bandit.reward(choice.id, 1.0) is False
    with pytest.raises(RewardConflict, match=r"already has the reward 1\.0, so it cannot have 0\.0"):
        bandit.reward(choice.id, 0)
    assert bandit.history()["kind"].tolist() == ["added"] * 3 + ["decided", "rewarded"]


def test_many_rewards_come_in_together_or_not_at_all(url):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    one, two, three = bandit.decide(3)
    for bad, error in [((two.id, 0.5), RewardConflict), (("nonsense", 1.0), UnknownDecision)]:
        with pytest.raises(error):
            bandit.reward_many([(one.id, 1.0), (two.id, 1.0), bad])
    assert "rewarded" not in set(bandit.history()["kind"])
    assert bandit.reward_many({one.id: 1.0, two.id: 0.0}) == 2
    assert bandit.reward_many([(one.id, 1.0), (three.id, 0.5), (three.id, 0.5)]) == 1
    assert bandit.reward_many([]) == 0


def test_identifiers_of_other_bandits_and_made_up_ones_are_unknown(url):
    bandit, other = (Bandit.open(url, name, HALF, COLOURS) for name in ("hero", "footer"))
    mine, theirs = bandit.decide(), other.decide()
    assert mine.id != theirs.id
    token, seq, seal = mine.id.split("-")
    for wrong in (
        theirs.id,
        f"{token}-{int(seq) + 1}-{seal}",
        f"{token}-1-{seal}",
        f"{token}-{seq}-",
        "",
        7,
        None,
        "x" * 999,
    ):
        with pytest.raises(UnknownDecision):
            bandit.reward(wrong, 1.0)
        with pytest.raises(UnknownDecision):
            bandit.shown(wrong)
    # The seal of an event that is no decision.
    with pytest.raises(UnknownDecision):
        bandit.reward(bandit._log.identifiers.make(1, bandit._state.at), 1.0)
    assert len(bandit.history()) == 4


def test_late_rewards_enter_in_the_order_they_arrive(url):
    bandit = Bandit.open(url, "hero", FEWA(sigma=0.2), COLOURS)
    random = np.random.default_rng(1)
    agent, waiting = FEWA(sigma=0.2).start(3), []
    for _ in range(60):
        waiting += bandit.decide(2)
        while len(waiting) > 5:
            choice = waiting.pop(random.integers(len(waiting)))
            value = float(random.normal())
            bandit.reward(choice.id, value)
            agent.update(COLOURS.index(choice.arm), value)
    assert bandit._state.agent.same_as(agent)
    bandit.verify()


# Missing rewards.


def test_overdue_decisions_get_the_default_reward(url, clock):
    bandit = Bandit.open(url, "hero", HALF, COLOURS, reward_wait=60, default_reward=0.0)
    first, second = bandit.decide(), bandit.decide()
    clock.now += 59
    assert bandit.expire() == 0
    third = bandit.decide()
    clock.now += 1
    assert bandit.expire() == 2
    assert bandit.expire() == 0
    assert bandit.reward(first.id, 0.0) is False  # that is what it has by now
    with pytest.raises(RewardConflict, match=r"overdue and got the default reward 0\.0"):
        bandit.reward(second.id, 1.0)
    assert bandit.reward(third.id, 1.0) is True
    assert bandit.history()["reward"].dropna().tolist() == [0.0, 0.0, 1.0]
    bandit.verify()


def test_deciding_settles_what_is_overdue(url, clock):
    bandit = Bandit.open(url, "hero", HALF, COLOURS, reward_wait=60, default_reward=0.0)
    bandit.decide(3)
    clock.now += 61
    choice = bandit.decide()
    assert bandit.history()["kind"].tolist() == ["added"] * 3 + ["decided"] * 3 + ["expired"] * 3 + ["decided"]
    assert choice.arm == "red"
    bandit.verify()


def test_without_default_reward_overdue_decisions_are_dropped_and_late_rewards_accepted(url, clock):
    bandit = Bandit.open(url, "hero", HALF, COLOURS, reward_wait=60)
    first = bandit.decide()
    clock.now += 61
    assert bandit.decide().arm == "red"  # as if red had never been shown
    assert bandit.reward(first.id, 1.0) is True
    assert bandit.reward(first.id, 1.0) is False
    bandit.verify()


def test_exposures_may_count_when_shown(url, clock):
    bandit = Bandit.open(url, "hero", HALF, COLOURS, count="shown", reward_wait=60, default_reward=0.0)
    choices = bandit.decide(3)
    assert {choice.arm for choice in choices} == {"red"}  # nothing has been shown
    clock.now += 30
    assert bandit.shown(choices[0].id) is True
    assert bandit.shown(choices[0].id) is False
    assert bandit.decide().arm == "green"
    clock.now += 31
    bandit.expire()
    # The wait for the first one began when it was shown; the two others never were, so they have no reward.
    assert bandit.history()["reward"].dropna().tolist() == []
    clock.now += 30
    bandit.expire()
    assert bandit.history()["reward"].dropna().tolist() == [0.0]
    report = {arm.arm: (arm.shows, arm.pending, arm.rewards) for arm in bandit.report().arms}
    assert report == {"red": (1, 0, 1), "green": (0, 0, 0), "blue": (0, 0, 0)}
    bandit.verify()


def test_what_has_a_reward_was_shown(url, clock):
    bandit = Bandit.open(url, "hero", HALF, COLOURS[:1], count="shown", reward_wait=60)
    first, second, third, _ = bandit.decide(4)
    bandit.reward(first.id, 1.0)  # nobody said that it was shown
    bandit.shown(first.id)
    bandit.shown(second.id)
    clock.now += 61
    bandit.expire()
    bandit.reward(third.id, 1.0)
    (report,) = bandit.report().arms
    assert (report.shows, report.pending, report.rewards) == (3, 0, 2)
    bandit.verify()


def test_a_clock_that_runs_backwards_does_not_disturb_the_log(url, clock):
    bandit = Bandit.open(url, "hero", HALF, COLOURS, reward_wait=60)
    bandit.decide()
    clock.now -= 500
    bandit.decide()
    assert bandit.history()["at"].is_monotonic_increasing
    bandit.verify()


# Arms.


def test_arms_come_and_go(url):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    play(bandit, 20)
    bandit.add_arm("purple")
    assert bandit.decide().why == "never tried"
    assert bandit.retire_arm("red") is True
    assert bandit.retire_arm("red") is False
    assert "red" not in play(bandit, 20)
    assert bandit.arms == {"red": False, "green": True, "blue": True, "purple": True}
    assert bandit.restore_arm("red") is True
    assert bandit.restore_arm("red") is False
    assert "red" in play(bandit, 20)
    bandit.verify()


def test_rewards_of_a_retired_arm_still_count(url):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    choice = bandit.decide()
    bandit.retire_arm(choice.arm)
    assert bandit.reward(choice.id, 1.0) is True
    assert bandit.report().arms[0].rewards == 1


@pytest.mark.parametrize("policy", [HALF, FEWA(sigma=0.2), RAWUCB(sigma=0.2), GaussianThompson(sigma=0.2)], ids=str)
def test_an_added_arm_is_one_that_was_always_there(url, policy):
    bandit = Bandit.open(url, "hero", policy, COLOURS[:2])
    arms = play(bandit, 40)
    bandit.add_arm("blue")
    agent, seen = policy.start(3), dict.fromkeys(COLOURS, 0)
    for arm in arms:
        seen[arm] += 1
        agent.update(COLOURS.index(arm), reward_of(arm, seen[arm]))
    assert bandit._state.agent.same_as(agent)
    bandit.verify()


def test_a_choice_among_some_arms(url):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    assert set(play(bandit, 12, among=["blue", "green"])) == {"green", "blue"}
    assert bandit.decide().arm == "red"
    assert bandit.decide(among=["blue"]).arm == "blue"
    assert bandit.history()["among"].iloc[-1] == ["blue"]
    bandit.verify()


# The floor.


def test_the_floor_logs_true_probabilities(url):
    bandit = Bandit.open(url, "hero", HALF, COLOURS, epsilon=0.3, seed=5)
    choices = bandit.decide(3000)
    explored = [choice for choice in choices if choice.why.startswith("explored")]
    # Binomial: outside four standard deviations with a probability of 6e-5.
    assert abs(len(explored) - 900) < 4 * math.sqrt(3000 * 0.3 * 0.7)
    counts = [sum(choice.arm == arm for choice in explored) for arm in COLOURS]
    assert all(abs(count - len(explored) / 3) < 4 * math.sqrt(len(explored) * 2 / 9) for count in counts)
    greedy, other = 0.7 + 0.3 / 3, 0.3 / 3
    assert sorted({choice.probability for choice in choices}) == pytest.approx([other, greedy])
    assert all(choice.probability == pytest.approx(greedy) for choice in choices if choice not in explored)
    # Weights 1 / probability of one arm's decisions add up to the number of decisions:
    # off-policy estimates are unbiased.
    for arm in COLOURS:
        weights = [(choice.arm == arm) / choice.probability for choice in choices]
        assert abs(np.mean(weights) - 1) < 4 * np.std(weights) / math.sqrt(3000)
    bandit.verify()


def test_without_floor_probabilities_are_one_and_those_of_randomised_policies_unknown(url):
    assert Bandit.open(url, "hero", HALF, COLOURS).decide().probability == 1.0
    assert Bandit.open(url, "randomised", GaussianThompson(), COLOURS, epsilon=0.1).decide().probability is None


def test_a_randomised_policy_draws_anew_for_each_decision_of_a_batch(url):
    bandit = Bandit.open(url, "hero", GaussianThompson(sigma=1.0), COLOURS, seed=3)
    bandit.reward_many([(choice.id, 0.0) for choice in bandit.decide(3)])
    assert {choice.arm for choice in bandit.decide(40)} == set(COLOURS)
    bandit.verify()


# Noise.


def test_sigma_is_estimated_and_reported(url):
    bandit = Bandit.open(url, "hero", EffFEWA(sigma=3.0), COLOURS, sigma="auto")
    random = np.random.default_rng(2)
    while len(bandit.history()) < 3 + 2 * 300:
        choices = bandit.decide(10)
        bandit.reward_many([(choice.id, float(random.normal(5.0, 0.2))) for choice in choices])
        if len(bandit.history()) < 3 + 2 * 32:
            assert bandit.policy.sigma == 3.0
    # 256 rewards: the estimate's own deviation is about sigma sqrt(3 / 4 / 256) = 0.011.
    assert bandit.policy.sigma == pytest.approx(0.2, abs=4 * 0.011)
    assert bandit.report().estimated_sigma == bandit.policy.sigma
    bandit.verify()
    bandit.snapshot()
    assert Bandit.open(url, "hero").policy == bandit.policy


# Opening.


def test_a_bandit_is_found_again_with_its_settings(url):
    first = Bandit.open(url, "hero", HALF, COLOURS, epsilon=0.1, reward_wait=5, seed=9)
    play(first, 10)
    again = Bandit.open(url, "hero")
    assert again.settings == first.settings
    assert again._state.difference(first._state) is None
    Bandit.open(url, "hero", HALF, ["blue"], epsilon=0.1)  # saying it again is fine
    with pytest.raises(SettingsConflict, match=r"^epsilon=0\.2 differs from 0\.1, .*; leave epsilon= out"):
        Bandit.open(url, "hero", epsilon=0.2)
    with pytest.raises(SettingsConflict, match="policy"):
        Bandit.open(url, "hero", FEWA())
    with pytest.raises(UnknownArm, match="'hero' has no arm 'blu'; did you mean 'blue'"):
        Bandit.open(url, "hero", arms=["blu"])


def test_two_open_bandits_see_each_other(url):
    one, two = (Bandit.open(url, "hero", HALF, COLOURS) for _ in range(2))
    choice = one.decide()
    two.add_arm("purple")
    assert two.reward(choice.id, 1.0) is True
    assert one.reward(choice.id, 1.0) is False
    assert one.decide().arm == "green"
    assert two.arms == one.arms
    assert one.verify() == two.verify()


def test_a_refused_decision_settles_nothing(url):
    bandit = Bandit.open(url, "hero", EffFEWA(sigma=0.5), ["red", "green"], reward_wait=0.0, default_reward=0.0)
    bandit.decide(3)
    before = len(bandit.history())
    with pytest.raises(UnknownArm):
        bandit.decide(among=["nope"])
    assert len(bandit.history()) == before
