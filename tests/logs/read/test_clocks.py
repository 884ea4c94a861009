"""Times are put on one clock, whatever they are written in, and what could be two times is refused."""

import datetime

import pandas
import pytest

from rotting.logs import LogError
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log


def small(times):
    """Return a plain log of two arms with a row for each time."""
    rows = range(len(times))
    return pandas.DataFrame(
        {"arm": ["ab"[row % 2] for row in rows], "reward": [row % 3 for row in rows], "time": times}
    )


def test_unparsable_times(tmp_path):
    frame = small(range(60)).astype({"time": object})
    frame.loc[4, "time"] = "yesterday"
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(
        LogError, match="time column 'time', row 5: 'yesterday' is not a time that can be read: expected ISO 8601"
    ):
        read_log(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        (["2024-01-01", "2024-01-02"], 86_400),
        (["2024-01-01T00:00:00Z", "2024-01-01T00:00:10+00:00"], 10),
        (["2024-01-01T00:00:00Z", "2024-01-01T05:01:00+05:00"], 60),
        (["2024-10-27 02:30:00+02:00", "2024-10-27 02:10:00+01:00"], 2400),
        (["2024-01-01T00:00Z", "2024-01-01T00:01Z"], 60),
        (["2024/01/01 00:00", "2024/01/01 00:01"], 60),
        (["2024-01-01 00:00:00.25 UTC", "2024-01-01 00:00:01.25 UTC"], 1),
        (["1704067200000", "1704067260000"], 60),
        (["5", "6.5"], 1.5),
    ],
)
def test_times_as_texts(texts, seconds, tmp_path):
    times = [texts[0]] * 30 + [texts[1]] * 30
    small(times).to_csv(tmp_path / "log.csv", index=False)
    log = read_log(tmp_path / "log.csv")
    assert log.backwards == 0
    assert {round(float(time), 6) for arm in log.arms for time in arm.cells.time} == {0.0, 1.0}


@pytest.mark.parametrize(
    "text",
    ["01/01/2024 00:00", "31.01.2024", "Jan 1 2024", "2024-01-01 10:00 PM", "2024-01-01 (BC)", "infinity", "24:00"],
)
def test_times_that_could_be_read_in_two_ways_are_refused(text, tmp_path):
    small(["2024-01-01"] * 7 + [text] * 53).to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(LogError, match=r"time column 'time', row 8: .*ISO 8601 \(2024-01-31.*milliseconds") as error:
        read_log(tmp_path / "log.csv")
    assert repr(text) in str(error.value)


DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=day) for day in range(40)]
MONDAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=7 * week) for week in range(40)]
MONTHS = [datetime.date(2022 + month // 12, month % 12 + 1, 1) for month in range(40)]
FORMS = {
    "week ranges": (MONDAYS, lambda day: f"{day} - {day + datetime.timedelta(days=6)}"),
    "ISO weeks": (MONDAYS, lambda day: "{}-W{:02d}".format(*day.isocalendar()[:2])),
    "weeks as numbers": (MONDAYS, lambda day: "{}{:02d}".format(*day.isocalendar()[:2]), "week"),
    "months": (MONTHS, "{:%b %Y}".format),
    "months in full": (MONTHS, "{:%B %Y}".format),
    "year and month": (MONTHS, "{:%Y-%m}".format),
    "months as numbers": (MONTHS, "{:%Y%m}".format, "month"),
    "hours": (DAYS, "{} 00".format),
    "digits and a clock": (DAYS, "{:%Y%m%d 00:00}".format),
    "two digits of the year": (DAYS, "{:%d.%m.%y}".format),
    "weekdays": (DAYS, "{:%A, %B %d, %Y}".format),
    "German, one month": (DAYS[:31], lambda day: f"{day.day}. Januar {day.year}"),
    "days since 1900": (DAYS, lambda day: (day - datetime.date(1899, 12, 30)).days, "date"),
}


def as_file(folder, times, column="time", name="log.csv"):
    small(times).rename(columns={"time": column}).to_csv(folder / name, index=False)
    return folder / name


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_dates(form, tmp_path):
    days, write, *column = FORMS[form]
    log = read_log(as_file(tmp_path, [write(day) for day in days] * 2, *column), ReadOptions(impressions="none"))
    assert datetime.datetime.fromtimestamp(log.first_time, datetime.UTC).date() == days[0]
    assert log.seconds == (days[-1] - days[0]).days * 86_400


@pytest.mark.parametrize(
    ("times", "column", "said"),
    [
        (
            ["2024-01-05"] * 60 + ["1970-01-01"],
            "time",
            "row 61: '1970-01-01' is not a time that can be read, as most.* years from 1990",
        ),
        (["0024-01-05"] * 61, "time", "'0024-01-05' is not a time that can be read: expected"),
        ([202_401 + row % 12 for row in range(70)], "time", r"in two ways .%Y%m or %G%V.; say which with"),
        ([row % 24 for row in range(70)], "hour", "time seems to stand in 'hour'"),
        ([f"{row % 12 + 1}/{row % 11 + 1}/24" for row in range(70)], "time", "can be read in two ways"),
        (["2024 Q1"] * 61, "time", "give the form of all with date_format="),
    ],
)
def test_times_that_are_none_are_refused(times, column, said, tmp_path):
    with pytest.raises(LogError, match=said):
        read_log(as_file(tmp_path, times, column), ReadOptions(impressions="none"))


def test_a_given_form_is_the_only_one(tmp_path):
    """2024-03-01 is also ISO 8601: the form that was asked for must not be passed over."""
    log = read_log(as_file(tmp_path, ["2024-03-01"] * 40 + ["2024-04-01"] * 40), ReadOptions(date_format="%Y-%d-%m"))
    assert log.seconds == 86_400
    log = read_log(as_file(tmp_path, [202_401] * 40 + [202_402] * 40), ReadOptions(date_format="%Y%m"))
    assert log.seconds == 31 * 86_400


@pytest.mark.parametrize("form", ["%m/%d/%Y", "%d/%m/%Y"])
def test_each_file_tells_by_itself_what_comes_first(form, tmp_path):
    february = [datetime.date(2024, 2, day) for day in range(1, 10)]
    as_file(tmp_path, [f"{day:%d/%m/%Y}" for day in DAYS[:31]] * 3, name="a.csv")
    as_file(tmp_path, [f"{day:{form}}" for day in february] * 8, name="b.csv")
    with pytest.raises(LogError, match="and all others of its file can be read in two ways"):
        read_log(tmp_path, ReadOptions(impressions="none"))
    as_file(tmp_path, [f"{day:%d/%m/%Y}" for day in DAYS[20:]] * 8, name="b.csv")
    assert read_log(tmp_path, ReadOptions(impressions="none")).seconds == 39 * 86_400


def test_files_that_count_from_0_are_refused(tmp_path):
    for name in ("a.csv", "b.csv"):
        as_file(tmp_path, [row * 1.5 for row in range(60)], name=name)
    (tmp_path / "b.csv").write_text((tmp_path / "b.csv").read_text().replace("a,", "c,"))
    with pytest.raises(LogError, match="numbers that begin again in other files"):
        read_log(tmp_path)


def test_times_far_from_all_others_are_said(tmp_path):
    times = [f"2024-01-{1 + row % 28:02d} 10:{row % 60:02d}" for row in range(300)]
    assert any("are these right" in note for note in read_log(as_file(tmp_path, [*times, "2042-01-01 10:00"])).notes)
    assert not any("are these right" in note for note in read_log(as_file(tmp_path, times)).notes)
