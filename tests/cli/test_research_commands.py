"""Commands for research: own modules, traces, late rewards, tables for papers."""

from typing import NamedTuple

import numpy as np
import pytest
import xarray

from rotting import UCB1, cli, problems, simulate


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            cli.main(arguments)
        return Answer(stopped.value.code or 0, *capsys.readouterr())

    return run


GAME = ("UCB1", "--problem", "two_arm(L=2, horizon=400)", "--runs", "3")


def test_traces_are_written_and_late_rewards_are_late(run, tmp_path):
    answer = run("compare", *GAME, "--trace", "traces.nc", "--delay", "5")
    assert answer.code == 0
    assert "Wrote traces.nc" in answer.out
    expected = simulate(UCB1(), problems.two_arm(L=2, horizon=400), runs=3, delay=5, trace=("actions", "rewards"))
    with xarray.open_dataset(tmp_path / "traces.nc") as written:
        assert np.array_equal(written.actions, expected.actions)
        assert np.array_equal(written.rewards, expected.rewards)


def test_large_traces_are_announced(run, monkeypatch):
    assert run("compare", *GAME, "--trace", "traces.nc").err == ""
    monkeypatch.setattr("rotting.cli.compare.LARGE_TRACES", 1)
    assert "Warning: the traces take 0 MB of memory" in run("compare", *GAME, "--trace", "traces.nc").err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("compare", *GAME, "--trace", "traces.csv"),
            "--trace 'traces.csv': expected a name that ends in .zarr or .nc",
        ),
        (("compare", *GAME, "--trace", "nowhere/traces.nc"), "is in a folder that does not exist"),
        (("compare", *GAME, "--delay", "GeometricDelay(mean=-1)"), "--delay 'GeometricDelay(mean=-1)'"),
        (("compare", *GAME, "--delay", "soon"), "delay 'soon' does not exist"),
        (("compare", *GAME, "--delay", "3", "--device", "cuda"), "is for the CPU, not for cuda; leave out --device"),
    ],
)
def test_mistakes_get_one_line(run, arguments, says):
    answer = run(*arguments)
    assert answer.code == 2
    assert says in answer.err
    assert answer.err.count("\n") == 1
