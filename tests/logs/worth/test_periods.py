"""Two periods compared; rewards with times of their own; dates, money and sorting on the page."""

import numpy as np
import pandas
import pytest

import rotting
from rotting.logs import LogError, make_log
from rotting.logs.model.findings import find_wear_out
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log
from rotting.logs.tell.report import period_rows, report_page


def changed(days=40, low=0.1, seed=0):
    """Return a log of one reward an hour whose first arm earns 0.3 until day 20, and `low` from then on."""
    generator = np.random.default_rng(seed)
    frame = pandas.DataFrame({"ts": pandas.date_range("2024-03-01", periods=24 * days, freq="h")})
    frame["arm"] = np.where(np.arange(len(frame)) % 2, "a", "b")
    later = (frame["ts"] >= "2024-03-21").to_numpy()
    frame["reward"] = (generator.random(len(frame)) < np.where(later & (frame["arm"] == "a"), low, 0.3)).astype(int)
    return frame


def test_periods_are_counted_by_their_dates():
    frame = changed()
    found = read_log(frame, ReadOptions(before="2024-03-21", after="2024-03-25")).periods
    first, second = frame[frame["ts"] < "2024-03-21"], frame[frame["ts"] >= "2024-03-25"]
    rows = {row.arm: row for row in found.changes}
    assert next(iter(rows)) == "all arms"
    assert rows["a"].before.exposures == (first["arm"] == "a").sum()
    assert rows["b"].after.mean == pytest.approx(second[second["arm"] == "b"]["reward"].mean())
    assert rows["all arms"].change.point == pytest.approx(second["reward"].mean() - first["reward"].mean())
    assert rows["a"].change.high < 0 < rows["b"].change.high


def test_sums_of_days_have_the_changes_of_their_rows():
    frame = changed()
    daily = frame.groupby([frame["ts"].dt.date.astype(str), "arm"])["reward"].agg(["count", "sum"]).reset_index()
    daily.columns = ["date", "arm", "impressions", "clicks"]
    single, sums = (read_log(each, ReadOptions(before="2024-03-21")).periods.changes for each in (frame, daily))
    for one, other in zip(sorted(single, key=lambda row: row.arm), sorted(sums, key=lambda row: row.arm), strict=True):
        assert one.change.point == pytest.approx(other.change.point)
        assert one.before.error == pytest.approx(other.before.error, rel=0.5)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("soon", None, "is not a time of this log"),
        ("2024-03-21", "2024-03-01", "the periods overlap"),
        ("2023-01-01", None, "leaves no row"),
        (None, "2025-01-01", "leaves no row"),
    ],
)
def test_periods_that_make_no_sense_are_refused(before, after, problem):
    with pytest.raises(LogError, match=problem):
        read_log(changed(), ReadOptions(before=before, after=after))


def test_times_of_rewards_tell_how_late_they_come():
    frame = changed(low=0.3)
    generator = np.random.default_rng(2)
    delay = pandas.to_timedelta(generator.exponential(48, len(frame)), unit="h")
    arrived = frame["ts"] + delay <= frame["ts"].max()
    frame["reward"] *= arrived
    frame["bought_at"] = (frame["ts"] + delay).where(frame["reward"] == 1)
    log = read_log(frame, ReadOptions(reward_time="bought_at"))
    assert log.reward_wait == pytest.approx(3 * 48 * 3600, rel=0.3)  # 95 % of an exponential: three times its mean
    numbers = {name: (frame[name] - pandas.Timestamp(0)) / pandas.Timedelta("1ms") for name in ("ts", "bought_at")}
    for form in (numbers, {"bought_at": numbers["bought_at"]}):  # milliseconds, in both columns or beside dates
        again = read_log(frame.assign(**form), ReadOptions(reward_time="bought_at"))
        assert again.reward_wait == pytest.approx(log.reward_wait)
    late = find_wear_out(log).late
    assert late.cut == pytest.approx(6 / 40, rel=0.3)
    with pytest.raises(LogError, match="before those of the exposures"):
        read_log(
            frame.assign(bought_at=frame["bought_at"] - pandas.Timedelta("9D")), ReadOptions(reward_time="bought_at")
        )
    with pytest.raises(LogError, match="is not a column"):
        read_log(frame, ReadOptions(reward_time="sold_at"))


def test_dates_money_and_both_periods_are_on_the_page():
    frame = make_log(arms=2, exposures=150, sigma=0.5, start=6.0, end=4.0, seed=3)
    frame["value"] = frame["value"].map("\u20ac{:.2f}".format)
    found = rotting.diagnose(frame, before=frame["timestamp"].median().date().isoformat())
    assert (found.currency, found.first_date) == ("\u20ac", frame["timestamp"].min().date().isoformat())
    text = report_page(found)
    assert f"{found.first_date} to {found.last_date}" in text
    assert period_rows(found)[0][2].startswith("\u20ac")
    assert "<h2>Before and after</h2>" in text
    assert text.count('class="sortable"') == 2
    assert "http" not in text.replace("http-equiv", "")
