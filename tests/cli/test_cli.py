"""The command line, from the user's side of it."""

import errno
import inspect
import json
import os
import re
import subprocess
import sys

import pytest
from matplotlib.figure import Figure

import rotting
from rotting import cli
from rotting._core import imported
from rotting.policies import Policy
from rotting.problems import NAMED
from rotting.simulation.summary import summarise

QUICK = ("--problem", "two_arm(L=2)", "--horizon", "60", "--runs", "4")
POLICIES = list(rotting.policies.POLICIES)


@pytest.fixture
def no_simulation(monkeypatch):
    def refuse(*arguments, **named):
        raise AssertionError("the simulation was started before the input was checked")

    monkeypatch.setattr("rotting.simulation.simulate", refuse)


# Help and lists.


@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"], ["--version"], ["compare", "--runs", "0"]])
def test_quick_answers_do_not_wait_for_the_compiler(arguments):
    code = (
        "import sys\n"
        "from rotting.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "slow = {'numba', 'numpy', 'xarray', 'matplotlib', 'scipy', 'rotting.policies'} & set(sys.modules)\n"
        "sys.exit(f'imported {slow}' if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version(run):
    assert run("--version") == (0, f"rotting {rotting.__version__}\n", "")


def test_help_lists_the_commands(run):
    alone, asked = run(), run("--help")
    assert alone == asked
    assert alone.code == 0
    assert all(command in alone.out for command in ("policies", "problems", "compare", "paper"))


def test_policies_lists_every_policy_of_the_package_only(run, monkeypatch):
    monkeypatch.setitem(Policy.known, "SomebodysOwn", rotting.FEWA)
    monkeypatch.setattr(imported, "_loaded", {})  # by --import, in other tests
    code, out, _ = run("policies")
    assert code == 0
    rows = [line.split() for line in out.splitlines()[3:] if line.strip()]
    assert [row[0] for row in rows] == POLICIES
    assert "alpha=0.06, sigma=1.0, delta0=1.0" in out
    assert all(inspect.getdoc(getattr(rotting, name)).splitlines()[0] in out for name in POLICIES)


@pytest.mark.parametrize("name", POLICIES)
def test_policies_describes_one(run, name):
    code, out, err = run("policies", name.lower())
    assert (code, err) == (0, "")
    assert out.startswith(inspect.getdoc(getattr(rotting, name)))


def test_description_says_what_parameters_mean(run):
    out = run("policies", "FEWA").out
    assert "alpha=0.06\n    confidence exponent" in out
    assert "expected a finite number > 0" in out


def test_problems(run):
    code, out, _ = run("problems")
    assert code == 0
    assert "L=0.233, horizon=10000, sigma=1.0" in out
    assert all(name in out and inspect.getdoc(function).splitlines()[0] in out for name, function in NAMED.items())


# Comparisons.


def test_compare_agrees_with_the_library(run):
    code, out, err = run("compare", "FEWA(alpha=0.1)", "Uniform", *QUICK, "--seed", "3", "--json", "out.json")
    assert (code, err) == (0, "")
    dataset = rotting.simulate(
        [rotting.FEWA(alpha=0.1), rotting.Uniform()], NAMED["two_arm"](L=2), horizon=60, runs=4, seed=3
    )
    with open("out.json") as file:
        written = json.load(file)
    assert written["settings"] == {**dataset.attrs, "runs": 4}
    for row, expected in zip(written["policies"], summarise(dataset), strict=True):
        assert row.pop("nanoseconds_per_decision") > 0
        assert row == {name: getattr(expected, name) for name in row}
    lines = out.splitlines()
    assert lines[0] == "two_arm(L=2, horizon=10000): 60 rounds, 4 runs, seed 3"
    assert [line.split("(")[0].strip() for line in lines[4:6]] == ["FEWA", "Uniform"]  # best first
    best = summarise(dataset)[0]
    assert f"{best.mean:.1f} ± {best.mean_high - best.mean:.1f}" in out


def test_threads_do_not_change_regret(run):
    for threads in "12":
        run("compare", "FEWA", "Exp3", *QUICK, "--threads", threads, "--json", f"{threads}.json")
    results = []
    for threads in "12":
        with open(f"{threads}.json") as file:
            results.append([row["mean"] for row in json.load(file)["policies"]])
    assert results[0] == results[1]


def test_policies_that_must_know_the_simulation(run):
    code, out, _ = run("compare", "Oracle", "SWA", *QUICK)
    assert code == 0
    assert "Oracle()" in out
    assert "SWA(alpha=0.2)" in out


def test_one_run_says_that_it_gives_no_interval(run):
    code, out, _ = run("compare", "FEWA", "UCB1", "--horizon", "20", "--runs", "1", "--json", "out.json")
    assert code == 0
    assert "±" not in out
    assert "One run gives no intervals" in out
    with open("out.json") as file:
        assert json.load(file)["policies"][0]["mean_low"] is None


def test_nothing_is_cut_off_where_there_is_no_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    policy = "EffFEWA(alpha=0.123456, sigma=1.23456, delta0=0.123456)"
    out = run("compare", policy, "FEWA", *QUICK).out
    assert policy in out
    assert "…" not in out


@pytest.mark.parametrize(
    ("name", "start"), [("out.png", b"\x89PNG"), ("out.pdf", b"%PDF"), ("out.svg", b"<?xml"), ("out.PNG", b"\x89PNG")]
)
def test_plot(run, tmp_path, name, start):
    code, out, err = run("compare", "FEWA", *QUICK, "--plot", name)
    assert (code, err) == (0, "")
    assert f"Wrote {name}" in out
    assert (tmp_path / name).read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [name]


def test_links_stay_links(run, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "folder" / "real.json")
    assert run("compare", "FEWA", *QUICK, "--json", "link.json").code == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "folder" / "real.json").read_text())["settings"]["runs"] == 4
    assert os.listdir(tmp_path / "folder") == ["real.json"]


