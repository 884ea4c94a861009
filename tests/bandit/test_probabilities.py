"""Every decision has its probability: at once where there is a closed form, else by replays of the log."""

import json

import numpy as np
import pytest
from scipy import stats
from sqlalchemy import update

from bandit import tables as schema
from bandit.test_verify import change, content_of
from rotting import Bandit
from rotting.bandit import BadSettings, BanditError, VerificationFailed
from rotting.bandit.core.choosing import counts_at, pick
from rotting.policies import (
    AUCBTP,
    CUSUMUCB,
    BetaThompson,
    EpsilonGreedy,
    Exp3,
    Exp3S,
    GaussianThompson,
    Rexp3,
    Uniform,
)

COLOURS = ["red", "green", "blue"]
WORTH = {"red": 0.9, "green": 0.5, "blue": 0.1}
EVENTS = schema.events.c
EXACT = [
    Uniform(),
    EpsilonGreedy(epsilon=0.3),
    Exp3(gamma=0.3),
    Exp3S(gamma=0.2, alpha=0.01),
    Rexp3(gamma=0.2),
    CUSUMUCB(alpha=0.2),
    AUCBTP(horizon=100),
]
FREE = dict.fromkeys(("epsilon", "holdout"), 0.0)
SETTINGS = [FREE, {"epsilon": 0.2}, {"holdout": 0.3}, {"epsilon": 0.2, "holdout": 0.3, "control": "blue"}]


def play(bandit, rounds=40):
    for _ in range(rounds):
        choice = bandit.decide()
        bandit.reward(choice.id, WORTH[choice.arm])
    return bandit.history()


def decided(log):
    return log[log["kind"] == "decided"]


def frequencies(bandit, arms, draws):
    """Return how often each arm would be chosen now, by the numbers of other events."""
    with bandit._log.reading():
        state = bandit._log.state
        picks = [pick(state, 10_000 + draw, arms, counts_at(state, state.at)) for draw in range(draws)]
    chosen = np.bincount([each.arm for each in picks], minlength=len(COLOURS))
    told = {each.arm: each.probability for each in picks}
    return chosen, np.array([told.get(arm, 0.0) for arm in range(len(COLOURS))])


def agrees(counts, told):
    expected = told[told > 0] * counts.sum()
    statistic = ((counts[told > 0] - expected) ** 2 / expected).sum()
    return told.sum() == pytest.approx(1.0) and stats.chi2.sf(statistic, max(len(expected) - 1, 1)) > 1e-6


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("policy", EXACT, ids=lambda policy: type(policy).__name__)
def test_what_is_told_is_how_often_each_arm_is_chosen(sqlite, policy, settings):
    with Bandit.open(sqlite, "hero", policy, COLOURS, seed=3, reward_range=(0, 1), **settings) as bandit:
        log = decided(play(bandit))
        assert log["probability"].notna().all()
        assert agrees(*frequencies(bandit, [0, 1, 2], 4000))
        assert agrees(*frequencies(bandit, [0, 2], 2000))
        bandit.verify()


def test_arms_that_wait_and_limits_are_seen(sqlite):
    limits = {"min_exposures": {"blue": 2}, "max_exposures": {"red": 12}}
    with Bandit.open(sqlite, "hero", Exp3(gamma=0.3), COLOURS, seed=3, reward_range=(0, 1), **limits) as bandit:
        first = bandit.decide(2)
        assert {choice.arm: choice.probability for choice in first} == {"blue": 1.0}  # below its minimum
        assert agrees(*frequencies(bandit, [0, 1, 2], 2000))  # blue waits, and is not asked about
        assert frequencies(bandit, [0, 1, 2], 50)[1][2] == 0.0
        play(bandit, 60)
        assert agrees(*frequencies(bandit, [0, 1, 2], 2000))
        assert frequencies(bandit, [0, 1, 2], 50)[1][0] == 0.0  # red has reached its cap
        bandit.verify()


@pytest.mark.parametrize("factor", [1.01, 0.99])
def test_verify_finds_a_probability_that_was_changed_by_one_percent(url, factor):
    with Bandit.open(url, "hero", Exp3(gamma=0.3), COLOURS, epsilon=0.1, reward_range=(0, 1)) as bandit:
        play(bandit, 20)
        change(url, update(schema.events).where(EVENTS.seq == 40).values(probability=EVENTS.probability * factor))
        with pytest.raises(VerificationFailed, match=r"event 40 decides for .* with probability"):
            bandit.verify()


def test_logs_of_older_versions_stay_readable(url):
    with Bandit.open(url, "hero", Exp3(gamma=0.3), COLOURS, reward_range=(0, 1)) as bandit:
        known = decided(play(bandit, 20))["probability"]
        for seq in decided(bandit.history())["seq"].tolist():
            change(url, update(schema.events).where(EVENTS.seq == seq).values(probability=None))
        assert decided(bandit.history())["probability"].isna().all()
        bandit.verify()
        assert decided(bandit.history(replays=1))["probability"].tolist() == known.tolist()
    with Bandit.open(url, "sure", EpsilonGreedy(epsilon=0.0), COLOURS) as bandit:
        assert bandit.decide().probability == 1.0


