"""What the columns beside those that are used say is heard."""

import pandas
import pytest

from rotting.logs import LogError
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log

DAYS = pandas.date_range("2024-01-01", periods=40)
EXPORT = pandas.DataFrame(
    {
        "Day": DAYS.repeat(2).strftime("%Y-%m-%d"),
        "Ad": ["x", "y"] * 40,
        "Impressions": [1000, 900] * 40,
        "Clicks": range(80),
        "Revenue": [1.5 * row for row in range(80)],
    }
)


def written(frame, folder, header=None):
    path = folder / "log.csv"
    frame.to_csv(path, index=False, header=header or True)
    return path


@pytest.mark.parametrize("names", [("Clicks", "Clicks"), ("Clicks", "clicks "), ("clicks", "Clicks")])
def test_two_columns_of_one_name_are_refused(names, tmp_path):
    with pytest.raises(LogError, match=r"several columns are called '[Cc]licks'; expected a name of its own for each"):
        read_log(written(EXPORT, tmp_path, ["Day", "Ad", "Impressions", *names]))


def test_names_of_columns_that_are_not_used_may_repeat(tmp_path):
    log = read_log(written(EXPORT.assign(cost=1, other=2), tmp_path, [*EXPORT.columns, "Cost", "Cost"]))
    assert sum(arm.cells.total.sum() for arm in log.arms) == EXPORT.Clicks.sum()


def test_currencies_beside_the_amounts():
    mixed = EXPORT.assign(Currency=["USD", "EUR"] * 40)
    with pytest.raises(LogError, match=r"different currencies \(column 'Currency': 'EUR', 'USD'\)"):
        read_log(mixed, ReadOptions(reward="Revenue"))
    with pytest.raises(LogError, match=r"different currencies \(column 'ccy': 'eur', 'usd'\)"):
        read_log(EXPORT.assign(ccy=["usd", "eur"] * 40), ReadOptions(reward="Revenue"))
    assert read_log(EXPORT.assign(market=["USD", "west"] * 40), ReadOptions(reward="Revenue")).exposures == 76_000
    assert read_log(mixed, ReadOptions(reward="Clicks")).exposures == 76_000
    assert read_log(EXPORT.assign(Currency="USD"), ReadOptions(reward="Revenue")).exposures == 76_000
    spent = EXPORT.assign(**{"Media cost (advertiser currency)": range(len(EXPORT))})
    assert read_log(spent, ReadOptions(reward="Revenue")).exposures == 76_000


@pytest.mark.parametrize("other", ["€3", "3", "CA$3", "3 zł", "3 kr"])
def test_currencies_within_the_amounts(other, tmp_path):
    with pytest.raises(LogError, match="currenc"):
        read_log(written(EXPORT.assign(Revenue=["$3", other] * 40), tmp_path), ReadOptions(reward="Revenue"))


@pytest.mark.parametrize("nothing", ["0", "$0.00", "0.00"])
def test_nothing_needs_no_currency(nothing, tmp_path):
    log = read_log(written(EXPORT.assign(Revenue=["$3.20", nothing] * 40), tmp_path), ReadOptions(reward="Revenue"))
    assert (log.currency, sum(arm.cells.total.sum() for arm in log.arms)) == ("$", pytest.approx(128))


def test_the_only_column_of_dates_is_the_time(tmp_path):
    log = read_log(written(EXPORT.rename(columns={"Day": "Shown"}), tmp_path))
    assert (log.columns.time, "time" in log.columns.guessed) == ("Shown", True)
    with pytest.raises(LogError, match="several columns hold dates"):
        read_log(written(EXPORT.rename(columns={"Day": "Shown"}).assign(booked=EXPORT.Day), tmp_path))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"Campaign": ["p"] * 40 + ["q"] * 40}, "Arms of one name in several 'Campaign' were taken together (2 of"),
        ({"tz": ["US/Pacific", "UTC"] * 40}, "Column 'tz' names 2 time zones"),
        ({"Ad": ["Red", "RED"] * 40}, "differ in capital letters only"),
        ({"Impressions": [0, 1900] * 40}, "Rows without impressions have rewards"),
    ],
)
def test_what_is_doubtful_is_said(more, said):
    assert any(said in note for note in read_log(EXPORT.assign(**more)).notes)
    assert not any(said in note for note in read_log(EXPORT).notes)


