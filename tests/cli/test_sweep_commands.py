"""`rotting sweep`, `rotting results` and `rotting tune`, from the user's side of them."""

import os
import subprocess
import sys

import pytest

from rotting import open_results
from rotting.sweeps.plan_file import EXAMPLE, read_plan
from rotting.sweeps.running import run_plan

PLAN = """
runs = 3
horizon = 200
policies = ["UCB1", { policy = "FEWA", alpha = [0.03, 0.06] }]
problems = ["ten_arm", { problem = "two_arm", L = [1, 2] }]
"""


@pytest.fixture
def run(run, tmp_path):
    """Return a function that runs a command in a folder with a plan."""
    (tmp_path / "plan.toml").write_text(PLAN)
    return run


def refused(outcome, *says):
    code, out, err = outcome
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert all(text in err for text in says), err


def test_the_example_is_printed_and_works(run, tmp_path):
    assert run("sweep", "--example") == (0, EXAMPLE, "")
    (tmp_path / "example.toml").write_text(EXAMPLE.replace("runs = 100", "runs = 1"))
    code, out, err = run("sweep", "example.toml", "--out", "out")
    assert (code, err) == (0, "")
    assert out.startswith("Finished: 15 of 15 cells (5 policies x 3 problems), 15 of 15 runs in out")


def test_sweep_then_results(run, tmp_path):
    assert run("sweep", "plan.toml", "--out", "some/where", "--threads", "1", "--quiet") == (0, "", "")
    assert dict(open_results("some/where").sizes)["run"] == 3
    code, out, err = run(
        "results", "some/where", "--curves", "c.png", "--heatmap", "h.svg", "--against", "alpha", "a.pdf"
    )
    assert (code, err) == (0, "")
    assert out.startswith("some/where: 9 of 9 cells (3 policies x 3 problems), 27 of 27 runs, seed 0")
    for text in ("ten_arm(): 200 rounds", "All problems", "Best parameters on each problem", "±", "Wrote a.pdf"):
        assert text in out
    assert "ns/decision" not in out
    for name, start in {"c.png": b"\x89PNG", "h.svg": b"<?xml", "a.pdf": b"%PDF"}.items():
        assert (tmp_path / name).read_bytes().startswith(start)


def test_results_of_a_sweep_that_has_just_begun(run, tmp_path):
    run("sweep", "plan.toml", "--out", "out")
    for file in (tmp_path / "out" / "blocks").iterdir():
        file.unlink()
    code, out, _ = run("results", "out")
    assert (code, out.count("\n")) == (0, 1)
    assert "0 of 9 cells" in out


def test_a_damaged_block_is_reported_even_if_quiet(run, tmp_path):
    run("sweep", "plan.toml", "--out", "out")
    block = next((tmp_path / "out" / "blocks").iterdir())
    before = block.read_bytes()
    block.write_bytes(before[:-1])
    refused_with_status = run("results", "out")
    assert refused_with_status[0] == 2
    assert block.name in refused_with_status[2]
    code, _, err = run("sweep", "plan.toml", "--out", "out", "--quiet")
    assert code == 0
    assert f"{block.name} is damaged" in err
    assert block.read_bytes() == before


