"""Progress: figures that a person can trust."""

import io
import time

import pytest

from rotting import FEWA, UCB1
from rotting.problems import ten_arm, two_arm
from rotting.sweeps import Plan
from rotting.sweeps.progress import Tally, tallied

PLAN = Plan((FEWA(), UCB1()), (two_arm(L=1, horizon=100), ten_arm()), runs=10)


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_cells_count_when_they_are_finished(clock):
    tally = Tally(PLAN)
    tally.add(range(9))
    assert (tally.cells, tally.runs) == (0, 9)
    tally.add(range(9, 25))
    assert (tally.cells, tally.runs) == (2, 25)
    tally.add(range(25, 40))
    assert (tally.cells, tally.runs) == (4, 40)


def test_time_left_is_estimated_in_work_not_in_runs(clock):
    tally = Tally(PLAN)
    tally.add(range(20))  # the short problem, done by an earlier process
    assert str(tally) == "checking what is there: 2 of 4 cells, 20 of 40 runs"
    tally.begin()
    assert str(tally).endswith("? left")
    clock[0] += 10
    tally.add(range(20, 25))
    assert str(tally) == "2 of 4 cells, 25 of 40 runs, 0.5 runs/s, 0:00:30 left"


def test_a_line_per_minute_where_there_is_no_terminal(clock, capsys):
    with tallied(PLAN) as tally:
        tally.begin()
        for number in range(40):
            clock[0] += 10
            tally.add(range(number, number + 1))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 400 // 60
    assert lines[0].startswith("0 of 4 cells, 6 of 40 runs, 0.1 runs/s, ")


def test_silence_and_notes(clock, capsys):
    with tallied(PLAN, wanted=False) as tally:
        clock[0] += 1000
        tally.add(range(1))
        assert capsys.readouterr().err == ""
        tally.note("a block is damaged")
    assert capsys.readouterr().err == "a block is damaged\n"


def test_a_bar_on_a_terminal(monkeypatch):
    from rich import console

    screen = io.StringIO()
    original = console.Console
    monkeypatch.setattr(
        console,
        "Console",
        lambda **named: original(file=screen, force_terminal=True, width=120, **(named | {"stderr": False})),
    )
    with tallied(PLAN) as tally:
        tally.begin()
        tally.add(range(25))
        tally.note("a note [with] brackets")
    shown = screen.getvalue()
    assert "2 of 4 cells, 25 of 40 runs" in shown
    assert "a note [with] brackets" in shown
