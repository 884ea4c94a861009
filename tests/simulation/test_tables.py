"""Tables of a result from Python: the same numbers as its summary and its tests, in forms for a paper."""

import numpy as np
import pytest

import rotting
from rotting.errors import BadValue

PROBLEM = rotting.problems.two_arm(L=2.0, horizon=100)
POLICIES = {"UCB_1 & co": rotting.UCB1(), "Uniform": rotting.Uniform(), "Oracle": rotting.Oracle()}


@pytest.fixture(scope="module")
def result():
    return rotting.simulate(POLICIES, PROBLEM, runs=6)


def test_the_summary_as_latex(result):
    lines = result.rotting.table("latex").splitlines()
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert [line.count(" & ") for line in body] == [4, 4, 4]
    assert body[0].startswith(r"\textbf{Oracle} & \textbf{0")
    row = next(row for row in result.rotting.summary() if row.policy == "Uniform")
    expected = rf"Uniform & {row.mean:.1f} $\pm$ {row.mean_high - row.mean:.1f} & "
    assert any(line.startswith(expected) for line in body)
    assert any(line.startswith(r"UCB\_1 \& co & ") for line in body)


def test_times_are_told_on_request(result):
    assert "ns/decision" not in result.rotting.table()
    assert "ns/decision" in result.rotting.table(times=True)
    assert "seed 0" in str(result.rotting)


def test_significance_as_a_table(result):
    found = result.rotting.significance()
    lines = result.rotting.significance_table("markdown").splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| ")][2:]
    assert len(rows) == len(found) == 3
    assert [row[-1] for row in rows] == ["yes |" if one.is_significant else "no |" for one in found]
    against = result.rotting.significance_table("latex", baseline="Uniform")
    assert "corrected for all 2 comparisons" in against


def test_one_run_says_that_nothing_can_be_told():
    one = rotting.simulate(POLICIES, PROBLEM, runs=1)
    assert "cannot tell" in one.rotting.significance_table()
    assert "One run gives no intervals" in one.rotting.table()


def test_one_policy_differs_from_no_other():
    alone = rotting.simulate(rotting.UCB1(), PROBLEM, runs=2)
    with pytest.raises(BadValue, match="two policies or more"):
        alone.rotting.significance_table()


def test_an_unknown_form_is_refused(result):
    with pytest.raises(BadValue, match="text, markdown, latex"):
        result.rotting.table("html")


def test_runs_that_are_not_finished_do_not_count(result):
    """A policy without a result was the best: the mean of its regret is no number."""
    partly = result.copy(deep=True)
    partly["regret"][0, 4:] = np.nan
    rows = partly.rotting.summary()
    assert [row.runs for row in rows] == [4, 4, 4]
    assert [row.policy for row in rows if row.best] == ["Oracle"]
    assert "4 runs" in partly.rotting.table()
    lines = partly.rotting.plot_regret().axes[0].get_lines()
    assert all(np.isfinite(line.get_ydata()).all() for line in lines)
    partly["regret"][1] = np.nan
    with pytest.raises(BadValue, match="no run is finished"):
        partly.rotting.summary()
