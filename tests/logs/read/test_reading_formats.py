"""Logs as they come out of companies are read rightly, or refused with what to do; none is misread."""

import datetime
import gzip
import io
import json
import zipfile

import openpyxl
import pandas
import pytest

from rotting.logs import LogError, read_rows
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log
from small_logs import sums_of

START = datetime.datetime(2024, 1, 5, 0, 30)
ROWS = 120


def rows(reward=lambda row: row % 3 == 0, hours=7):
    """Return arms, rewards and times of a log with a known truth."""
    moments = [START + datetime.timedelta(hours=hours * row) for row in range(ROWS)]
    return [("ab"[row % 2], reward(row), moment) for row, moment in enumerate(moments)]


def text(reward="{:d}", time="{:%Y-%m-%d %H:%M:%S}", mark=",", header=("arm", "reward", "time"), values=None):
    """Write the log as a table."""
    lines = [mark.join(header)]
    for arm, earned, moment in values or rows():
        shown = reward(earned) if callable(reward) else reward.format(earned)
        when = time(moment) if callable(time) else time.format(moment)
        lines.append(mark.join([arm, shown, when]))
    return "\n".join(lines) + "\n"


def money(row):
    return 1000.5 + row * 7.25 if row % 2 else 0.0


def grouped(thousands, point):
    def write(value):
        return f"{value:,.2f}".replace(",", "T").replace(".", point).replace("T", thousands)

    return write


def excel():
    book = openpyxl.Workbook()
    book.active.append(["Report of January"])
    book.active.append(["arm", "reward", "time"])
    for row in rows():
        book.active.append(row)
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def zipped(content):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("folder/log.csv", content)
    return target.getvalue()


def records():
    return [{"arm": arm, "reward": int(reward), "time": str(time)} for arm, reward, time in rows()]


def epoch(factor):
    return lambda moment: str(int(moment.replace(tzinfo=datetime.UTC).timestamp() * factor))


MONEY = rows(money)
PREAMBLE = "Ad report\n1 January 2024 - 31 January 2024\n\n"
FORMATS = {
    "plain": ("log.csv", text()),
    "byte order mark": ("log.csv", text().encode("utf-8-sig")),
    "utf-16": ("log.csv", text().encode("utf-16")),
    "utf-16 with tabs": ("log.txt", text(mark="\t").encode("utf-16")),
    "gzip": ("log.csv.gz", gzip.compress(text().encode())),
    "zip": ("log.zip", zipped(text())),
    "semicolons": ("log.csv", text(mark=";")),
    "the header once more": ("log.csv", text() + "arm,reward,time\n"),
    "tabs": ("log.tsv", text(mark="\t")),
    "json lines": ("log.jsonl", "\n".join(map(json.dumps, records()))),
    "json lines, packed": ("log.jsonl.gz", gzip.compress("\n".join(map(json.dumps, records())).encode())),
    "json array": ("log.json", json.dumps(records())),
    "excel": ("log.xlsx", excel()),
    "lines above the header": ("log.csv", PREAMBLE + text()),
    "notes below the table": ("log.csv", text() + "\nGroup By:,Date\n\nMade by a platform\n"),
    "yes and no": ("log.csv", text(reward=lambda value: "Yes" if value else "No")),
    "true and false": ("log.csv", text(reward=lambda value: "TRUE" if value else "FALSE")),
    "one and empty": ("log.csv", text(reward=lambda value: "1" if value else "")),
    "one and \\N": ("log.csv", text(reward=lambda value: "1" if value else "\\N")),
    "y and n": ("log.csv", text(reward=lambda value: "Y" if value else "n")),
    "texts of spreadsheets": ("log.csv", text(reward="'{:d}").replace("a,", '"=""a""",')),
    "percent": ("log.csv", text(reward=lambda value: "100%" if value else "0 %")),
    "null as asked for": ("log.csv", text(reward=lambda v: "1" if v else "?"), {"null": "?", "missing_reward": "0"}),
    "seconds": ("log.csv", text(time=epoch(1))),
    "milliseconds": ("log.csv", text(time=epoch(1000))),
    "nanoseconds": ("log.csv", text(time=epoch(10**9))),
    "offsets": ("log.csv", text(time="{:%Y-%m-%dT%H:%M:%S+00:00}")),
    "dd/mm/yyyy": ("log.csv", text(time="{:%d/%m/%Y %H:%M}")),
    "mm/dd/yyyy AM": ("log.csv", text(time="{:%m/%d/%Y %I:%M %p}")),
    "dd.mm.yyyy": ("log.csv", text(time="{:%d.%m.%Y %H:%M:%S}")),
    "iso AM": ("log.csv", text(time="{:%Y-%m-%d %I:%M:%S %p}")),
    "month names": ("log.csv", text(time="{:%d %b %Y %H:%M}")),
}
AMOUNTS = {
    "dollars": ("log.csv", text(reward=lambda value: f"${value:.2f}", values=MONEY)),
    "euros": ("log.csv", text(reward=lambda v: grouped(".", ",")(v) + " €", mark=";", values=MONEY)),
    "thousands": ("log.csv", text(reward=lambda v: f'"{v:,.2f}"', values=MONEY)),
    "decimal comma": ("log.csv", text(reward=grouped("", ","), mark=";", values=MONEY)),
    "apostrophes": ("log.csv", text(reward=grouped("'", "."), values=MONEY)),
    "rupees": ("log.csv", text(reward=lambda v: f'"₹{v:,.2f}"', values=MONEY)),
    "crowns": ("log.csv", text(reward=lambda v: grouped(".", ",")(v) + " kr", mark=";", values=MONEY)),
    "spaces": ("log.csv", text(reward=grouped("\u202f", ","), mark=";", values=MONEY)),
    "three decimals as asked for": ("log.csv", text(reward="{:.3f}", values=MONEY), {"decimal": "."}),
    "frame": ("log.csv", text(reward="{!r}", values=MONEY)),
}


