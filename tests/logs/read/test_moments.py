"""The time is that of exposures: chosen among several, put together from parts, or asked for."""

import datetime

import pandas
import pytest

from rotting.logs import LogError
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log
from small_logs import small

DAYS = pandas.date_range("2024-01-15", periods=80)
EXPORT = pandas.DataFrame({"ad": ["x", "y"] * 80, "impressions": 1000, "clicks": range(160)})
HOURS = pandas.Series(pandas.date_range("2024-01-01 09:00", periods=60, freq="37h"))
GERMAN = ["Januar", "Februar", "März", "April"]
SPANISH = ["enero", "febrero", "marzo", "abril"]


def first_and_length(log):
    first = datetime.datetime.fromtimestamp(log.first_time, datetime.UTC)
    return first.strftime("%Y-%m-%d %H:%M"), log.seconds / 86_400


def by_day(**columns):
    days = DAYS.repeat(2)
    return EXPORT.assign(**{name: [of(day) for day in days] for name, of in columns.items()})


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"Year": lambda d: d.year, "Month": lambda d: d.month}, ("2024-01-01 00:00", 91)),
        ({"Jahr": lambda d: d.year, "Monat": lambda d: GERMAN[d.month - 1], "Tag": lambda d: d.day}, None),
        ({"año": lambda d: d.year, "mes": lambda d: SPANISH[d.month - 1], "día": lambda d: d.day}, None),
        ({"year": lambda d: d.isocalendar()[0], "week": lambda d: d.isocalendar()[1]}, ("2024-01-15 00:00", 77)),
        ({"year": lambda d: d.year, "quarter": lambda d: f"Q{d.quarter}"}, ("2024-01-01 00:00", 91)),
        ({"date": lambda d: f"{d:%Y-%m-%d}", "hour": lambda d: 5}, ("2024-01-15 05:00", 79)),
        ({"Day": lambda d: f"{d:%Y-%m-%d}", "Hour of the day": lambda d: 5}, ("2024-01-15 05:00", 79)),
        ({"Date": lambda d: f"{d:%Y-%m-%d}", "Hour": lambda d: "5 pm"}, ("2024-01-15 17:00", 79)),
        (
            {"Day": lambda d: f"{d:%Y-%m-%d}", "Time of day (zone)": lambda d: "05:00:00 - 05:59:59"},
            ("2024-01-15 05:00", 79),
        ),
        ({"date": lambda d: f"{d:%d.%m.%Y}", "time": lambda d: "18:30"}, ("2024-01-15 18:30", 79)),
        ({"date": lambda d: f"{d:%Y-%m-%d}", "month": lambda d: d.month, "week": lambda d: 3}, None),
        ({"fecha": lambda d: f"{d.day} de {SPANISH[d.month - 1]} de {d.year}"}, None),
        ({"Datum": lambda d: f"{d.day}. {GERMAN[d.month - 1]} {d.year}"}, None),
        ({"日付": lambda d: f"{d.year}年{d.month}月{d.day}日"}, None),
        ({"날짜": lambda d: f"{d.year}년 {d.month}월 {d.day}일"}, None),
        ({"Дата": lambda d: f"{d.day} {['января', 'февраля', 'марта', 'апреля'][d.month - 1]} {d.year} г."}, None),
    ],
)
def test_parts_of_a_date_are_put_together(columns, expected, tmp_path):
    by_day(**columns).to_csv(tmp_path / "log.csv", index=False)
    for source in (by_day(**columns), tmp_path / "log.csv"):
        assert first_and_length(read_log(source)) == (expected or ("2024-01-15 00:00", 79))


def test_months_without_a_year():
    frame = by_day(month=lambda day: f"{day:%B}", day=lambda day: day.day)
    log = read_log(frame)
    assert (log.first_time, log.last_time) == (15, 94)
    said = "The time was put together from 'month' and 'day', as the number of a day, since no year stands there."
    assert said in log.notes
    winter = by_day(month=lambda day: f"{day - pandas.Timedelta(days=40):%B}", day=lambda day: day.day)
    with pytest.raises(LogError, match="without a year, and goes over New Year; expected dates with a year"):
        read_log(winter)


@pytest.mark.parametrize(
    "columns",
    [
        {"month": lambda day: f"{day:%B}"},
        {"week": lambda day: day.isocalendar()[1], "day": lambda day: day.day},
        {"Quarter": lambda day: f"Q{day.quarter}"},
        {"Year": lambda day: 2000 + day.day},
    ],
)
def test_parts_that_tell_no_order_are_refused(columns):
    with pytest.raises(LogError, match=r"the time seems to stand in .* put them together, or name one column"):
        read_log(by_day(**columns))


@pytest.mark.parametrize("shown", ["data", "date", "timestamp", "shown_at", "Reporting starts", "day_of_show"])
def test_the_time_of_exposures_comes_before_that_of_records(shown):
    frame = small(time=HOURS.astype(str)).rename(columns={"time": shown})
    frame = frame.assign(
        created_at=HOURS.sample(60, random_state=1).to_numpy(), end_date="2025-01-01", uploaded=HOURS[0]
    )
    log = read_log(frame)
    assert (log.columns.time, "time" in log.columns.guessed) == (shown, True)


def test_a_creation_date_is_no_time_of_exposures():
    frame = small(time=["2024-01-01", "2024-02-01"] * 30).rename(columns={"time": "created_at"})
    frame["arm"] = ["x", "y"] * 30
    with pytest.raises(
        LogError, match=r"'created_at': never changes within an arm.*name the times of exposures with time="
    ):
        read_log(frame)
    assert read_log(frame, ReadOptions(time="created_at")).columns.time == "created_at"
    log = read_log(frame.assign(created_at=HOURS))
    assert log.columns.time == "created_at"


def test_names_of_times_without_times_are_said_and_passed_over():
    log = read_log(small(time=["morning", "evening"] * 30))
    assert log.columns.time is None
    assert "Column 'time' holds 'morning', which is no time that can be read: not used." in log.notes


def test_exports_without_a_time_that_can_be_read_are_refused():
    with pytest.raises(
        LogError, match=r"no column holds times that can be read .'Day' holds 'first'.; expected a time.*write dates as"
    ):
        read_log(EXPORT.assign(Day=["first", "second"] * 80))


def test_several_times_are_said():
    log = read_log(small(time=HOURS, ts=HOURS.astype(str)))
    assert log.columns.time in ("time", "ts")
    assert any("could be meant as well" in note for note in log.notes)


def test_a_date_in_words_is_one_whatever_its_column_is_called():
    days = [f"Jan {1 + row // 2}, 2024" for row in range(60)]
    rows = small().drop(columns="time")
    assert read_log(rows.assign(match_day=days)).columns.time == "match_day"
    with pytest.raises(LogError, match="row 60: 'Jan 29-30, 2024' is not a time"):
        read_log(rows.assign(match_day=[*days[:-1], "Jan 29-30, 2024"]))
