"""What the page shows is what the log says, in a fixed size however long the log is."""

import asyncio
import contextlib
import itertools

import numpy as np
import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit.report.reporting import wear_fit
from rotting.bandit.store.addresses import open_store
from rotting.serve import overview
from rotting.serve.bandits import Directory
from rotting.serve.following import MOST_PERIODS, MOST_POINTS, ArmTally, Bins, Follower, Tally
from rotting.serve.lanes import Lane
from serving import sqlite


@pytest.mark.parametrize("number", [7, 308, 9000, 62_348])
def test_a_curve_holds_every_reward_in_at_most_200_means(number):
    random = np.random.default_rng(0)
    arm, values = ArmTally("red"), random.random(number)
    for value in values:
        arm.add(value)
    sums = arm.curve.table(3)
    assert len(sums) <= MOST_POINTS
    starts = np.arange(0, len(values), int(arm.curve.step))
    for column, each in enumerate((np.ones(len(values)), values, values**2)):
        np.testing.assert_allclose(sums[:, column], np.add.reduceat(each, starts))
    assert (arm.rewarded, arm.sum) == (len(values), pytest.approx(values.sum()))


def test_shares_hold_every_decision_in_at_most_120_periods():
    random = np.random.default_rng(0)
    shares, times = Bins(MOST_PERIODS), np.cumsum(random.exponential(3.0, 5000))
    arms = random.integers(0, 3, 5000)
    for time, arm in zip(times, arms, strict=True):
        shares.add(time, arm)
    sums = shares.table(3)
    assert len(sums) <= MOST_PERIODS
    expected = np.zeros_like(sums)
    np.add.at(expected, ((times / shares.step).astype(int), arms), 1)
    assert sums.tolist() == expected.tolist()


def test_shares_survive_long_silences():
    shares = Bins(MOST_PERIODS)
    for at in (0.0, 7e6, 7e6 + 1):
        shares.add(at, 0)
    assert shares.table(1).sum() == 3


def test_a_tally_agrees_with_the_bandit(sqlite):
    bandit = Bandit.open(sqlite, "hero", EffFEWA(sigma=0.5), ["a", "b"], reward_wait=0.0, default_reward=0.25)
    random = np.random.default_rng(1)
    for _ in range(60):
        choices = bandit.decide(3)
        bandit.reward(choices[0].id, float(random.random()))
    bandit.add_arm("c")
    bandit.decide(5)
    tally = tally_of(sqlite, most=100)
    report = bandit.report()
    state = bandit._log.state
    assert tally.is_complete
    assert [arm.name for arm in tally.arms] == ["a", "b", "c"]
    assert [arm.decided for arm in tally.arms] == state.decided
    assert [arm.rewarded for arm in tally.arms] == state.received
    assert tally.pending == len(state.pending)
    assert len(tally.delays) == 60
    for arm in tally.arms:
        assert arm.sum == pytest.approx(report.values[arm.name].sum())
    bandit.close()


def test_the_fit_never_rises_and_ends_near_that_of_the_report():
    random = np.random.default_rng(2)
    values = 0.5 * 0.999 ** np.arange(4000) + random.normal(0, 0.1, 4000)
    fit = overview.fit_of(curve_of(values))
    levels = [level for _, level in fit]
    assert all(later <= earlier for earlier, later in itertools.pairwise(levels))
    reported = wear_fit(values)
    assert levels[0] == pytest.approx(reported[0], abs=0.05)
    assert levels[-1] == pytest.approx(reported[-1], abs=0.05)


def test_the_fit_does_not_end_with_the_mean_of_a_few_rewards():
    values = np.concatenate([np.tile([0.0, 1.0], 500), np.zeros(3)])
    assert overview.fit_of(curve_of(values))[-1][1] > 0.4


def test_worn_arms_are_found_and_steady_ones_are_not():
    """The test's level: of 400 steady arms, about 0.6 % would be called worn."""
    random = np.random.default_rng(3)

    def worn(means):
        return overview.is_worn(curve_of((random.random(len(means)) < means).astype(float)))

    assert sum(worn(np.full(1000, 0.2)) for _ in range(400)) <= 10
    assert sum(worn(0.05 + 0.25 * 0.5 ** (np.arange(1000) / 300)) for _ in range(50)) >= 48
    assert not worn(np.full(10, 0.5))