# What can go wrong.


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["compare", "Fewa"], ["'Fewa'", "FEWA", "UCB1"]),
        (["compare", "FEWA(alpha=-1)"], ["alpha=-1", "> 0"]),
        (["compare", "FEWA(beta=1)"], ["beta", "alpha, delta0, sigma"]),
        (["compare", "FEWA("], ["FEWA(", "expected"]),
        (["compare", "FEWA(alpha=x)"], ["policy 'FEWA(alpha=x)': 'x' is not a value"]),
        (["compare", "FEWA", "SWA(alpha=None)"], ["SWA(alpha=None)", "mu_max"]),
        (["compare", "SlidingWindowUCB(tau=1000000000000000)"], ["tau=1000000000000000"]),
        (["compare", "\udcff"], ["policy '\\udcff'"]),
        (["compare", "FEWA", "--problem", "four_arm()"], ["'four_arm'", "two_arm"]),
        (["compare", "FEWA", "--problem", "two_arm(L=-1)"], ["L=-1", ">= 0"]),
        (["compare", "FEWA", "--problem", "two_arm(horizon=2.5)"], ["horizon=2.5", "whole number"]),
        (["compare", "FEWA", "--runs", "0"], ["--runs '0'", ">= 1"]),
        (["compare", "FEWA", "--runs", "many"], ["--runs 'many'", "whole number"]),
        (["compare", "FEWA", "--runs", "99999999999"], ["--runs '99999999999'", "<= 1000000000"]),
        (["compare", "FEWA", "--horizon", "-5"], ["--horizon '-5'", ">= 1"]),
        (["compare", "FEWA", "--seed", "-1"], ["--seed '-1'", ">= 0"]),
        (["compare", "FEWA", "--threads", "0"], ["--threads '0'", ">= 1"]),
        (["compare", "FEWA", "--device", "gpu"], ["--device 'gpu'", "'cpu' or 'cuda'"]),
        (["paper", "--only", "fig1", "--device", "gpu"], ["--device 'gpu'", "'cpu' or 'cuda'"]),
        (["tune", "FEWA", "--problem", "two_arm()", "--device", "gpu"], ["--device 'gpu'", "'cpu' or 'cuda'"]),
        (["compare", "FEWA", "--plot", "out.gif"], ["'out.gif'", ".png, .pdf, .svg"]),
        (["compare", "FEWA", "--plot", "out"], ["'out'", ".png, .pdf, .svg"]),
        (["compare", "FEWA", "--plot", "missing/out.png"], ["'missing/out.png'", "'missing'"]),
        (["compare", "FEWA", "--json", "missing/out.json"], ["'missing/out.json'", "'missing'"]),
        (["compare", "FEWA", "--json", "."], ["'.'", "not a file"]),
        (["compare", "FEWA", "--json", os.devnull], [os.devnull, "not a file"]),
        (["compare", "FEWA", "--json", "x" * 300], ["xxx", "cannot be written"]),
        (["compare", "FEWA", "--json", "a.png", "--plot", "./a.png"], ["a.png", "same file"]),
        (["compare"], ["Missing argument", "--help"]),
        (["compare", "FEWA", "--colour", "red"], ["--colour"]),
        (["compete"], ["'compete'"]),
        (["policies", "Foo"], ["'Foo'", "FEWA, ", "MOSS, "]),
        (["paper", "--runs", "0"], ["--runs '0'", ">= 1"]),
        (["paper", "--out", "taken/paper"], ["'taken/paper'"]),
    ],
)
def test_bad_input_gets_one_line(run, no_simulation, tmp_path, arguments, named):
    (tmp_path / "taken").touch()
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert all(text in err for text in named), err
    assert os.listdir(tmp_path) == ["taken"]