def test_overwrite(run, tmp_path):
    run("sweep", "plan.toml", "--out", "out")
    (tmp_path / "plan.toml").write_text(PLAN.replace("runs = 3", "runs = 4"))
    refused(run("sweep", "plan.toml", "--out", "out"), "another plan", "other runs", "--overwrite")
    assert run("sweep", "plan.toml", "--out", "out", "--overwrite")[0] == 0
    assert open_results("out").sizes["run"] == 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["sweep"], ["--example"]),
        (["sweep", "plan.toml"], ["--out"]),
        (["sweep", "missing.toml", "--out", "x"], ["'missing.toml'", "No such file"]),
        (["sweep", "bad.toml", "--out", "x"], ["bad.toml: policy 'FEVA'", "did you mean 'FEWA'"]),
        (["sweep", "binary.toml", "--out", "x"], ["'binary.toml' cannot be read"]),
        (["sweep", "plan.toml", "--out", "plan.toml"], ["'plan.toml'", "cannot be used"]),
        (["sweep", "plan.toml", "--out", "."], ["--out '.' holds other files"]),
        (["sweep", "plan.toml", "--out", "x", "--threads", "0"], ["--threads '0'"]),
        (["sweep", "plan.toml", "--out", "x", "--device", "gpu"], ["--device 'gpu'", "'cpu' or 'cuda'"]),
        (["results", "."], ["'.' does not hold a sweep"]),
        (["results", "x", "--curves", "x.gif"], ["'x.gif'", ".png"]),
        (["results", "x", "--curves", "a.png", "--heatmap", "./a.png"], ["same file"]),
        (["tune", "FEVA", "--problem", "ten_arm"], ["'FEVA'"]),
        (["tune", "FEWA"], ["--problem"]),
        (["tune", "FEWA", "--problem", "nine_arm"], ["'nine_arm'"]),
        (["tune", "FEWA", "--problem", "ten_arm", "--grid", "alpha"], ["--grid 'alpha'"]),
        (["tune", "FEWA", "--problem", "ten_arm", "--grid", "alpha=x"], ["alpha=x", "'x' cannot be read as values"]),
        (["tune", "FEWA", "--problem", "ten_arm", "--grid", "alpha=-1"], ["alpha=-1"]),
        (
            ["tune", "FEWA", "--problem", "ten_arm", "--grid", "beta=1"],
            ["--grid names 'beta'", "its parameters are alpha"],
        ),
        (
            ["tune", "FEWA", "--problem", "ten_arm", "--grid", "alpha=0.03", "--grid", "alpha=0.06"],
            ["--grid 'alpha=0.06'", "alpha is given twice", "in one --grid"],
        ),
        (["tune", "Greedy", "--problem", "ten_arm"], ["no number to tune", "with --grid"]),
    ],
    ids=" ".join,
)
def test_bad_input_gets_one_line(run, tmp_path, arguments, says):
    (tmp_path / "bad.toml").write_text('runs = 1\npolicies = ["FEVA"]\nproblems = ["ten_arm"]\n')
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    before = sorted(os.listdir(tmp_path))
    refused(run(*arguments), *says)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_cluster_that_is_no_address(run):
    says = ("--cluster 'nine' is not an address", "expected tcp://HOST:PORT, or local")
    refused(run("sweep", "plan.toml", "--out", "x", "--cluster", "nine"), *says)


def test_a_parameter_that_no_policy_has(run):
    run("sweep", "plan.toml", "--out", "out")
    code, _, err = run("results", "out", "--against", "gamma", "x.png")
    assert (code, err.count("\n")) == (2, 1)
    assert "'gamma'" in err


def test_tune(run):
    code, out, err = run(
        "tune", "FEWA", "--problem", "two_arm(L=2, horizon=500)", "--grid", "alpha=0.06,5", "--runs", "8"
    )
    assert (code, err) == (0, "")
    assert "Best: FEWA(alpha=0.06, sigma=1.0, delta0=1.0)" in out
    assert "optimistically biased" in out


def test_a_local_cluster_from_the_shell(tmp_path):
    """As a process of its own: its workers must find their way back to the command."""
    (tmp_path / "plan.toml").write_text(PLAN)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", "from rotting.cli import main; main()", "sweep", "plan.toml"]
    options = ["--out", "local", "--cluster", "local", "--threads", "2"]
    done = subprocess.run([*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    run_plan(read_plan(PLAN), tmp_path / "here", threads=1, progress=False)
    local, here = (sorted((tmp_path / name / "blocks").iterdir()) for name in ("local", "here"))
    assert [file.read_bytes() for file in local] == [file.read_bytes() for file in here]
