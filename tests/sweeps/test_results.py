"""Results: all of them, in parts, lazily, and what they say."""

import io
import os

import numpy as np
import pytest
import xarray
from matplotlib.text import Text

from rotting import FEWA, UCB1, Oracle, Uniform, simulate, sweep
from rotting.problems import Problem, stationary, ten_arm, two_arm
from rotting.simulation import significance
from rotting.simulation.figures import regret_figure
from rotting.simulation.summary import summarise
from rotting.simulation.tables import differences_sheet
from rotting.sweeps import SweepError, blocks, figures, open_results, ranking, results
from rotting.sweeps.folder import Folder

POLICIES = [FEWA(alpha=alpha) for alpha in (0.03, 0.06, 0.3)] + [UCB1(), Uniform()]
PROBLEMS = [two_arm(L=2.0, horizon=600), ten_arm(), stationary([0.0, 0.5])]
RUNS, HORIZONS = 5, [600, 25_000, 5000]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep")
    shortest, blocks.SHORTEST_NANOSECONDS = blocks.SHORTEST_NANOSECONDS, 2 * 10**6
    try:
        sweep(POLICIES, PROBLEMS, RUNS, out=path, rounds=40, progress=False)
    finally:
        blocks.SHORTEST_NANOSECONDS = shortest
    assert len(os.listdir(path / "blocks")) > 5
    return path


@pytest.fixture
def part(folder, tmp_path):
    """Return a copy of the folder that is not finished: on the last problem not all policies have all runs."""
    (tmp_path / "part" / "blocks").mkdir(parents=True)
    (tmp_path / "part" / "plan.json").write_bytes((folder / "plan.json").read_bytes())
    for file in sorted((folder / "blocks").iterdir())[:-4]:
        (tmp_path / "part" / "blocks" / file.name).write_bytes(file.read_bytes())
    return tmp_path / "part"


def test_problems_of_different_length_and_size(folder):
    dataset = open_results(folder)
    assert dataset.regret.dims == ("problem", "policy", "run", "round")
    assert dataset.pulls.dims == ("problem", "policy", "run", "arm")
    assert dict(dataset.sizes) == {"problem": 3, "policy": 5, "run": RUNS, "round": 40, "arm": 10}
    assert dataset["horizon"].values.tolist() == HORIZONS
    assert dataset["rounds"].values.max(axis=1).tolist() == HORIZONS
    assert dataset["arms"].values.tolist() == [2, 10, 2]
    assert dataset.pulls.sum("arm").values.tolist() == [[[horizon] * RUNS] * 5 for horizon in HORIZONS]
    assert np.all(np.isfinite(dataset.regret.values) == (dataset["rounds"].values > 0)[:, None, None, :])


def test_one_problem_is_as_simulate_gives_it(folder):
    for place, problem in enumerate(PROBLEMS):
        alone = simulate(POLICIES, problem, runs=RUNS, rounds=40, progress=False)
        for chosen in (place, str(problem)):
            one = open_results(folder, problem=chosen)
            xarray.testing.assert_equal(one, alone.drop_vars(["seconds", "oracle_reward"]))
        assert regret_figure(one).axes[0].get_title(loc="left").startswith(str(problem))
    for wrong in ("four_arm()", 3, -1, True):
        with pytest.raises(SweepError, match=r"expected one of .*ten_arm\(\)"):
            open_results(folder, problem=wrong)


@pytest.mark.parametrize("chunk_bytes", [1, 1000, 5000, 10**6])
def test_large_results_are_read_when_they_are_looked_at(folder, monkeypatch, chunk_bytes):
    small = open_results(folder)
    monkeypatch.setattr(results, "LARGE_BYTES", 0)
    monkeypatch.setattr(results, "CHUNK_BYTES", chunk_bytes)
    reads = []
    original = Folder.read
    monkeypatch.setattr(Folder, "read", lambda self, block: reads.append(block) or original(self, block))
    large = open_results(folder)
    assert large.regret.chunks is not None
    assert reads == []
    np.testing.assert_array_equal(large.regret[1, 2, 3].values, small.regret[1, 2, 3].values)
    assert 0 < len(set(reads)) < len(os.listdir(folder / "blocks"))
    xarray.testing.assert_identical(large.compute(scheduler="sync"), small)