def test_text_is_never_evaluated(run, no_simulation, tmp_path):
    for text in ("__import__('os').mkdir('made')", "FEWA(__import__('os').mkdir('made'))", "FEWA.__init__()"):
        assert run("compare", text).code == 2
        assert run("compare", "FEWA", "--problem", text).code == 2
    assert os.listdir(tmp_path) == []


def raising(error):
    def raise_it(*arguments, **named):
        raise error

    return raise_it


def test_interrupted(run, monkeypatch, tmp_path):
    monkeypatch.setattr("rotting.simulation.simulate", raising(KeyboardInterrupt()))
    assert run("compare", "FEWA", "--json", "out.json") == (130, "", "Interrupted.\n")
    assert os.listdir(tmp_path) == []


def test_out_of_memory(run, monkeypatch):
    monkeypatch.setattr("rotting.simulation.simulate", raising(MemoryError()))
    code, _, err = run("compare", "FEWA", "--runs", "1000000")
    assert (code, err.count("\n")) == (2, 1)
    assert "--runs 1000000" in err


@pytest.mark.parametrize("error", [RuntimeError("a bug"), ValueError("a bug"), TypeError("a bug")])
def test_bugs_are_not_swallowed(monkeypatch, error):
    monkeypatch.setattr("rotting.simulation.simulate", raising(error))
    with pytest.raises(type(error), match="a bug"):
        cli.main(["compare", "FEWA"])


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_file_is_never_half_written(run, monkeypatch, tmp_path, error):
    (tmp_path / "out.png").write_text("the old one")

    def write_half(figure, path, **options):
        path.write_text("half of the new one")
        raise error

    monkeypatch.setattr(Figure, "savefig", write_half)
    code, out, err = run("compare", "FEWA", *QUICK, "--plot", "out.png")
    assert code == (130 if isinstance(error, KeyboardInterrupt) else 2)
    assert err.count("\n") == 1
    assert "FEWA(alpha=0.06)" in out  # the result is not lost with the file
    assert (tmp_path / "out.png").read_text() == "the old one"
    assert os.listdir(tmp_path) == ["out.png"]


# The paper.


def test_paper(run, tmp_path):
    code, out, err = run("paper", "--runs", "2", "--only", "appendix", "--out", "some/where")
    assert code == 0
    assert err == "Playing appendix ...\n"
    folder = tmp_path / "some" / "where"
    made = ["appendix.pdf", "appendix.png", "appendix_left.csv", "appendix_right.csv", "data", "report.html"]
    assert sorted(os.listdir(folder)) == made
    assert "Wrote 5 files" in out
    assert re.search(r"^Time: \d+\.\d s$", out, re.MULTILINE)


def test_paper_refuses_what_it_does_not_know(run):
    code, out, err = run("paper", "--only", "fig1,fig3")
    assert (code, out) == (2, "")
    assert "'fig3'" in err
    assert "fig1, fig2, table1" in err


def test_warm_up_refuses_where_nothing_can_be_kept(tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "rotting", "warm-up"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "set NUMBA_CACHE_DIR to a folder that can" in done.stderr
    assert "Traceback" not in done.stderr
