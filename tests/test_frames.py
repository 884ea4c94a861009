"""pandas, Polars and Arrow, in and out, wherever a table goes."""

import pandas
import polars
import pyarrow
import pytest

import rotting
from rotting import Bandit, EffFEWA

KINDS = {"pandas": lambda frame: frame, "polars": polars.from_pandas, "arrow": pyarrow.Table.from_pandas}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def test_logs(kind):
    log = rotting.logs.make_log(arms=2, exposures=100, seed=1)
    log.attrs.clear()
    assert len(rotting.logs.read_rows(kind(log))) == 200
    assert rotting.Problem.from_log(kind(log)) == rotting.Problem.from_log(log)


def test_warm_starts(kind, tmp_path):
    times = pandas.to_datetime(["2026-01-02", "2026-01-01"])
    rows = pandas.DataFrame({"arm": ["red", "green"], "reward": [0.5, 0.25], "time": times})
    with Bandit.open(f"sqlite:///{tmp_path}/x.db", "hero", EffFEWA(sigma=0.5), warm_start=kind(rows)) as bandit:
        learnt = bandit.history()
    imported = learnt[learnt["kind"] == "imported"]
    assert imported["arm"].tolist() == ["green", "red"]
    assert imported["reward"].tolist() == [0.25, 0.5]


def test_what_comes_out_goes_everywhere(tmp_path):
    with Bandit.open(f"sqlite:///{tmp_path}/x.db", "hero", EffFEWA(sigma=0.5), ["red", "green"]) as bandit:
        bandit.reward(bandit.decide().id, 1.0)
        history = bandit.history()
        bandit.export(tmp_path / "log.parquet")
    result = rotting.simulate(rotting.UCB1(), rotting.problems.two_arm(horizon=20), runs=2)
    for frame in (history, result.rotting.frame(), result.regret.to_dataframe().reset_index()):
        assert polars.DataFrame(frame).shape == frame.shape
        assert pyarrow.Table.from_pandas(frame).shape == frame.shape
    assert polars.read_parquet(tmp_path / "log.parquet").shape[0] == len(history)