def test_results_that_are_not_finished(part, folder):
    dataset, whole = open_results(part), open_results(folder)
    there = np.isfinite(dataset.regret.isel(round=0).values)
    assert there[:2].all()
    assert there[2, 0].all()
    assert not there[2, 4].any()
    np.testing.assert_array_equal(dataset.regret.values[there], whole.regret.values[there])
    assert np.all(dataset.pulls.values[~there] == 0)
    # What is finished can be ranked, what is not cannot.
    finals = ranking.by_problem(dataset)
    assert len(ranking.rank(finals[1])) == 5
    assert ranking.rank(finals[2]) == []
    assert ranking.rank_overall(finals) == ([], [])
    assert {best.problem for best in ranking.best_settings(finals)} == {str(problem) for problem in PROBLEMS[:2]}
    assert len(figures.curves(dataset, finals).axes) == 2
    assert len(figures.against(finals, "alpha").axes) == 2
    figures.heatmap(finals)
    with pytest.raises(SweepError, match="nothing to draw"):
        figures.curves(dataset, finals[2:])


@pytest.mark.parametrize("damage", ["missing", "empty", "no plan"])
def test_a_folder_without_a_sweep(tmp_path, damage):
    if damage != "missing":
        (tmp_path / "plan.json").write_text("" if damage == "empty" else '{"format": "other"}')
    with pytest.raises(SweepError, match=r"plan\.json"):
        open_results(tmp_path)


# What they say.


def test_ranking_is_that_of_the_summary(folder):
    for place, problem in enumerate(PROBLEMS):
        rows = ranking.rank(ranking.by_problem(open_results(folder))[place])
        expected = {row.policy: row for row in summarise(simulate(POLICIES, problem, runs=RUNS, progress=False))}
        assert [row.mean for row in rows] == sorted(row.mean for row in rows)
        assert rows[0].best
        for row in rows:
            assert row.mean == pytest.approx(expected[row.policy].mean)
            assert row.difference_high == pytest.approx(expected[row.policy].difference_high)


def test_over_all_problems_every_problem_counts_the_same(folder):
    dataset = open_results(folder)
    rows = {row.policy: row for row in ranking.rank_overall(ranking.by_problem(dataset))[0]}
    finals = [open_results(folder, problem=place).regret.isel(round=-1).values for place in range(3)]
    lowest = [final.mean(axis=1).min() for final in finals]
    relative = np.mean(
        [(final - low) / (final.mean() - low) for final, low in zip(finals, lowest, strict=True)], axis=0
    )
    assert [rows[label].mean for label in dataset["policy"].values] == pytest.approx(relative.mean(axis=1).tolist())
    assert np.mean([row.mean for row in rows.values()]) == pytest.approx(1.0)


def test_problems_that_tell_no_policies_apart_are_left_out_and_named(tmp_path):
    """Neither regret near 0 nor an oracle that is too low decides: only differences between policies count."""
    same = Problem([0.5, 0.5], noise="none", name="stationary([0.5, 0.5])", horizon=50)
    dataset = sweep(["UCB1()", "Uniform()"], [same, PROBLEMS[0]], 4, out=tmp_path / "out", progress=False)
    finals = ranking.by_problem(dataset)
    rows, left_out = ranking.rank_overall(finals)
    assert left_out == [str(same)]
    alone, nothing = ranking.rank_overall(finals[1:])
    assert nothing == []
    assert [row.mean for row in rows] == [row.mean for row in alone]
    rows, left_out = ranking.rank_overall([final.assign(regret=final["regret"] - 1000.0) for final in finals])
    assert [row.mean for row in rows] == pytest.approx([row.mean for row in alone])
    assert left_out == [str(same)]