def arm(name, share=0.0, worn=False, available=True, rewards=100, passes=None):
    return overview.ArmOverview(name, available, passes, 100, rewards, share, worn, (), ())


@pytest.mark.parametrize(
    ("arms", "says"),
    [
        ([], "There are no arms."),
        ([arm("a", available=False)], "Every arm is retired: nothing can be shown."),
        ([arm("a", rewards=0)], "No reward has arrived yet: nothing is known of the arms."),
        ([arm("a", 0.3), arm("b", 0.7)], "No arm is worn; “b” is shown most (70% of late)."),
        ([arm("a", 0.2, worn=True), arm("b", 0.8)], "“a” is worn; “b” is shown instead (80% of late)."),
        ([arm("a", 0.97, worn=True), arm("b", 0.03)], "“a” is worn; “a” is still shown most (97% of late)."),
        ([arm("a", 0.6, worn=True), arm("b", 0.4, worn=True)], "Every arm is worn; “a” is shown most (60% of late)."),
        ([arm("a", 1.0, worn=True)], "The only arm is worn; “a” is shown most (100% of late)."),
        # What is shown most is not shown instead, where it is filtered out or the worn are shown more.
        ([arm("a", 0.2, worn=True), arm("b", 0.8, passes=False)], "“a” is worn; “b” is shown most (80% of late)."),
        (
            [arm("a", 0.35, worn=True), arm("c", 0.25, worn=True), arm("b", 0.4)],
            "“a” and “c” are worn; “b” is shown most (40% of late).",
        ),
        (
            [arm("a", 0.69, worn=True), arm("b", 0.21, passes=False), arm("c", 0.1)],
            "“a” is worn; “a” is still shown most (69% of late).",
        ),
    ],
)
def test_the_sentence(arms, says):
    assert overview.lead(arms) == says


def curve_of(values):
    arm = ArmTally("red")
    for value in values:
        arm.add(value)
    return overview.whole(arm.curve)


def names(tally):
    return [arm.name for arm in tally.arms]


def tally_of(url, most=20_000):
    """Return the tally of a bandit called hero, read in portions."""
    with contextlib.closing(open_store(url)) as store, store.lock, store.reading():
        tally = Tally(store.find(name="hero"))
        while not tally.seq or not tally.is_complete:
            tally.read(store, most)
        return tally


def test_a_compacted_log_is_followed_from_where_it_begins(sqlite, tmp_path):
    bandit = Bandit.open(sqlite, "hero", EffFEWA(sigma=0.5), ["a", "b"])
    for _ in range(30):
        bandit.reward_many([(choice.id, 0.5) for choice in bandit.decide(2)])
    bandit.compact(bandit._log.state.seq, tmp_path / "old.jsonl")
    bandit.reward_many([(choice.id, 0.25) for choice in bandit.decide(4)])
    tally = tally_of(sqlite)
    tally.know_names(bandit.arms)
    found = overview.overview(tally, bandit.standing(), {})
    assert [arm.name for arm in found.arms] == ["a", "b"]
    assert sum(arm.decisions for arm in found.arms) == 64
    assert tally.decided == 4
    assert found.standing.sealed > 0
    bandit.close()


def test_a_bandit_that_was_made_again_under_its_name(sqlite):
    """Nothing is left of the one that was deleted: not even where SQLite gives the new one its number."""
    Bandit.open(sqlite, "hero", EffFEWA(sigma=0.5), ["old"]).close()
    asyncio.run(_make_again(sqlite))


async def _make_again(url):
    lane = Lane(open_store(url))
    directory = Directory(lane)
    follower = Follower(lane, directory)
    await directory.refresh(at_once=True)
    assert await follower.show(directory.by_name["hero"], names) == ["old"]
    Bandit.delete(url, "hero")
    Bandit.open(url, "hero", EffFEWA(sigma=0.5), ["red", "blue"]).close()
    await directory.refresh(at_once=True)
    assert await follower.show(directory.by_name["hero"], names) == ["red", "blue"]
    Bandit.delete(url, "hero")
    await directory.refresh(at_once=True)
    await follower.look()
    assert follower.tallies == {}
    lane.close()
