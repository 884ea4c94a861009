"""Logs are counted right, whatever they come in, and what is wrong with them is said."""

import contextlib
import gzip
import sqlite3
import sys

import duckdb
import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import BadValue, MissingExtra
from rotting.logs import LogError, counting, make_log
from rotting.logs.reading import read_log

SMALL = make_log(arms=3, exposures=200, seed=1)


def small(**columns):
    """Return a plain log of two arms with 60 rows, some of its columns replaced."""
    rows = np.arange(60)
    return pandas.DataFrame(
        {"arm": np.where(rows % 2, "a", "b"), "reward": (rows % 3 == 0) * 1.0, "time": rows.astype(float), **columns}
    )


def sums_of(log):
    return {arm.name: (arm.exposures, float(arm.cells.total.sum()), float(arm.cells.squares.sum())) for arm in log.arms}


# Where logs come from.


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


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(-3, 3)), min_size=70, max_size=120))
def test_exposures_are_numbered_by_time_then_by_row(rows):
    frame = pandas.DataFrame(rows, columns=["arm", "time", "reward"])
    try:
        log = read_log(frame)
    except LogError:
        assert frame.arm.value_counts().max() < counting.LEAST_EXPOSURES
        return
    for arm in log.arms:
        own = frame[frame.arm == arm.name].sort_values("time", kind="stable").reward.to_numpy()
        assert arm.cells.count.sum() == len(own)
        assert np.array_equal(np.repeat(arm.cells.mean, arm.cells.count.astype(int)), own)
        assert arm.noise_variance == pytest.approx((np.diff(own) ** 2).sum() / 2 / (len(own) - 1))


def test_long_histories_are_summed_in_bins(monkeypatch):
    monkeypatch.setattr(counting, "MOST_BINS", 16)
    log = read_log(SMALL)
    assert all(len(arm.cells.count) <= 16 + counting.SLICES for arm in log.arms)
    assert sums_of(log) == sums_of(read_log(SMALL))


def test_exposures_per_unit():
    frame = small(user=np.arange(60) // 4)
    log = read_log(frame, unit="user")
    assert log.per_unit
    assert all(arm.cells.exposure.max() == 1 for arm in log.arms)
    assert all(arm.cells.count[arm.cells.exposure == 0].sum() == 15 for arm in log.arms)


# Columns.


@pytest.mark.parametrize(
    ("columns", "guessed"),
    [
        (["item_id", "click", "timestamp"], ("item_id", "click", "timestamp")),
        (["Creative", "Clicked", "event_time"], ("Creative", "Clicked", "event_time")),
        (["shown ad", "was_click", "ts"], ("shown ad", "was_click", "ts")),
        (["variant", "revenue"], ("variant", "revenue", None)),
    ],
)
def test_columns_are_guessed(columns, guessed):
    frame = small().iloc[:, : len(columns)].set_axis(columns, axis=1)
    found = read_log(frame).columns
    assert (found.arm, found.reward, found.time) == guessed
    assert set(found.guessed) == {"arm", "reward", *(["time"] if guessed[2] else [])}


def test_a_unit_is_mentioned_but_not_assumed():
    found = read_log(small(user_id=1)).columns
    assert (found.unit, found.possible_unit) == (None, "user_id")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"arm": "rewards"}, "arm='rewards' is not a column of the log; did you mean 'reward'"),
        ({"reward": "clcik"}, "the log has 'arm', 'reward', 'time'"),
        ({"arm": "reward", "reward": "reward"}, "cannot be two things at once"),
    ],
)
def test_missing_columns(asked, said):
    with pytest.raises(LogError, match=said):
        read_log(small(), **asked)


def test_nothing_to_guess_from():
    with pytest.raises(LogError, match="no column looks like the arm; the log has 'x', 'y', 'z'; name it with arm="):
        read_log(small().set_axis(["x", "y", "z"], axis=1))


def test_odd_column_names_are_only_names():
    names = ['a"; DROP TABLE log; --', "reward'); SELECT 1", "time\n"]
    log = read_log(small().set_axis(names, axis=1), arm=names[0], reward=names[1], time=names[2])
    assert [arm.exposures for arm in log.arms] == [30, 30]


# Rows.


@pytest.mark.parametrize("value", ["abc", "1,5", "inf", "-1e60", "--"])
def test_unparsable_rewards(value, tmp_path):
    frame = small().astype({"reward": object})
    frame.loc[[6, 9], "reward"] = value
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(LogError, match=r"reward column 'reward', row 7: '.*' is not a finite number.*1 more") as error:
        read_log(tmp_path / "log.csv")
    assert value in str(error.value)
    assert error.value.value == value
    assert isinstance(error.value, BadValue)
    assert error.value.text(lambda name: f"--{name}").endswith(
        "with --reward; empty values would be dropped and counted"
    )


def test_unparsable_times(tmp_path):
    frame = small().astype({"time": object})
    frame.loc[4, "time"] = "yesterday"
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(
        LogError, match="time column 'time', row 5: 'yesterday' is not a time that can be read: expected ISO 8601"
    ):
        read_log(tmp_path / "log.csv")


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize(
    ("column", "reason"), [("arm", "no arm"), ("reward", "no reward"), ("time", "no time"), ("user", "no unit")]
)
def test_missing_values_are_dropped_and_counted(column, reason, as_file, tmp_path):
    frame = small(user=np.arange(60.0) % 5)
    extra = pandas.concat([frame] * 2, ignore_index=True)
    extra.loc[[3, 5, 8], column] = None
    if as_file:
        extra.to_csv(tmp_path / "log.csv", index=False)
    log = read_log(tmp_path / "log.csv" if as_file else extra, unit="user")
    assert log.dropped == {reason: 3}
    assert (log.rows, log.exposures) == (120, 117)