def read(folder, name, content, options=None):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_log(path, ReadOptions(**(options or {})))


def truth_of(values):
    frame = pandas.DataFrame(values, columns=["arm", "reward", "time"])
    return {arm: list(own.reward.astype(float)) for arm, own in frame.groupby("arm")}


@pytest.mark.parametrize("name", [*FORMATS, *AMOUNTS])
def test_formats(name, tmp_path):
    log = read(tmp_path, *(FORMATS | AMOUNTS)[name])
    truth = truth_of(MONEY if name in AMOUNTS else rows())
    assert {arm.name: (arm.cells.total + log.offset).tolist() for arm in log.arms} == truth
    assert (log.rows, log.dropped, log.backwards) == (ROWS, {}, 0)
    assert log.seconds == (ROWS - 1) * 7 * 3600
    assert log.first_time == START.replace(tzinfo=datetime.UTC).timestamp()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (text(reward=lambda value: '"1,234"' if value else "7"), "'1,234' could be 1.234 or 1234; say which mark"),
        (text(reward=lambda value: "1.234" if value else "7"), "'1.234' could be 1.234 or 1234; say which mark"),
        (text(reward=lambda value: "1,5" if value else "1.5", mark=";"), "cannot both be numbers; say which mark"),
        (text(reward=lambda value: "$3" if value else "€3"), r"different currencies \('\$', '€'\)"),
        (text(reward=lambda value: "3%" if value else "$3"), "holds percentages and other numbers"),
        (text(reward=lambda value: "4" if value else "").replace("a,4", "a,5"), "nothing earned, or not known"),
        (text(time=lambda moment: f"{moment:%m}/{moment.day % 12 + 1:02d}/2024"), "can be read in two ways"),
        (text(time=lambda moment: f"{moment:%m/%d/%Y}" if moment.day < 20 else f"{moment:%d/%m/%Y}"), "is not a time"),
        (text(time=lambda moment: f"{moment}" if moment.day < 20 else f"{moment}+02:00"), "without an offset from UTC"),
        (
            text(time=lambda moment: f"{moment}" if moment.day < 20 else epoch(1)(moment)),
            "as most others are .ISO 8601",
        ),
        (text(time=lambda moment: epoch(1 if moment.day < 20 else 1000)(moment)), "as most others are .seconds since"),
        (text(time=lambda moment: "0" if moment.day == 9 else epoch(1)(moment)), "'0' is not a time that can be read"),
        ("a title\n" + text().split("\n", 1)[1], "line 2 .*does not fit the header"),
        (text().encode("utf-16-le"), "is not UTF-8 text; save.* encoding=, such as utf-16-le"),
        (text().encode() + b"caf\xe9,1,2024-01-01\n", "name its encoding with encoding="),
        (text().replace("a,", "café,").encode("latin-1"), "line 2 is not UTF-8 text; save"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(content, said, tmp_path):
    with pytest.raises(LogError, match=said):
        read(tmp_path, "log.csv", content)


@pytest.mark.parametrize("lines", [0, 1, 40])
def test_line_ends_of_two_kinds(lines, tmp_path):
    first, last = ["a title", *text().splitlines()][: lines + 1], text().splitlines()[lines:]
    content = "\n".join(first) + "\n" + "\r\n".join(last) + "\r\n"
    assert sums_of(read(tmp_path, "log.csv", content)) == sums_of(read(tmp_path, "plain.csv", text()))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le"])
def test_encodings_as_asked_for(encoding, tmp_path):
    content = text().replace("a,", "café,").encode(encoding)
    log = read(tmp_path, "log.csv", content, {"encoding": encoding})
    assert {arm.name for arm in log.arms} == {"café", "b"}
    with pytest.raises(LogError, match="encoding='latin-0' is no encoding; expected a name such as utf-8"):
        read(tmp_path, "log.csv", content, {"encoding": "latin-0"})


def test_what_was_decided_is_said(tmp_path):
    notes = read(tmp_path, "log.csv", PREAMBLE + text(reward=lambda v: "1" if v else "", time="{:%d/%m/%Y}")).notes
    assert any("Lines above the header were skipped: 3" in note for note in notes)
    assert any("read as %d/%m/%Y" in note for note in notes)
    assert any("Missing rewards were taken to be 0" in note and "80 of 120 rows" in note for note in notes)


def test_missing_rewards_as_asked_for(tmp_path):
    content = text(reward=lambda value: "1" if value else "")
    with pytest.raises(LogError, match="no arm has 30"):
        read(tmp_path, "log.csv", content, {"missing_reward": "drop"})
    with pytest.raises(LogError, match="missing_reward='5' is not known; expected '0' or 'drop'"):
        ReadOptions(missing_reward="5")


@pytest.mark.parametrize(("form", "day"), [("%d/%m/%Y", 2), ("%m/%d/%Y", 1)])
def test_dates_as_asked_for(form, day, tmp_path):
    log = read(tmp_path, "log.csv", text(time="01/02/2024"), {"date_format": form})
    assert datetime.datetime.fromtimestamp(log.first_time, datetime.UTC).month == day


def test_dates_as_digits(tmp_path):
    for form in ("{:%Y%m%d}", "{:%Y%m%d%H}"):
        log = read(tmp_path, "log.csv", text(time=form))
        assert log.seconds == pytest.approx((ROWS - 1) * 7 * 3600, abs=86400)


@pytest.mark.parametrize("thousands", [",", "."])
def test_exports_with_thousands(thousands, tmp_path):
    lines = ["Day;Ad name;Impr.;Clicks;Cost;CTR"]
    for day in range(1, 29):
        for ad in ("x", "y"):
            numbers = [f"{number:,}".replace(",", thousands) for number in (2000 + day, 1000 + day)]
            lines.append(f"2024-01-{day:02d};{ad};{numbers[0]};{numbers[1]};€ 3;2%")
    log = read(tmp_path, "log.csv", "\n".join(lines))
    assert log.binary
    assert [(arm.exposures, arm.cells.total.sum()) for arm in log.arms] == [(56_000 + 406, 28_000 + 406)] * 2


def test_rows_for_a_bandit(tmp_path):
    (tmp_path / "log.csv").write_text(text(header=("arm", "reward", "time"), time="{:%d/%m/%Y %H:%M}"))
    found = read_rows(tmp_path / "log.csv")
    seconds = [moment.replace(tzinfo=datetime.UTC).timestamp() for _, _, moment in rows()]
    assert [(row["arm"], row["reward"], row["time"]) for row in found] == [
        (arm, float(reward), time) for (arm, reward, _), time in zip(rows(), seconds, strict=True)
    ]
    frame = pandas.DataFrame({"arm": "a", "reward": [1.0, 0.0], "propensity": [0.25, 0.5], "time": [7.0, 3.0]})
    assert read_rows(frame) == [
        {"arm": "a", "reward": 0.0, "probability": 0.5},
        {"arm": "a", "reward": 1.0, "probability": 0.25},
    ]
    with pytest.raises(LogError, match="each row stands for many exposures"):
        read_rows(frame.assign(impressions=9))


def export(*more, shown=1000, clicks=40):
    """Write an export of two ads and 40 days, each row followed by rows with other devices."""
    lines = ["Day,Ad,Device,Impressions,Clicks"]
    for day in pandas.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d"):
        for ad in ("x", "y"):
            parts = (("mobile", shown // 2, clicks // 2), ("desktop", shown // 2, clicks // 2), *more)
            lines += [f"{day},{ad},{device},{count},{total}" for device, count, total in parts]
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["All", ""])
def test_a_breakdown_with_its_own_sums_is_refused(name, tmp_path):
    with pytest.raises(LogError, match="is the sum of all others at all times"):
        read(tmp_path, "log.csv", export((name, 1000, 40)))
    log = read(tmp_path, "log.csv", export(("tablet", 999, 40)))
    assert [arm.exposures for arm in log.arms] == [40 * 1999] * 2
    assert [arm.exposures for arm in read(tmp_path, "log.csv", export()).arms] == [40 * 1000] * 2


def test_more_clicks_than_impressions(tmp_path):
    with pytest.raises(LogError, match="are the columns swapped"):
        read(tmp_path, "log.csv", export(shown=40, clicks=1000))
    log = read(tmp_path, "log.csv", export().replace("2024-01-01,x,mobile,500,20", "2024-01-01,x,mobile,500,900"))
    assert any(note.startswith("More clicks than impressions: 1 rows") for note in log.notes)


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", " "])
def test_spaces_that_do_not_break_stand_before_currencies(space, tmp_path):
    log = read(tmp_path, "log.csv", text(reward="{:d},50" + space + "€", mark=";"))
    assert sum(arm.cells.total.sum() for arm in log.arms) == 40 + ROWS / 2


def test_lakhs_are_grouped_by_two(tmp_path):
    log = read(tmp_path, "log.csv", text(reward=lambda value: '"₹1,23,456.50"' if value else "0"))
    assert sum(arm.cells.total.sum() for arm in log.arms) == 40 * 123_456.5


def test_a_file_in_doubt_is_not_read_by_the_mark_of_another(tmp_path):
    """2.250 is two and a quarter in a file of its own, and would be 2250 beside a file with decimal commas."""
    (tmp_path / "a.csv").write_text(text(reward=lambda value: "2.250" if value else "3.125"))
    (tmp_path / "b.csv").write_text(text(reward=lambda value: "1,5" if value else "0,5", mark=";"))
    with pytest.raises(
        LogError, match=r"'2.250' could be 2.25 or 2250, and only other files tell which; say which mark"
    ):
        read_log(tmp_path)


def test_odd_ends_of_lines_are_an_error_of_one_line(tmp_path):
    with pytest.raises(LogError, match="ordinary line ends"):
        read(tmp_path, "log.csv", text().replace("\n", "\r"))


def test_names_of_groups_of_columns_above_the_header_are_skipped(tmp_path):
    log = read(tmp_path, "log.csv", ",Results,\n" + text())
    assert sums_of(log) == sums_of(read(tmp_path, "plain.csv", text()))
    assert "Lines above the header were skipped: 1." in log.notes
