"""What the page shows is what the log says, in a fixed size however long the log is."""

import itertools

import numpy as np
import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit.report.reporting import wear_fit
from rotting.bandit.store.addresses import open_store
from rotting.serve import overview
from rotting.serve.bandits import Directory
from rotting.serve.following import MOST_PERIODS, MOST_POINTS, Curve, Follower, Shares, Tally
from serving import sqlite


@pytest.mark.parametrize("portions", [[7], [1, 2, 300, 5], [1000] * 9, [50_000, 3, 12_345]])
def test_a_curve_holds_every_reward_in_at_most_200_means(portions):
    random = np.random.default_rng(0)
    curve, values = Curve(), random.random(sum(portions))
    for part in np.split(values, np.cumsum(portions)[:-1]):
        curve.add(part)
    assert len(curve.sums) < MOST_POINTS
    whole = len(curve.sums) * curve.size
    np.testing.assert_allclose(curve.sums, values[:whole].reshape(-1, curve.size).sum(axis=1))
    np.testing.assert_allclose(curve.squares, (values[:whole] ** 2).reshape(-1, curve.size).sum(axis=1))
    assert curve.rest.tolist() == values[whole:].tolist()


def test_shares_hold_every_decision_in_at_most_120_periods():
    random = np.random.default_rng(0)
    shares, times = Shares(), 1e9 + np.cumsum(random.exponential(3.0, 5000))
    arms = random.integers(0, 3, 5000)
    for start in range(0, 5000, 777):
        some = slice(start, start + 777)
        shares.add(times[some], arms[some], 3)
    assert len(shares.counts) <= MOST_PERIODS
    places = ((times - times[0]) / shares.seconds).astype(int)
    expected = np.zeros_like(shares.counts)
    np.add.at(expected, (places, arms), 1)
    assert shares.counts.tolist() == expected.tolist()


def test_shares_survive_long_silences():
    shares = Shares()
    for at in (1e9, 1e9 + 7e6, 1e9 + 7e6 + 1):
        shares.add(np.array([at]), np.array([0]), 1)
    assert shares.counts.sum() == 3
    fresh = Shares()
    fresh.add(np.array([1e9, 1e9 + 7e6]), np.array([0, 0]), 1)
    assert fresh.counts.sum() == 2


def test_a_tally_agrees_with_the_bandit(sqlite, monkeypatch):
    monkeypatch.setattr("rotting.serve.following.PORTION", 100)
    bandit = Bandit.open(sqlite, "hero", EffFEWA(sigma=0.5), ["a", "b"], reward_wait=0.0, default_reward=0.25)
    random = np.random.default_rng(1)
    for _ in range(60):
        choices = bandit.decide(3)
        bandit.reward(choices[0].id, float(random.random()))
    bandit.add_arm("c")
    bandit.decide(5)
    tally = Tally("hero", bandit._log.bandit_id)
    while True:
        with bandit._log.lock, bandit._log.store.reading():
            if not tally.read(bandit._log.store):
                break
    report = bandit.report()
    state = bandit._log.state
    assert tally.is_complete
    assert tally.names == ["a", "b", "c"]
    assert tally.decided == state.decided
    assert tally.rewarded == state.received
    assert tally.pending == len(state.pending)
    for arm, curve in enumerate(tally.curves):
        values = report.values[tally.names[arm]]
        assert tally.sums[arm] == pytest.approx(values.sum())
        assert curve.sums.sum() + curve.rest.sum() == pytest.approx(values.sum())
    bandit.close()


def test_the_fit_never_rises_and_ends_near_that_of_the_report():
    random = np.random.default_rng(2)
    values = 0.5 * 0.999 ** np.arange(4000) + random.normal(0, 0.1, 4000)
    curve = Curve()
    curve.add(values)
    fit = overview.fit_of(curve, len(values))
    levels = [level for _, level in fit]
    assert all(later <= earlier for earlier, later in itertools.pairwise(levels))
    reported = wear_fit(values)
    assert levels[0] == pytest.approx(reported[0], abs=0.05)
    assert levels[-1] == pytest.approx(reported[-1], abs=0.05)


