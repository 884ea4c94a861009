"""Commands for research: own modules, traces, late rewards, tables for papers."""

import numpy as np
import pytest
import typer
import xarray

from own_modules import problem_text, write_module
from rotting import UCB1, cli, problems, simulate
from rotting._output.sheets import Sheet

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


# Classes of the user's own.


def commands(command, path=()):
    below = getattr(command, "commands", {})
    return [(path, command)] if not below else [x for name in below for x in commands(below[name], (*path, name))]


def test_every_command_imports():
    found = commands(typer.main.get_command(cli.app))
    assert len(found) > 15
    for path, command in found:
        option = next((each for each in command.params if each.name == "imports"), None)
        assert option is not None, path
        assert option.opts == ["--import"]


def test_own_classes_in_commands(run, tmp_path):
    write_module(tmp_path, "own_in_commands", "InCommands")
    own = ("--import", "own_in_commands.py")
    problem = ("--problem", problem_text("InCommands"), "--runs=2")
    answer = run("compare", "InCommandsPolicy(width=0.1)", *problem, *own)
    assert answer.code == 0
    assert "InCommandsPolicy(width=0.1)" in answer.out
    assert "InCommandsPolicy" in run("policies", *own).out
    assert "Mean and width." in run("policies", "InCommandsPolicy", *own).out
    tuned = run("tune", "InCommandsPolicy", *problem, "--grid=width=0,1", *own)
    assert "Best: InCommandsPolicy(width=" in tuned.out
    assert "is neither a file nor a module" in run("policies", "--import", "nothing.py").err


# Tables for papers.

TWO = ("UCB1", "Uniform", "Oracle", "--problem", "two_arm(L=2, horizon=400)", "--runs", "20", "--threads", "1")


def test_significance_on_the_terminal(run):
    out = run("compare", *TWO, "--significance").out
    assert "Paired differences of final regret" in out
    assert "corrected for all 3 comparisons" in out
    assert out.count("< 1e-6") == 4  # both against the oracle, before and after the correction
    assert out.count(" no ") == 1  # UCB1, which never recovers from the drop, and uniform draws
    out = run("compare", *TWO, "--baseline", "UCB1").out
    assert "corrected for all 2 comparisons" in out


def test_markdown_has_a_table_that_parses(run):
    lines = run("compare", *TWO, "--format", "markdown", "--significance").out.splitlines()
    tables = [line for line in lines if line.startswith("|")]
    assert {line.count(" | ") for line in tables[:5]} == {5}
    assert tables[1] == "| --- | ---: | ---: | ---: | ---: | ---: |"
    assert tables[2].startswith("| **Oracle()** | **")
    assert r"\< 1e-6" in tables[-2]


def test_latex_escapes_what_it_must(run):
    out = run("compare", *TWO, "--format", "latex").out
    assert r"\begin{tabular}{lrrrrr}" in out
    assert r"policy & mean regret & 10 \% & 90 \% & above best & ns/decision \\" in out
    assert r"$\pm$" in out
    rows = [line for line in out.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 4
    assert all(line.replace(r"\&", "").count("&") == 5 for line in rows)
    assert not any(line.startswith(("±", "two_arm")) for line in out.splitlines())  # all else is a comment


def test_names_cannot_break_out_of_tables():
    """A problem's name may be any text: one with a line break left its comment, and LaTeX would have run the rest."""
    sheet = Sheet("a\n\\input{b}", ("problem",), (), notes=["c\r\nd"])
    sheet.add("[1] x\ny")
    for form, lines in (("latex", 9), ("markdown", 7)):
        out = sheet.written(form)
        assert len(out.split("\n")) == lines
        assert not any(line.startswith(("\\input", "[", "d", "y")) for line in out.split("\n"))


PLAN = """
runs = 12
horizon = 200
policies = ["UCB1", "Uniform", { policy = "EpsilonGreedy", epsilon = [0.1, 0.3] }]
problems = ["stationary", { problem = "two_arm", L = [1, 2] }]
"""


@pytest.fixture
def swept(run, tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN)
    assert run("sweep", "plan.toml", "--out", "out", "--threads", "1", "--quiet").code == 0
    return "out"


def test_a_sweep_is_extended(run, swept, tmp_path):
    (tmp_path / "plan.toml").write_text(
        PLAN.replace("runs = 12", "runs = 15").replace('"UCB1", ', '"UCB1", "Greedy", ')
    )
    refused = run("sweep", "plan.toml", "--out", "out")
    assert refused.code == 2
    assert "if the plan is that one and more, --extend keeps them" in refused.err
    extended = run("sweep", "plan.toml", "--out", "out", "--extend", "--threads", "1")
    assert "15 of 15 cells (5 policies x 3 problems), 225 of 225 runs" in extended.out
    assert not (tmp_path / "out" / "earlier").exists()


def test_results_are_filtered(run, swept):
    out = run("results", swept, "--problem", "two_arm*", "--policy", "EpsilonGreedy", "--policy", "UCB1").out
    assert "two_arm(L=1, horizon=10000): 200 rounds, 12 of 12 runs" in out
    assert "two_arm(L=2, horizon=10000)" in out
    assert "stationary" not in out
    assert "Uniform" not in out
    assert "EpsilonGreedy(epsilon=0.3)" in out
    only = run("results", swept, "--problem", "two_arm(L=2, horizon=10000)").out
    assert "L=1" not in only
    assert "All problems" not in only
    assert "Uniform()" in only


def test_results_say_what_is_more_than_chance_over_all_problems(run, swept):
    out = run("results", swept, "--significance", "--all").out
    assert "corrected for all 18 comparisons" in out  # 6 pairs on each of 3 problems
    assert "corrected for all 9 comparisons" in run("results", swept, "--baseline", "UCB1").out


def test_results_for_papers_hold_nothing_but_tables_and_comments(run, swept):
    answer = run("results", swept, "--format", "latex", "--significance")
    assert answer.err.startswith("out: 12 of 12 cells")
    assert answer.out.count(r"\begin{tabular}") == answer.out.count(r"\end{tabular}") == 6


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("results", "out", "--policy", "FEWA"),
            "--policy 'FEWA' fits none of them; expected UCB1(sigma=1), Uniform()",
        ),
        (("results", "out", "--problem", "nothing*"), "--problem 'nothing*' fits none of them"),
        (("results", "out", "--baseline", "EpsilonGreedy"), "--baseline 'EpsilonGreedy' fits several of the policies"),
        (("results", "out", "--format", "html"), "--format 'html': expected 'text', 'markdown' or 'latex'"),
        (("compare", *GAME, "--baseline", "FEWA"), "--baseline 'FEWA' is not one of the policies"),
    ],
)
def test_mistakes_in_filters_get_one_line(run, swept, arguments, says):
    answer = run(*arguments)
    assert answer.code == 2
    assert says in answer.err


def test_one_policy_is_not_compared_with_nothing(run):
    answer = run("compare", "UCB1", "--runs", "2", "--horizon", "20", "--significance")
    assert answer.code == 2
    assert "expected two policies or more" in answer.err