def test_nan_texts_are_missing_values(tmp_path):
    frame = pandas.concat([small()] * 2, ignore_index=True).astype({"reward": object})
    frame.loc[:3, "reward"] = ["NaN", "nan", "NULL", " "]
    frame.to_csv(tmp_path / "log.csv", index=False)
    assert read_log(tmp_path / "log.csv").dropped == {"no reward": 4}


def test_true_and_false_are_rewards(tmp_path):
    frame = small().astype({"reward": bool})
    frame.to_csv(tmp_path / "log.csv", index=False)
    assert sums_of(read_log(tmp_path / "log.csv")) == sums_of(read_log(frame)) == sums_of(read_log(small()))
    assert read_log(frame).binary


def test_all_rows_dropped():
    with pytest.raises(LogError, match=r"no usable row is left \(no reward: 60\)"):
        read_log(small(reward=np.nan))


def test_duplicates_are_counted_and_kept_unless_asked():
    doubled = pandas.concat([small(), small().iloc[:7]], ignore_index=True)
    log = read_log(doubled)
    assert (log.duplicates, log.exposures, log.dropped) == (7, 67, {})
    log = read_log(doubled, drop_duplicates=True)
    assert (log.duplicates, log.exposures, log.dropped) == (7, 60, {"duplicate": 7})


def test_rows_without_time_or_unit_are_never_called_duplicates():
    assert read_log(small().drop(columns="time")).duplicates == 0


def test_time_going_backwards_is_counted_and_put_right():
    shuffled = small().iloc[[*range(30, 60), *range(30)]]
    log = read_log(shuffled)
    assert log.backwards == 1
    straight = read_log(small())
    assert straight.backwards == 0
    means = [{arm.name: arm.cells.mean.tolist() for arm in each.arms} for each in (log, straight)]
    assert means[0] == means[1]


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
    small(time=times).to_csv(tmp_path / "log.csv", index=False)
    log = read_log(tmp_path / "log.csv")
    assert log.backwards == 0
    assert {round(float(time), 6) for arm in log.arms for time in arm.cells.time} == {0.0, 1.0}


@pytest.mark.parametrize(
    "text",
    ["01/01/2024 00:00", "31.01.2024", "Jan 1 2024", "2024-01-01 10:00 PM", "2024-01-01 (BC)", "infinity", "24:00"],
)
def test_times_that_could_be_read_in_two_ways_are_refused(text, tmp_path):
    small(time=["2024-01-01"] * 7 + [text] * 53).to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(LogError, match=r"time column 'time', row 8: .*ISO 8601 \(2024-01-31.*milliseconds") as error:
        read_log(tmp_path / "log.csv")
    assert repr(text) in str(error.value)


def test_rare_arms_are_left_out_and_counted():
    frame = pandas.concat([small(), pandas.DataFrame({"arm": ["c"] * 5, "reward": 1.0, "time": 99.0})])
    log = read_log(frame)
    assert (log.arms_left_out, log.rows_left_out, len(log.arms)) == (1, 5, 2)


def test_too_few_exposures_of_every_arm():
    with pytest.raises(LogError, match="no arm has 30 exposures"):
        read_log(small().iloc[:20])


# Files that are none.


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
        ("log.csv", b"\xff\xfe\x00\x01" * 50, "line 1 is not UTF-8 text; save the file as UTF-8$"),
        ("log.csv", b"arm,reward,time\n" + b"caf\xe9,1,2\n" * 40, "line 2 is not UTF-8 text; save the file as UTF-8$"),
        ("log.csv", b"arm,reward,time\na,1\nb,2,3,4\n", "not fit the header"),
        ("log.csv", b"arm;reward;time\n" + b"a;1;2\n" * 40_000 + b"a;1;2;3\n", "line 40002 does not fit the header"),
        ("log.csv.gz", b"\x1f\x8b but no more", "cannot be read"),
        ("log.csv.gz", gzip.compress(b'arm,reward,time\n"a\nb",1,2\na,1\n', mtime=0), "line 4 does not fit the header"),
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
    with pytest.raises(LogError, match="names no table"):
        read_log(log.removesuffix("shown"))


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


# Rewards far from zero.


@pytest.mark.parametrize(("offset", "scale"), [(1e6, 1.0), (1e9, 0.001), (-1e6, 1.0)])
def test_rewards_far_from_zero_are_centred(offset, scale):
    log = read_log(small(reward=offset + scale * small().reward))
    assert log.offset == offset
    assert not log.binary
    for mine, other in zip(log.arms, read_log(small()).arms, strict=True):
        assert mine.cells.total == pytest.approx(scale * other.cells.total, abs=1e-6)
        assert mine.cells.squares == pytest.approx(scale**2 * other.cells.squares, abs=1e-9)
        assert mine.noise_variance == pytest.approx(scale**2 * other.noise_variance, rel=1e-3)


@pytest.mark.parametrize("rewards", [[0.0, 1.0], [2.5, 2.5], [10.0, 11.0], [-1.0, 1.0]])
def test_other_rewards_are_not(rewards):
    assert read_log(small(reward=rewards * 30)).offset == 0


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
    log = read_log(named(kind, tmp_path), unit="user")
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
