"""Experiments that tell what makes arms fall, and their outcomes."""

import numpy as np
import pandas
import pytest

from rotting.logs import LogError, make_log
from rotting.logs.generating import FIRST_DAY
from rotting.logs.read.reading import read_log
from rotting.value import design, holdout, outcome
from rotting.value.designing import CAUSES, Schedule, Search
from rotting.value.separating import EXPOSURE, TIME, UNCLEAR, fitted, grounds_of, separated

ARMS, EXPOSURES, DAYS = 5, 4000, 28.0
EFFECTS = {EXPOSURE: "wear-out", TIME: "calendar"}


def unclear(cause, seed=1, **more):
    return make_log(arms=ARMS, exposures=EXPOSURES, effect=EFFECTS[cause], pace="steady", spread=0.2, seed=seed, **more)


def run(log, cause, found, seed=0):
    """Return the log with the rows of an experiment that was run in the world that it comes from."""
    random, truth = np.random.default_rng(seed), log.attrs["truth"]
    shown, rows = dict.fromkeys(truth.arms, EXPOSURES), []
    for day in range(round(found.whole_days)):
        showable = [arm for arm in truth.arms if day >= found.rest_days or arm not in found.rest]
        for arm in random.choice(showable, round(found.exposures)):
            time = DAYS + day + random.random()
            curve = truth.curves[truth.arms.index(arm)]
            mean = float(curve(shown[arm] if cause == EXPOSURE else int(time / DAYS * EXPOSURES)))
            shown[arm] += 1
            rows.append(
                (pandas.Timestamp(FIRST_DAY) + pandas.Timedelta(days=time), arm, 0, int(random.random() < mean))
            )
    return pandas.concat([log, pandas.DataFrame(rows, columns=log.columns)], ignore_index=True)


@pytest.mark.parametrize("cause", CAUSES)
def test_a_designed_experiment_tells_the_cause(cause):
    log = unclear(cause)
    found = design(log, power=0.9)
    assert min(found.power.values()) >= 0.9
    assert 0 < len(found.rest) < ARMS
    after = outcome(run(log, cause, found), pandas.Timestamp(FIRST_DAY).to_pydatetime() + pandas.Timedelta(days=DAYS))
    assert after.verdict == cause
    assert after.low < {EXPOSURE: 1.0, TIME: 0.0}[cause] < after.high
    assert ("being shown" in str(after)) == (cause == EXPOSURE)


def test_the_log_alone_does_not_tell():
    grounds = grounds_of(read_log(unclear(EXPOSURE)))
    alone = separated(grounds, grounds.counts, grounds.counts.times, fitted(grounds, along_time=False))
    assert alone.verdict == UNCLEAR


def test_a_season_that_all_arms_share_is_not_taken_for_wear():
    grounds = grounds_of(read_log(unclear(TIME)))
    search = Search(grounds, 0.9)
    counts = search.counts(search.plan(Schedule((0, 1), 14, 14)))
    season = 1.0 + 0.5 * np.sin(np.arange(28))[:, None]
    earned = counts.shown * search.means(counts, TIME) * season
    both = grounds.counts.with_more(type(counts)(counts.before, counts.shown, earned))
    times = np.concatenate([grounds.counts.times, search.times(counts)])
    assert separated(grounds, both, times, search.fits[EXPOSURE]).verdict == TIME


def test_what_is_promised_and_written():
    found = design(unclear(EXPOSURE), power=0.8)
    assert found.price.time > 0
    text = str(found)
    assert f"Rest {', '.join(found.rest)} for {found.rest_days:g} days" in text
    assert "Showing all arms equally often" in text
    begin = pandas.Timestamp("2026-01-01", tz="UTC").to_pydatetime()
    experiment = found.experiment(begin)
    assert experiment["rest"] == list(found.rest)
    assert experiment["until"] == (begin + pandas.Timedelta(days=found.whole_days)).isoformat()
    more = design(unclear(EXPOSURE), power=0.95)
    assert more.whole_days >= found.whole_days


def test_logs_that_cannot_be_asked_are_refused():
    with pytest.raises(LogError, match="no fall that all arms share"):
        design(make_log(arms=4, exposures=800, effect="none"))
    with pytest.raises(LogError, match="two arms or more"):
        design(make_log(arms=1, exposures=3000))
    with pytest.raises(ValueError, match="power=2"):
        design(unclear(EXPOSURE), power=2)
    with pytest.raises(ValueError, match="not within the log"):
        outcome(unclear(EXPOSURE), "2020-01-01")
    with pytest.raises(ValueError, match="not a time"):
        outcome(unclear(EXPOSURE), "soon")


def test_a_holdout_is_as_long_and_as_small_as_it_may_be():
    log = make_log(arms=4, exposures=30_000, effect="none", start=0.1, pace="steady", seed=3)
    month, week = (holdout(log, gap=0.1, within=days) for days in (28, 10))
    assert month.share < week.share < 0.5
    assert month.price < week.price < week.uniform_price
    assert month.power == pytest.approx(0.9, abs=0.03)
    assert "holdout=" in str(month)
    # As in any textbook: (1.96 + 1.28)^2 p (1 - p) (1 / n + 1 / m) = (gap p)^2.
    shown = 28 * len(log) / ((log["timestamp"].max() - log["timestamp"].min()) / pandas.Timedelta(days=1))
    n, m = month.share * shown, (1 - month.share) * shown
    rate = log["click"].mean()
    assert 10.507 * rate * (1 - rate) * (1 / n + 1 / m) == pytest.approx((0.1 * rate) ** 2, rel=0.05)
    with pytest.raises(ValueError, match="within=1 is not enough"):
        holdout(log, gap=0.01, within=1)
