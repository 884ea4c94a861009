"""Logs are read from any kind of file, and what is none is said to be none."""

import contextlib
import gzip
import sqlite3
import sys

import duckdb
import numpy as np
import pandas
import pytest

from rotting.errors import MissingExtra
from rotting.logs import LogError, make_log
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log
from small_logs import small, sums_of

SMALL = make_log(arms=3, exposures=200, seed=1)


def stored(kind, folder):
    if kind in ("csv", "csv.gz", "CSV"):
        path = folder / f"log.{kind}"
        SMALL.to_csv(path, index=False)
        return path
    if kind == "sqlite":
        with sqlite3.connect(folder / "log.db") as database:
            SMALL.astype({"timestamp": str}).to_sql("shown", database, index=False)
        database.close()
        return f"{folder / 'log.db'}::shown"
    database = duckdb.connect(str(folder / "log.duckdb"))
    database.register("frame", SMALL)
    if kind == "parquet":
        database.execute("COPY frame TO $1 (FORMAT parquet)", [str(folder / "log.parquet")])
        return str(folder / "log.parquet")
    database.execute("CREATE TABLE shown AS SELECT * FROM frame")
    database.close()
    return folder / "log.duckdb"


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "CSV", "parquet", "sqlite", "duckdb"])
def test_every_kind_says_the_same_as_the_frame(kind, tmp_path):
    expected, found = read_log(SMALL), read_log(stored(kind, tmp_path))
    assert sums_of(found) == sums_of(expected)
    assert found.columns == expected.columns
    for mine, other in zip(expected.arms, found.arms, strict=True):
        assert np.array_equal(mine.cells.exposure, other.cells.exposure)
        assert np.allclose(mine.cells.time, other.cells.time)


def test_the_file_is_left_as_it_was(tmp_path):
    path = stored("duckdb", tmp_path)
    before = path.read_bytes()
    read_log(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_no_rows(tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward,time\n")
    with pytest.raises(LogError, match="there are no rows"):
        read_log(tmp_path / "log.csv")
    with pytest.raises(LogError, match="there are no rows"):
        read_log(small().iloc[:0])
    (tmp_path / "log.csv").write_text("")
    with pytest.raises(LogError, match="is empty"):
        read_log(tmp_path / "log.csv")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("log.xyz", b"hello", "of no kind that can be read"),
        ("log.parquet", b"PAR1 but nothing else", "cannot be read"),
        ("log.db", b"SQLite format 3\0 and then nonsense", "cannot be read"),
        ("log.csv", b"\xff\xff\x00\x01" * 50, "is not UTF-8 text; save the file as UTF-8, or name"),
        (
            "log.csv",
            b"arm,reward,time\n" + b"caf\xe9,1,2\n" * 40,
            "line 2 is not UTF-8 text; save the file as UTF-8, or name",
        ),
        ("log.csv", b"arm,reward,time\na,1\nb,2,3,4\n", "not fit the header"),
        (
            "log.csv",
            b"arm;reward;time\n" + b"a;1;2\n" * 40_000 + b"a;1;2;3\n",
            "line 40002 .'a;1;2;3'. does not fit the header",
        ),
        (
            "log.csv",
            b"arm,reward,time,text\n" + b'a,1,2,"x\ny"\n' * 50 + b"a,1,3,one\rtwo\n" * 3 + b'a,1,4,"z"\n' * 40,
            "has lines that do not fit the header",
        ),
        ("log.csv.gz", b"\x1f\x8b but no more", "cannot be read"),
        ("log.csv.gz", gzip.compress(b'arm,reward,time\n"a\nb",1,2\na,1\n', mtime=0), "'a,1'. does not fit the header"),
        (
            "log.csv.gz",
            gzip.compress(b"arm,reward,time\n" + b"caf\xe9,1,2\n" * 40, mtime=0),
            "line 2 is not UTF-8 text",
        ),
    ],
)
def test_broken_files(name, content, said, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LogError, match=said) as error:
        read_log(tmp_path / name)
    assert "\n" not in str(error.value)


def test_missing_file_and_table(tmp_path):
    with pytest.raises(LogError, match="No such file"):
        read_log(tmp_path / "nowhere.csv")
    log = stored("sqlite", tmp_path)
    with pytest.raises(LogError, match="there is no table 'hidden'; expected one of 'shown'"):
        read_log(log.replace("shown", "hidden"))
    assert read_log(log.removesuffix("shown")).rows == read_log(log).rows