@pytest.mark.parametrize("policy", [BetaThompson(), GaussianThompson(sigma=0.5)], ids=str)
def test_replays_fill_in_what_was_not_known(url, policy):
    with Bandit.open(url, "hero", policy, COLOURS, seed=2, reward_range=(0, 1), epsilon=0.2) as bandit:
        log = decided(play(bandit, 30))
        assert log["probability"].iloc[1:].isna().any()
        filled = decided(bandit.history(replays=200))
        again = decided(bandit.history(replays=200))
        assert filled["probability"].notna().all()
        assert filled["probability"].tolist() == again["probability"].tolist()
        assert filled["probability"].min() >= 0.2 / 3
        # One part of the log has the same: the replay begins at the beginning.
        part = decided(bandit.history(after=40, limit=10, replays=200))
        assert part["probability"].tolist() == filled[filled["seq"].isin(part["seq"])]["probability"].tolist()
        assert decided(bandit.history(arm="red", replays=200))["probability"].notna().all()
        bandit.verify()
        assert decided(bandit.history())["probability"].isna().any()  # nothing was written


def test_exports_have_them(sqlite, tmp_path):
    with Bandit.open(sqlite, "hero", BetaThompson(), COLOURS, seed=2, reward_range=(0, 1)) as bandit:
        play(bandit, 10)
        bandit.export(tmp_path / "log.jsonl", replays=100)
        rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
        told = [row["probability"] for row in rows if row["kind"] == "decided"]
        assert all(round(each * 101, 6) in range(1, 102) for each in told)
        for portion in bandit.history_portions(size=7, replays=100):
            assert decided(portion)["probability"].notna().all()
        with pytest.raises(BadSettings, match="replays=0"):
            bandit.history(replays=0)


def test_a_log_that_its_policy_did_not_write_is_not_filled_in(sqlite):
    with Bandit.open(sqlite, "hero", BetaThompson(), COLOURS, seed=2, reward_range=(0, 1)) as bandit:
        play(bandit, 10)
        rows = [row for row in content_of(sqlite, schema.events) if row.kind == "decided"]
        change(sqlite, update(schema.events).where(EVENTS.seq == rows[-1].seq).values(arm=(rows[-1].arm + 1) % 3))
        with pytest.raises(VerificationFailed, match="its probability cannot be told"):
            bandit.history(replays=10)


@pytest.mark.parametrize("settings", [{"epsilon": 0.1}, {"holdout": 0.1}], ids=str)
def test_with_a_floor_weights_of_replays_have_no_bias(sqlite, settings):
    with Bandit.open(sqlite, "hero", GaussianThompson(sigma=1.0), COLOURS, seed=2, **settings) as bandit:
        play(bandit, 12)
        with bandit._log.reading():
            state, weights, draws = bandit._log.state, np.zeros(3), 6000
            for draw in range(draws):
                each = pick(state, 10_000 + draw, [0, 1, 2], counts_at(state, state.at), replays=5)
                weights[each.arm] += 1.0 / each.probability
    # The largest weight is 3 / 0.1: five standard errors are below 5 sqrt(30 / draws).
    assert weights / draws == pytest.approx(1.0, abs=5 * (30 / draws) ** 0.5)


# Experiments: for a time, a share of decisions is uniform among some arms, and some rest.


def test_an_experiment_is_uniform_for_a_time_and_ends_by_itself(url, monkeypatch):
    with Bandit.open(url, "hero", BetaThompson(), COLOURS, seed=2, reward_range=(0, 1)) as bandit:
        play(bandit, 10)
        now = bandit._log.store.clock()
        bandit.change(experiment={"until": now + 1000.0, "rest": ["red"], "rest_until": now + 500.0})
        chosen = [bandit.decide() for _ in range(60)]
        assert {choice.arm for choice in chosen} == {"green", "blue"}
        assert {choice.probability for choice in chosen} == {0.5}
        assert "experiment: 1 of decisions" in {choice.why for choice in chosen}
        monkeypatch.setattr(type(bandit._log.store), "clock", lambda store: now + 600.0)
        chosen = [bandit.decide() for _ in range(60)]
        assert {choice.arm for choice in chosen} == set(COLOURS)
        assert {choice.probability for choice in chosen} == {1 / 3}
        monkeypatch.setattr(type(bandit._log.store), "clock", lambda store: now + 1000.0)
        assert "experiment" not in bandit.decide().why
        bandit.verify()
        with Bandit.open(url, "hero") as again:
            assert again.settings.experiment["rest"] == ["red"]


@pytest.mark.parametrize("settings", [{}, {"epsilon": 0.2, "holdout": 0.3}], ids=str)
def test_a_share_of_an_experiment_has_its_probabilities(sqlite, settings):
    experiment = {"until": "2100-01-01", "share": 0.5, "arms": ["red", "blue"]}
    policy = Exp3(gamma=0.3)
    with Bandit.open(sqlite, "hero", policy, COLOURS, seed=3, reward_range=(0, 1), **settings) as bandit:
        bandit.change(experiment=experiment)
        play(bandit, 30)
        assert agrees(*frequencies(bandit, [0, 1, 2], 4000))
        assert agrees(*frequencies(bandit, [1, 2], 2000))
        assert agrees(*frequencies(bandit, [1], 100))
        bandit.change(experiment={"until": "2100-01-01", "rest": COLOURS, "rest_until": "2099-01-01"})
        assert bandit.decide().arm in COLOURS  # something must be shown
        bandit.verify()


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ({"share": 0.5}, "is not an experiment"),
        ({"until": "soon"}, "has a time that is none"),
        ({"until": "2100-01-01", "rest": ["red"]}, "both what rests and until when"),
        ({"until": "2100-01-01", "arms": ["mauve"]}, "no arm 'mauve'"),
        ({"until": "2100-01-01", "share": 2}, "share=2"),
        (["red"], "is not an experiment"),
    ],
)
def test_experiments_that_make_no_sense_are_refused(sqlite, experiment, message):
    with (
        Bandit.open(sqlite, "hero", Uniform(), COLOURS, reward_range=(0, 1)) as bandit,
        pytest.raises(BanditError, match=message),
    ):
        bandit.change(experiment=experiment)