def test_worn_arms_are_found_and_steady_ones_are_not():
    """The test's level: of 400 steady arms, about 0.6 % would be called worn."""
    random = np.random.default_rng(3)

    def worn(means):
        curve = Curve()
        curve.add((random.random(len(means)) < means).astype(float))
        return overview.is_worn(curve, len(means))

    assert sum(worn(np.full(1000, 0.2)) for _ in range(400)) <= 10
    assert sum(worn(0.05 + 0.25 * 0.5 ** (np.arange(1000) / 300)) for _ in range(50)) >= 48
    assert not worn(np.full(10, 0.5))


def arm(name, share=0.0, worn=False, available=True, rewards=100):
    return overview.ArmOverview(name, available, None, 100, rewards, share, 0.5, 0.6, 0.4, worn, (), ())


@pytest.mark.parametrize(
    ("arms", "says"),
    [
        ([], "There are no arms."),
        ([arm("a", available=False)], "Every arm is retired: nothing can be shown."),
        ([arm("a", rewards=0)], "No reward has arrived yet: nothing is known of the arms."),
        ([arm("a", 0.3), arm("b", 0.7)], "No arm is worn. “b” is shown most (70%)."),
        ([arm("a", 0.2, worn=True), arm("b", 0.8)], "“a” is worn; “b” is shown instead (80% of late)."),
        ([arm("a", 0.97, worn=True), arm("b", 0.03)], "“a” is worn; “a” is still shown most (97%)."),
        ([arm("a", 0.6, worn=True), arm("b", 0.4, worn=True)], "Every arm is worn. “a” is shown most (60%)."),
        ([arm("a", 1.0, worn=True)], "The only arm is worn. “a” is shown most (100%)."),
    ],
)
def test_the_sentence(arms, says):
    assert overview.lead(arms) == says


def test_a_compacted_log_is_followed_from_where_it_begins(sqlite, tmp_path):
    bandit = Bandit.open(sqlite, "hero", EffFEWA(sigma=0.5), ["a", "b"])
    for _ in range(30):
        bandit.reward_many([(choice.id, 0.5) for choice in bandit.decide(2)])
    bandit.compact(bandit._log.state.seq, tmp_path / "old.jsonl")
    bandit.reward_many([(choice.id, 0.25) for choice in bandit.decide(4)])
    tally = Tally("hero", bandit._log.bandit_id)
    with bandit._log.lock, bandit._log.store.reading():
        tally.read(bandit._log.store)
    tally.know_names(bandit.arms)
    found = overview.overview(tally, bandit.standing(), [], [], {})
    assert [arm.name for arm in found.arms] == ["a", "b"]
    assert sum(arm.decisions for arm in found.arms) == 64
    assert sum(tally.decided) == 4
    assert found.sealed > 0
    bandit.close()


def test_a_bandit_that_was_made_again_under_its_name(sqlite):
    """Nothing is left of the one that was deleted: not even where SQLite gives the new one its number."""
    Bandit.open(sqlite, "hero", EffFEWA(sigma=0.5), ["old"]).close()
    store = open_store(sqlite)
    directory = Directory(store)
    follower = Follower(sqlite, directory, lambda _: None)
    directory.refresh()
    assert follower.read_now("hero").names == ["old"]
    Bandit.delete(sqlite, "hero")
    Bandit.open(sqlite, "hero", EffFEWA(sigma=0.5), ["red", "blue"]).close()
    directory.refresh(at_once=True)
    assert follower.read_now("hero").names == ["red", "blue"]
    Bandit.delete(sqlite, "hero")
    directory.refresh(at_once=True)
    follower._forget_deleted()
    assert follower.tallies == {}
    follower.close()
    store.close()