def test_other_columns_that_could_be_the_reward_are_said():
    log = read_log(EXPORT.rename(columns={"Clicks": "Unique clicks", "Revenue": "Clicks (all)"}))
    assert any("'Unique clicks' could be meant as well" in note for note in log.notes)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"Ad": ["2.385E+16", "2.386E+16"] * 40}, "is an identifier that a spreadsheet has rounded"),
        ({"Clicks": [-3, 5] * 40}, "has -3 as a number of clicks"),
        ({"Ad": ["x", *[None] * 39, "y", *[None] * 39]}, "is empty in 78 of 80 rows.*if cells are merged"),
        ({"Day": [day for day in DAYS.strftime("%Y-%m-%d") for day in (day, None)]}, "is empty in 40 of 80 rows"),
    ],
)
def test_rows_that_cannot_be_right_are_refused(more, said):
    with pytest.raises(LogError, match=said):
        read_log(EXPORT.assign(**more))


def test_an_arm_that_is_the_sum_of_the_others_is_refused():
    sums = EXPORT.groupby("Day", as_index=False)[["Impressions", "Clicks", "Revenue"]].sum().assign(Ad="Summer")
    with pytest.raises(LogError, match="'Summer' is the sum of all others at all times"):
        read_log(pandas.concat([EXPORT, sums]))
    assert len(read_log(pandas.concat([EXPORT, sums.assign(Clicks=sums.Clicks + 1)])).arms) == 3


def test_thousands_of_impressions_are_asked_for():
    with pytest.raises(LogError, match="seems to hold thousands of exposures"):
        read_log(EXPORT.rename(columns={"Impressions": "Impressions (thousands)"}))


def test_sums_since_the_launch_are_refused():
    days = EXPORT.assign(
        Impressions=[1000 + 7 * (row % 13) for row in range(80)], Clicks=[30 + row % 11 for row in range(80)]
    )
    running = days.assign(**days.groupby("Ad")[["Impressions", "Clicks"]].cumsum())
    with pytest.raises(LogError, match=r"'Clicks': never fall.*sums since the launch; expected sums of each day"):
        read_log(running)
    few = [pandas.concat([each[:16].assign(Ad=each.Ad + str(copy)) for copy in range(2)]) for each in (days, running)]
    notes = [[note for note in read_log(each).notes if "since the launch" in note] for each in few]
    assert list(map(len, notes)) == [0, 1]
    assert read_log(days).exposures == days.Impressions.sum()


def test_exposures_that_are_broken_down_twice_are_refused():
    days = EXPORT.assign(Impressions=[1000 + 7 * row for row in reversed(range(80))])
    halves = days.assign(Impressions=days.Impressions // 2, Clicks=days.Clicks // 2)
    rests = days.assign(Impressions=days.Impressions - halves.Impressions, Clicks=days.Clicks - halves.Clicks)
    parts = [
        ("device", "mobile", halves),
        ("device", "desktop", rests),
        ("place", "US", halves),
        ("place", "UK", rests),
    ]
    twice = pandas.concat([each.assign(breakdown=name, part=value) for name, value, each in parts])
    with pytest.raises(LogError, match=r"'breakdown': each of its values has the same sums.*would count several times"):
        read_log(twice, ReadOptions(reward="Clicks"))
    assert (
        read_log(twice[twice.breakdown == "device"], ReadOptions(reward="Clicks")).exposures == days.Impressions.sum()
    )


def test_sums_of_one_day_show_no_change():
    with pytest.raises(LogError, match=r"sums of one time only.*export the log by day"):
        read_log(EXPORT[:2].assign(Clicks=[60, 20]))
    assert read_log(EXPORT[:4]).exposures == 3800


def test_exports_need_a_time():
    """Their rows are in no order."""
    with pytest.raises(LogError, match="no column holds times that can be read; expected a time for sums"):
        read_log(EXPORT.drop(columns="Day"))
    with pytest.raises(LogError, match="no column holds times"):
        read_log(EXPORT.assign(Day=DAYS.repeat(2).strftime("%A")))