@pytest.mark.parametrize("thing", [None, 5, object(), [1, 2]])
def test_what_is_no_log(thing):
    with pytest.raises(LogError, match="expected a file, or a frame"):
        read_log(thing)


class Elsewhere:
    """A frame of another library, such as Polars or Arrow: it can turn into one of pandas, if all is installed."""

    def __init__(self, frame):
        self.frame = frame

    def to_pandas(self):
        if self.frame is None:
            raise ImportError("pyarrow is required\nfor that")
        return self.frame


def test_frames_of_other_libraries():
    assert sums_of(read_log(Elsewhere(small()))) == sums_of(read_log(small()))
    with pytest.raises(
        LogError, match=r"Elsewhere: cannot be read \(pyarrow is required for that\); expected a file"
    ) as error:
        read_log(Elsewhere(None))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators_are_seen_in_the_header(separator, tmp_path):
    small().to_csv(tmp_path / "log.csv", index=False, sep=separator)
    assert sums_of(read_log(tmp_path / "log.csv")) == sums_of(read_log(small()))


def test_without_duckdb_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingExtra, match=r"install rotting\[logs\]"):
        read_log(small())


# What is missing, and what is a name.

NAMES = ["none", "NA", "null", "NaN", "N/A"]
MISSING = [None, "", " "]


def named(kind, folder):
    """Return a log with arms and units of all these names and without any, stored as some kind of source."""
    names = [*NAMES, *MISSING] * 40
    arm, unit = names, [*names[1:], names[0]]
    frame = pandas.DataFrame({"arm": arm, "reward": np.arange(len(arm)) % 2, "user": unit})
    if kind == "frame":
        return frame
    if kind == "categories":
        return frame.astype({"arm": "category", "user": "category"})
    if kind in ("csv", "csv.gz"):
        frame.to_csv(folder / f"log.{kind}", index=False)
        return folder / f"log.{kind}"
    if kind == "sqlite":
        with contextlib.closing(sqlite3.connect(folder / "log.db")) as database:
            frame.to_sql("shown", database, index=False)
        return folder / "log.db"
    path = folder / f"log.{kind}"
    with duckdb.connect(str(path) if kind == "duckdb" else ":memory:") as database:
        database.register("frame", frame)
        into = f"COPY frame TO '{path}' (FORMAT parquet)" if kind == "parquet" else "CREATE TABLE t AS FROM frame"
        database.execute(into)
    return path


@pytest.mark.parametrize("kind", ["frame", "categories", "csv", "csv.gz", "sqlite", "parquet", "duckdb"])
def test_arms_and_units_called_none_are_names_and_empty_fields_are_missing(kind, tmp_path):
    log = read_log(named(kind, tmp_path), ReadOptions(unit="user"))
    assert {arm.name: arm.exposures for arm in log.arms} == dict.fromkeys(NAMES[:-1], 40)  # N/A: next to no unit
    assert log.dropped == {"no arm": 120, "no unit": 40}


@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_numbers_that_are_no_numbers_name_no_arm(kind, tmp_path):
    frame = small(arm=np.where(np.arange(60) < 50, 7.0, np.nan))
    if kind == "parquet":
        with duckdb.connect() as database:
            query = "SELECT CASE WHEN time < 50 THEN 7.0::DOUBLE ELSE 'nan'::DOUBLE END AS arm, reward, time FROM frame"
            database.execute(f"COPY ({query}) TO '{tmp_path / 'log.parquet'}' (FORMAT parquet)")
    log = read_log(frame if kind == "frame" else tmp_path / "log.parquet")
    assert [(arm.name, arm.exposures) for arm in log.arms] == [("7.0", 50)]
    assert log.dropped == {"no arm": 10}


@pytest.mark.parametrize("index", [["time"], ["time", "creative"], None], ids=str)
def test_the_index_of_a_frame_is_not_lost(index):
    shuffled = SMALL.rename(columns={"timestamp": "time"}).sample(frac=1, random_state=1)
    log = read_log(shuffled.set_index("time").rename_axis(index=None) if index is None else shuffled.set_index(index))
    assert log.columns.time == "time"
    assert sums_of(log) == sums_of(read_log(shuffled))
