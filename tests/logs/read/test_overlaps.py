"""Exports that cover the same days are counted once, or refused where they differ."""

import pandas
import pytest

from rotting.logs import LogError, make_log, read_rows
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log

DAYS = pandas.date_range("2024-01-01", periods=30).strftime("%Y-%m-%d")
ROWS = [(day, ad, 1000 + 7 * place, 40 + place) for place, day in enumerate(DAYS) for ad in ("x", "y")]
EXPORT = pandas.DataFrame(ROWS, columns=["Day", "Ad", "Impressions", "Clicks"])
EVENTS = make_log(arms=2, exposures=200, seed=3)


def write(folder, *parts):
    for number, part in enumerate(parts):
        part.to_csv(folder / f"{number:02d}.csv", index=False)
    return folder


def totals(log):
    return {arm.name: (arm.exposures, arm.cells.total.sum()) for arm in log.arms}


TRUTH = totals(read_log(EXPORT))


def windows(frame, restated=0):
    """Return exports of seven days each, one beginning every day; the last day of each lacks some clicks."""
    parts = [frame[frame.Day.isin(DAYS[day : day + 7])] for day in range(24)]
    return [part.assign(Clicks=part.Clicks - restated * (part.Day == part.Day.max())) for part in parts]


@pytest.mark.parametrize(
    "parts",
    [
        [EXPORT, EXPORT],
        [EXPORT, EXPORT[::-1]],
        [EXPORT[:44], EXPORT[40:]],
        windows(EXPORT),
        [pandas.concat([EXPORT, EXPORT])],
    ],
    ids=["twice", "in another order", "two days", "rolling windows", "one file"],
)
def test_days_in_several_exports_are_counted_once(parts, tmp_path):
    log = read_log(write(tmp_path, *parts))
    assert totals(log) == TRUTH
    assert any("same rows" in note or "Files overlap" in note or "counted once" in note for note in log.notes)


def test_files_with_other_arms_or_parts_are_added_up(tmp_path):
    parts = [EXPORT[EXPORT.Ad == ad] for ad in ("x", "y")]
    assert totals(read_log(write(tmp_path, *parts))) == TRUTH
    parts = [EXPORT.assign(Country=country) for country in ("DE", "FR")]
    assert totals(read_log(write(tmp_path, *parts))) == {ad: (2 * n, 2 * c) for ad, (n, c) in TRUTH.items()}


def test_days_with_other_numbers_are_refused_or_taken_from_the_last_file(tmp_path):
    folder = write(tmp_path, *windows(EXPORT, restated=3))
    with pytest.raises(
        LogError, match=r"00.csv and 06.csv have other numbers for the same days of 'x' \(46 such"
    ) as error:
        read_log(folder)
    assert "drop_duplicates" in str(error.value)
    log = read_log(folder, ReadOptions(drop_duplicates=True))
    last = {ad: (n, c) for ad, (n, c) in TRUTH.items()}
    # Each day was exported last by the window that begins with it; the last windows end with the last day.
    assert {ad: n for ad, (n, _) in totals(log).items()} == {ad: n for ad, (n, _) in last.items()}
    assert {ad: c for ad, (_, c) in totals(log).items()} == {ad: c - 3 for ad, (_, c) in last.items()}


def test_countries_that_only_the_names_of_files_tell_are_refused(tmp_path):
    with pytest.raises(LogError, match="if files are parts of the whole, such as countries, add a column"):
        read_log(write(tmp_path, EXPORT, EXPORT.assign(Clicks=EXPORT.Clicks + 1)))


def test_several_rows_of_a_day_are_added_up_and_said():
    log = read_log(pandas.concat([EXPORT, EXPORT.assign(Clicks=EXPORT.Clicks + 1)]))
    assert sum(exposures for exposures, _ in totals(log).values()) == 2 * EXPORT.Impressions.sum()
    assert any("Several rows of one arm and time were added up: 60 times" in note for note in log.notes)


def test_events_that_stand_in_two_files_are_counted_once(tmp_path):
    folder = write(tmp_path, EVENTS[:250], EVENTS[200:])
    assert totals(read_log(folder)) == totals(read_log(EVENTS))
    assert len(read_rows(folder)) == len(EVENTS)


def test_rows_that_repeat_within_files_say_nothing_about_files(tmp_path):
    """Of rows that hold a day and an arm only, most stand in every file."""
    coarse = EVENTS.assign(timestamp=EVENTS.timestamp.dt.date).drop(columns="user_id")
    parts = [coarse[number::4] for number in range(4)]
    assert sum(
        n for n, _ in totals(read_log(write(tmp_path, *parts), ReadOptions(impressions="none"))).values()
    ) == len(EVENTS)
