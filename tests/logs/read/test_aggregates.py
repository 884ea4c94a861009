"""Exports with one row per arm and day are read as the exposures that they stand for."""

import numpy as np
import pandas
import pytest

import rotting
from rotting.logs import LogError
from rotting.logs.model.findings import find_wear_out
from rotting.logs.model.noise import sigma_of
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log


def export(days=60, ads=4, wears=False, revenue=False, seed=0):
    """Return impressions and clicks (or revenue) by ad and day; impressions fall, click rates only if asked."""
    generator, rows = np.random.default_rng(seed), []
    for ad in range(ads):
        shown = 0
        for day in range(4 * ad, days):
            impressions = int(generator.poisson(900 * 0.97 ** (day - 4 * ad))) + 1
            rate = 0.06 * (0.2 + 0.8 * np.exp(-shown / 4000) if wears else 1)
            clicks = generator.binomial(impressions, rate)
            earned = round(float(generator.gamma(2, 5, clicks).sum()), 2) if revenue else clicks
            rows.append((pandas.Timestamp("2024-01-01") + pandas.Timedelta(days=day), f"ad {ad}", impressions, earned))
            shown += impressions
    return pandas.DataFrame(rows, columns=["date", "ad", "impressions", "revenue" if revenue else "clicks"])


@pytest.mark.parametrize("revenue", [False, True])
@pytest.mark.parametrize("wears", [False, True])
def test_falling_impressions_are_no_wear_out_and_falling_rates_are(wears, revenue):
    worn = find_wear_out(read_log(export(wears=wears, revenue=revenue, seed=1))).worn
    assert worn.sum() >= 3 if wears else not worn.any()


def test_the_page_says_that_rows_are_sums():
    diagnosis = rotting.diagnose(export(days=20, ads=2))
    assert any("Each row stands for many exposures (column 'impressions')" in text for text in diagnosis.caveats)


def test_sums_and_noise_are_those_of_the_exposures():
    frame = export()
    log = read_log(frame)
    assert log.binary
    for arm in log.arms:
        own = frame[frame.ad == arm.name]
        assert arm.exposures == arm.cells.count.sum() == own.impressions.sum()
        assert arm.cells.total.sum() == arm.cells.squares.sum() == own.clicks.sum()
        rate = own.clicks.sum() / own.impressions.sum()
        assert arm.noise_variance == pytest.approx(rate * (1 - rate), rel=0.02)
        first = own.iloc[0].impressions
        assert arm.cells.exposure[0] == (first - 1) / 2


def test_the_noise_of_revenue_is_learnt_from_the_differences_of_days():
    logs = [read_log(export(revenue=True, seed=seed)) for seed in range(8)]
    assert not any(log.binary for log in logs)
    # A click earns a gamma of shape 2 and scale 5: its square has the mean 150.
    assert np.mean([sigma_of(log) ** 2 for log in logs]) == pytest.approx(0.06 * 150 - (0.06 * 10) ** 2, rel=0.08)


def test_rows_of_one_exposure_each_give_the_log_itself():
    generator = np.random.default_rng(3)
    frame = pandas.DataFrame(
        {"arm": ["a", "b"] * 200, "time": np.arange(400.0), "reward": generator.integers(0, 2, 400), "impressions": 1}
    )
    one, other = read_log(frame), read_log(frame, ReadOptions(impressions="none"))
    for mine, its in zip(one.arms, other.arms, strict=True):
        assert mine.noise_variance == pytest.approx(its.noise_variance)
        for field in ("exposure", "time", "count", "total", "squares"):
            assert np.allclose(getattr(mine.cells, field), getattr(its.cells, field))


def test_totals_are_left_out_and_said(tmp_path):
    frame = export().astype({"date": str})
    totals = frame.groupby("date", as_index=False)[["impressions", "clicks"]].sum().assign(ad="Total")
    whole = pandas.DataFrame(
        {"date": ["Total: account"], "ad": ["--"], "impressions": [frame.impressions.sum()], "clicks": [0]}
    )
    pandas.concat([frame, totals, whole])[frame.columns].to_csv(tmp_path / "log.csv", index=False)
    log = read_log(tmp_path / "log.csv")
    assert log.dropped == {"total of other rows": len(totals) + 1}
    assert {arm.name for arm in log.arms} == set(frame.ad)
    totals["impressions"] += 1
    pandas.concat([frame, totals])[frame.columns].to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(LogError, match="rows of 'Total' look like totals, but are not the sums of the others"):
        read_log(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("renamed", "said"),
    [
        ({"impressions": "views"}, "column 'views' may hold how many exposures each row stands for; name the column"),
        ({"impressions": "budget"}, "column 'clicks' seems to hold sums: there is one row per arm and day or hour"),
        ({"clicks": "CTR", "date": "day"}, "no column looks like the reward"),
    ],
)
def test_sums_without_a_number_of_exposures_are_refused(renamed, said):
    with pytest.raises(LogError, match=said):
        read_log(export().rename(columns=renamed))


def test_what_is_asked_for_is_done():
    frame = export()
    assert read_log(frame.rename(columns={"impressions": "views"}), ReadOptions(impressions="views")).exposures > 10_000
    with pytest.raises(LogError, match="holds rates, not sums"):
        read_log(frame.assign(ctr=0.5), ReadOptions(reward="ctr"))
    with pytest.raises(LogError, match="is not a whole number of exposures"):
        read_log(frame.assign(impressions=0.5))
    with pytest.raises(LogError, match="cannot be counted per unit"):
        read_log(frame.assign(user="u"), ReadOptions(unit="user"))


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        (["Day", "Ad ID", "Impr.", "Clicks", "Cost", "CTR"], ("Ad ID", "Clicks", "Day", "Impr.")),
        (["Reporting starts", "Ad name", "Impressions", "Reach", "Results", "Amount spent (USD)"], None),
        (["Date", "Creative", "Cost per click", "Impressions", "Click-through rate", "Conversions"], None),
        (["Day", "Campaign", "Displays", "Clicks", "Cost", "Sales"], ("Campaign", "Clicks", "Day", "Displays")),
    ],
)
def test_names_of_ad_platforms(columns, chosen):
    expected = chosen or (columns[1], columns[4] if "Results" in columns else "Conversions", columns[0], "Impressions")
    days = pandas.date_range("2024-01-01", periods=30).repeat(2)
    values = {expected[0]: ["x", "y"] * 30, expected[2]: days, expected[3]: 1000}
    frame = pandas.DataFrame({column: values.get(column, [row % 7 for row in range(60)]) for column in columns})
    found = read_log(frame).columns
    assert (found.arm, found.reward, found.time, found.impressions) == expected


def test_what_did_not_happen_is_no_reward():
    frame = export().rename(columns={"clicks": "not_clicked"})
    with pytest.raises(LogError, match="no column looks like the reward"):
        read_log(frame)
