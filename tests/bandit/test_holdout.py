"""A share of decisions that the policy does not take, and limits to what it may choose."""

import math
from collections import Counter

import numpy as np
import pytest
from sqlalchemy import update

from bandit import tables as schema
from rotting import FEWA, UCB1, Bandit, EffFEWA
from rotting.bandit import DamagedLog, NoArms, VerificationFailed
from rotting.bandit.core.holdout import HOLDOUT, POLICY, HoldoutTally, holdout_report

COLOURS = ["red", "green", "blue"]
WORTH = {"red": 0.9, "green": 0.5, "blue": 0.1}
EVENTS = schema.events.c


def play(bandit, rounds):
    for _ in range(rounds // 50):
        choices = bandit.decide(50)
        bandit.reward_many([(choice.id, WORTH[choice.arm]) for choice in choices])
    return bandit.history()


def literal_lift(log):
    """Return the means of the two groups, from the log alone."""
    held = {row.decision: row.holdout for row in log.itertuples() if row.kind == "decided"}
    groups = {True: [], False: []}
    for row in log.itertuples():
        if row.kind == "rewarded":
            groups[held[row.decision]].append(row.reward)
    return np.mean(groups[False]), np.mean(groups[True])


def test_a_holdout_is_shown_uniformly_and_its_lift_reported(url):
    with Bandit.open(url, "hero", FEWA(sigma=0.1), COLOURS, holdout=0.2) as bandit:
        log = play(bandit, 1000)
        decided = log[log["kind"] == "decided"]
        held = decided[decided["holdout"].astype(bool)]
        assert 150 < len(held) < 250
        assert all(40 < count < 95 for count in Counter(held["arm"]).values())
        report = bandit.report().holdout
        policy, holdout = literal_lift(log)
        assert report.means == pytest.approx((policy, holdout), rel=1e-12)
        assert report.lift == pytest.approx(policy - holdout)
        assert report.low < report.lift < report.high
        assert report.low > 0.1  # the policy shows red, which is worth 0.9, and the holdout all three
        assert report.decisions == (len(decided) - len(held), len(held)) == report.rewards
        # The probability is that of the arm, whoever shows it: the policy's choice (80 %) or a third of the holdout.
        assert set(decided["probability"]) == {0.2 / 3 + 0.8, 0.2 / 3 + (1.0 - 0.2) * 0.0}
        bandit.snapshot()
        bandit.verify()
    with Bandit.open(url, "hero") as again:
        assert again.report().holdout == report


def test_a_holdout_may_show_one_arm(url):
    with Bandit.open(url, "hero", FEWA(sigma=0.1), COLOURS, holdout=0.1, control="blue", epsilon=0.3) as bandit:
        log = play(bandit, 500)
        decided = log[log["kind"] == "decided"]
        assert set(decided[decided["holdout"].astype(bool)]["arm"]) == {"blue"}
        known = {0.9 * (0.1 + 0.7 * own) + 0.1 * control for own in (0, 1) for control in (0, 1)}
        assert all(min(abs(value - each) for each in known) < 1e-12 for value in set(decided["probability"]))
        choices = bandit.decide(50, among=["red", "green"])  # without the control arm, there is no holdout
        assert bandit.history()["holdout"].tail(50).isna().all()
        assert sum(bandit.report().holdout.decisions) == 500
        assert {choice.probability for choice in choices} <= {0.85, 0.15}
        bandit.verify()


def test_another_holdout_is_another_comparison(sqlite):
    with Bandit.open(sqlite, "hero", FEWA(sigma=0.1), COLOURS, holdout=0.5) as bandit:
        play(bandit, 100)
        late = bandit.decide(20)
        bandit.change(holdout=0.2)
        since = len(bandit.history())
        bandit.reward_many([(choice.id, 5.0) for choice in late])  # decided before: not of this comparison
        assert bandit.report().holdout.rewards == (0, 0)
        play(bandit, 200)
        report = bandit.report().holdout
        assert (report.since, sum(report.decisions), sum(report.rewards)) == (since, 200, 200)
        assert max(report.means) <= 0.9 + 1e-9
        bandit.change(holdout=0.0)
        assert bandit.report().holdout is None
        bandit.verify()


def test_late_and_default_rewards_belong_to_their_group(sqlite, monkeypatch):

    now = [1000.0]
    schema.set_clock(monkeypatch, lambda: now[0])
    with Bandit.open(sqlite, "hero", EffFEWA(), COLOURS, holdout=0.5, reward_wait=10.0) as bandit:
        first = bandit.decide(40)
        now[0] += 100.0
        assert bandit.expire() == 40  # without a reward
        bandit.reward_many([(choice.id, 1.0) for choice in first])
        bandit.change(default_reward=0.0)
        bandit.decide(40)
        now[0] += 100.0
        bandit.expire()
        report = bandit.report().holdout
        assert report.rewards == report.decisions
        rows = bandit.history().iloc[3:]
        for group, mean in enumerate(report.means):
            mine = rows[(rows["holdout"] == bool(group)) & rows["reward"].notna()]
            assert mine["reward"].mean() == pytest.approx(mean)
            assert len(mine) == report.rewards[group]
        bandit.verify()


@pytest.mark.parametrize("kind", ["decided", "rewarded"])
def test_whoever_moves_a_decision_to_the_other_group_is_found_out(url, kind, tamper):
    with Bandit.open(url, "hero", EffFEWA(), COLOURS, holdout=0.3) as bandit:
        play(bandit, 50)
        held = update(schema.events).where(EVENTS.kind == kind, EVENTS.holdout == 1)
        tamper(url, held.values(holdout=0))
        with pytest.raises((VerificationFailed, DamagedLog), match="holdout"):
            bandit.verify()


@pytest.mark.parametrize(("policy", "holdout"), [(0.02, 0.02), (0.03, 0.01), (0.6, 0.4)])
def test_the_interval_covers(policy, holdout):
    """Of 400 experiments with 4000 and 200 clicks or not, about 95 % must cover the truth; 380 -+ 4.4 is one sigma."""
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(400):
        tally = HoldoutTally()
        for group, rate, number in ((POLICY, policy, 4000), (HOLDOUT, holdout, 200)):
            rewards = random.random(number) < rate
            moments = tally.rewards[group]
            moments.number, moments.mean = number, rewards.mean()
            moments.squares = rewards.var() * number
        report = holdout_report(0.05, None, tally)
        covered += report.low <= policy - holdout <= report.high
    assert covered >= 365


def test_few_rewards_give_no_interval():
    tally = HoldoutTally()
    for _ in range(29):
        tally.rewarded(1, 0, 1.0), tally.rewarded(1, 1, 0.0)
    assert holdout_report(0.5, None, tally).low is None
    assert holdout_report(0.5, None, tally).lift == 1.0
    assert holdout_report(0.5, None, HoldoutTally()).lift is None


# Limits.


def test_no_arm_is_chosen_beyond_its_cap(url):
    with Bandit.open(url, "hero", UCB1(), COLOURS, max_exposures={"red": 20, "green": 40}, epsilon=0.2) as bandit:
        log = play(bandit, 300)
        shows = Counter(log[log["kind"] == "decided"]["arm"])
        assert shows["red"] == 20
        assert shows["green"] <= 40
        bandit.change(max_exposures=300)
        with pytest.raises(NoArms, match="reached its cap"):
            bandit.decide(1000)  # all or none
        assert len(bandit.decide(600)) == 600
        with pytest.raises(NoArms, match="reached its cap"):
            bandit.decide()
        assert set(Counter(bandit.history().query("kind == 'decided'")["arm"]).values()) == {300}
        bandit.verify()


def test_caps_hold_across_the_requests_of_one_transaction(url):
    from rotting.bandit import Decide

    with Bandit.open(url, "hero", UCB1(), COLOURS, max_exposures=2) as bandit:
        outcomes = bandit.exchange([Decide(), Decide(n=4), Decide(n=2), Decide()])
        assert isinstance(outcomes[2], NoArms)  # and what it had counted is given back
        arms = [outcomes[0].arm, *(choice.arm for choice in outcomes[1]), outcomes[3].arm]
        assert Counter(arms) == dict.fromkeys(COLOURS, 2)
        bandit.verify()


def test_every_arm_has_its_minimum(url):
    with Bandit.open(url, "hero", FEWA(sigma=0.01), COLOURS, min_exposures=30) as bandit:
        log = play(bandit, 300)
        shows = Counter(log[log["kind"] == "decided"]["arm"])
        assert min(shows.values()) == 30
        bandit.add_arm("purple")
        assert {choice.arm for choice in bandit.decide(30)} == {"purple"}
        assert "purple" not in {choice.arm for choice in bandit.decide(1, among=["red"])}
        bandit.verify()


def test_limits_may_be_those_of_a_day(sqlite, monkeypatch):

    now = [86400.0 * 20000 + 100]
    schema.set_clock(monkeypatch, lambda: now[0])
    settings = {"max_exposures": 4, "min_exposures": {"blue": 2}, "exposure_period": 86400.0}
    with Bandit.open(sqlite, "hero", UCB1(), COLOURS, **settings) as bandit:
        for _ in range(3):
            choices = bandit.decide(12)
            assert Counter(choice.arm for choice in choices) == dict.fromkeys(COLOURS, 4)
            assert [choice.arm for choice in choices[:2]] == ["blue", "blue"]
            with pytest.raises(NoArms):
                bandit.decide()
            bandit.snapshot()
            now[0] += 86400.0
        bandit.verify()
    with Bandit.open(sqlite, "hero") as again:
        assert again.decide().arm == "blue"
        again.verify()


def test_moments_are_those_of_numpy():
    rewards = np.random.default_rng(3).normal(1e6, 1.0, 1000)
    tally = HoldoutTally()
    for reward in rewards.tolist():
        tally.rewarded(1, 1, reward)
    moments = tally.rewards[HOLDOUT]
    assert moments.mean == pytest.approx(rewards.mean(), rel=1e-14)
    assert math.isclose(moments.squares, rewards.var() * 1000, rel_tol=1e-6)
