"""The log in portions: ranges of it, and files in four formats."""

import datetime
import json

import pandas
import pytest

from bandit import tables as schema
from rotting import Bandit, EffFEWA
from rotting.bandit import BadSettings, UnknownArm
from rotting.bandit.log import streaming

COLOURS = ["red", "green", "blue"]
MIDNIGHT = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


@pytest.fixture
def now(monkeypatch):
    """Return a clock of one element that stands still."""
    clock = [MIDNIGHT.timestamp()]
    schema.set_clock(monkeypatch, lambda: clock[0])
    return clock


@pytest.fixture
def bandit(url, now):
    """Return a bandit with an hour between its calls, and something of everything in its log."""
    with Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS, epsilon=0.2, holdout=0.2) as bandit:
        for place in range(20):
            now[0] += 3600.25
            choice = bandit.decide(among=["red", "blue"] if place % 3 == 0 else None)
            bandit.reward(choice.id, place / 7)
        bandit.change(epsilon=0.1)
        bandit.retire_arm("green")
        bandit.decide(5)
        yield bandit


def test_portions_are_the_whole(bandit):
    whole = bandit.history()
    assert whole["seq"].tolist() == list(range(1, 51))
    for size in (1, 7, 49, 50, 51):
        parts = list(bandit.history_portions(size=size))
        assert [len(part) for part in parts[:-1]] == [size] * (len(parts) - 1)
        pandas.testing.assert_frame_equal(pandas.concat(parts, ignore_index=True), whole)


def test_ranges_are_those_of_the_whole_table(bandit):
    whole = bandit.history()
    since, until = MIDNIGHT + datetime.timedelta(hours=3), MIDNIGHT + datetime.timedelta(hours=9.002)
    inside = (whole["at"] >= since) & (whole["at"] < until)
    for wanted, expected in [
        ({"since": since}, whole[whole["at"] >= since]),
        ({"until": until}, whole[whole["at"] < until]),
        ({"since": since, "until": until}, whole[inside]),
        ({"since": "2026-03-01 03:00", "until": until.isoformat()}, whole[inside]),
        ({"since": since.astimezone(datetime.timezone(datetime.timedelta(hours=5)))}, whole[whole["at"] >= since]),
        ({"arm": "blue"}, whole[whole["arm"] == "blue"]),
        ({"arm": "blue", "since": since, "until": until}, whole[inside & (whole["arm"] == "blue")]),
        ({"after": 30}, whole[whole["seq"] > 30]),
        ({"after": 30, "limit": 4}, whole[30:34]),
        ({"arm": "red", "limit": 3}, whole[whole["arm"] == "red"][:3]),
        ({"since": "2030-01-01"}, whole[:0]),
        ({"until": "1980-01-01"}, whole[:0]),
    ]:
        found = bandit.history(**wanted)
        pandas.testing.assert_frame_equal(found, expected.reset_index(drop=True), check_dtype=len(expected) > 0)


@pytest.mark.parametrize(
    ("wanted", "error", "words"),
    [
        ({"since": "yesterday"}, BadSettings, "since='yesterday' is not a time"),
        ({"until": 5}, BadSettings, "until=5 is not a time"),
        ({"arm": "mauve"}, UnknownArm, "mauve"),
        ({"after": -1}, BadSettings, "after=-1"),
        ({"limit": 0}, BadSettings, "limit=0"),
    ],
)
def test_what_is_no_range_is_refused(bandit, wanted, error, words):
    with pytest.raises(error, match=words):
        bandit.history(**wanted)


def test_what_comes_while_the_log_is_read_is_not_part_of_it(bandit):
    parts = bandit.history_portions(size=10)
    first = next(parts)
    bandit.decide(30)
    assert len(first) + sum(map(len, parts)) == 50


def read_lines(path):
    frame = pandas.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    return frame.assign(at=pandas.to_datetime(frame["at"]))


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
def test_every_format_holds_the_same(bandit, tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(streaming, "PORTION", 7)
    path = tmp_path / f"log.{suffix}"
    assert bandit.export(path, since="2026-03-01 02:00") == 50 - 5
    expected = bandit.history(since="2026-03-01 02:00")
    read = {
        "csv": lambda: pandas.read_csv(path, parse_dates=["at"], float_precision="round_trip"),
        "jsonl": lambda: read_lines(path),
        "parquet": lambda: pandas.read_parquet(path),
        "arrow": lambda: pandas.read_feather(path),
    }[suffix]()
    assert list(read.columns) == list(expected.columns)
    for name in ("seq", "kind", "arm", "decision", "holdout"):
        left, right = (
            frame[name].astype(object).where(frame[name].notna(), None).tolist() for frame in (read, expected)
        )
        assert left == right, name
    for name in ("reward", "probability"):
        assert read[name].dropna().tolist() == expected[name].dropna().tolist()
    assert (read["at"].astype("int64") - expected["at"].astype(read["at"].dtype).astype("int64")).abs().max() <= 1000
    among = (
        [each for each in read["among"] if isinstance(each, str) or (each is not None and len(each))]
        if suffix != "csv"
        else [json.loads(each) for each in read["among"].dropna()]
    )
    among = list(map(list, among))
    assert among == [each for each in expected["among"] if each is not None]
    assert str(read["details"].dropna().iloc[0]).replace("'", '"') == '{"epsilon": 0.1}'


def test_pyarrow_is_asked_for_by_name(bandit, tmp_path, monkeypatch):
    import sys

    from rotting.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rotting\[arrow\]'"):
        bandit.export(tmp_path / "log.parquet")
    assert list(tmp_path.glob("*.parquet")) == []