def test_results_name_their_oracles(tmp_path):
    rising = Problem([[0.0] * 20 + [1.0], 0.4], allow_increasing=True, horizon=60)
    dataset = sweep(["UCB1()", "Uniform()"], [rising, PROBLEMS[0]], 3, out=tmp_path / "out", progress=False)
    assert dataset.oracle.values.tolist() == ["best allocation: optimal", "greedy: optimal"]
    assert open_results(tmp_path / "out", problem=0).attrs["oracle"] == "best allocation: optimal"
    found = significance(ranking.by_problem(dataset))
    assert {row.oracle for row in found} == {"best allocation: optimal", "greedy: optimal"}
    assert "oracles (best allocation: optimal: problem; greedy: optimal: " in str(
        differences_sheet(found).written("text")
    )
    figure = figures.curves(dataset, ranking.by_problem(dataset))
    assert "best allocation: optimal" in figure.axes[0].get_ylabel()


def test_without_any_regret_nobody_divides_by_it(tmp_path):
    dataset = sweep([Oracle()], PROBLEMS[:1], 2, out=tmp_path / "out", progress=False)
    finals = ranking.by_problem(dataset)
    assert ranking.rank_overall(finals)[0][0].mean == pytest.approx(0.0, abs=1e-9)
    figures.heatmap(finals)


def test_best_settings(folder):
    finals = ranking.by_problem(open_results(folder))
    found = ranking.best_settings(finals)
    assert len(found) == 3 * 3
    for best in found:
        place = [str(problem) for problem in PROBLEMS].index(best.problem)
        rows = [row for row in ranking.rank(finals[place]) if row.policy.startswith(best.kind)]
        assert best.summary.policy == rows[0].policy
        assert best.settings == len(rows)


def test_figures(folder, monkeypatch):
    dataset = open_results(folder)
    finals = ranking.by_problem(dataset)
    curves = figures.curves(dataset, finals)
    assert [axes.get_title(loc="left") for axes in curves.axes] == [str(problem) for problem in PROBLEMS]
    assert [len(axes.get_lines()) for axes in curves.axes] == [5, 5, 5]
    alpha = figures.against(finals, "alpha")
    for axes, place in zip(alpha.axes, range(3), strict=True):
        (line,) = axes.get_lines()
        assert line.get_label() == "FEWA()"
        assert line.get_xdata().tolist() == [0.03, 0.06, 0.3]
        means = open_results(folder, problem=place).regret.isel(round=-1).mean("run").values[:3]
        assert line.get_ydata() == pytest.approx(means)
    assert curves.get_suptitle() == alpha.get_suptitle() == ""
    grid = figures.heatmap(finals).axes[0]
    shown = np.array(grid.get_images()[0].get_array())
    assert shown.shape == (5, 3)
    assert shown.min(axis=0).tolist() == [0.0, 0.0, 0.0]
    monkeypatch.setattr(figures, "MAX_PANELS", 2)
    monkeypatch.setattr(figures, "MAX_LINES", 3)
    few = figures.curves(dataset, finals)
    assert [len(axes.get_lines()) for axes in few.axes] == [3, 3]
    assert few.get_suptitle() == "Shown: the best 3 of 5 policies, the first 2 of 3 problems"
    with pytest.raises(ValueError, match="several values of 'gamma'"):
        figures.against(finals, "gamma")


def test_dollars_in_names_are_not_formulas():
    names = ["$a$ and $b$", "costs $^$"]
    regret = (("problem", "policy", "run", "round"), np.ones((2, 2, 5, 3)))
    dataset = xarray.Dataset(
        {
            "regret": regret,
            "rounds": (("problem", "round"), [[1, 2, 3], [1, 2, 3]]),
            "horizon": ("problem", [3, 3]),
            "arms": ("problem", [1, 1]),
        },
        coords={"problem": names, "policy": names, "oracle": ("problem", ["greedy", "greedy"]), "arm": [0]},
        attrs={"policies": "FEWA(alpha=0.1)\nFEWA(alpha=0.2)"},
    )
    finals = ranking.by_problem(dataset)
    for figure in (
        figures.curves(dataset, finals),
        figures.against(finals, "alpha"),
        figures.heatmap(finals),
    ):
        figure.savefig(io.BytesIO(), format="png")  # "$^$" is no formula: parsed as one, it would be refused
        shown = "; ".join(text.get_text() for text in figure.findobj(Text))
        assert r"\$a\$ and \$b\$" in shown
        assert r"costs \$^\$" in shown
