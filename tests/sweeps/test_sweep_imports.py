"""Sweeps of the user's own classes: the same results anywhere, and edits are noticed."""

import subprocess
import sys
import tomllib

import numpy as np
import pytest

import rotting
from own_modules import problem_text, write_module
from rotting import UCB1, open_results, simulate, sweep
from rotting._core import imported
from rotting._core.compiling import kernel_digest
from rotting.errors import BadValue
from rotting.policies import parse_policy
from rotting.problems import parse_problem
from rotting.sweeps import SweepError
from rotting.sweeps.cluster import play_task
from rotting.sweeps.plan import Plan
from rotting.sweeps.plan_file import read_plan

RUNS = 3


SHORT = "two_arm(L=1, horizon=100)"


def play(folder, module, prefix, problem=SHORT, **named):
    return sweep(f"{prefix}Policy(width=0.5)", problem, RUNS, out=folder, imports=[module], progress=False, **named)


def test_own_classes_are_swept_as_they_are_simulated(tmp_path):
    module = write_module(tmp_path, "own_sweep_a", "SweepA")
    result = play(tmp_path / "out", module, "SweepA", problem_text("SweepA"))
    problem = parse_problem(problem_text("SweepA"))
    expected = simulate(parse_policy("SweepAPolicy"), problem, runs=RUNS)
    assert np.array_equal(result.regret[0], expected.regret)
    assert np.array_equal(result.pulls[0], expected.pulls)
    kept = tmp_path / "out" / "imports"
    assert (kept / "own_sweep_a.py").read_bytes() == (tmp_path / "own_sweep_a.py").read_bytes()
    assert (kept / "own_sweep_a_constants.py").exists()


def test_an_instance_of_the_class_will_do(tmp_path):
    file = write_module(tmp_path, "own_sweep_b", "SweepB")
    imported.load(file)
    policy = parse_policy("SweepBPolicy(width=0.1)")
    with open(file, "a") as edited:
        edited.write("\n# edited since: what is played is what the file says now\n")
    result = sweep(policy, SHORT, RUNS, out=tmp_path / "out", imports=[file], progress=False)
    assert result.attrs["policies"] == "SweepBPolicy(width=0.1)"


@pytest.mark.parametrize("part", ["own_sweep_c", "own_sweep_c_constants"])
def test_an_edited_module_is_another_plan(tmp_path, part):
    file = write_module(tmp_path, "own_sweep_c", "SweepC")
    before = play(tmp_path / "out", file, "SweepC")
    play(tmp_path / "out", file, "SweepC")  # nothing to do
    with open(tmp_path / f"{part}.py", "a") as edited:
        edited.write("\nFACTOR = 0.0\n")
    with pytest.raises(SweepError, match=r"holds the results of another plan \(other imports"):
        play(tmp_path / "out", file, "SweepC")
    with pytest.raises(SweepError, match="needs another version of the module own_sweep_c"):
        open_results(tmp_path / "out")
    kept = tmp_path / "out" / "imports" / "own_sweep_c.py"
    assert open_results(tmp_path / "out", imports=[kept]).identical(before)
    after = play(tmp_path / "out", file, "SweepC", overwrite=True)
    changed = not np.array_equal(before.regret[0, 0], after.regret[0, 0])
    assert changed == (part == "own_sweep_c_constants")


def test_a_class_that_was_not_imported_is_refused(tmp_path, monkeypatch):
    write_module(tmp_path, "own_sweep_d", "SweepD")
    monkeypatch.syspath_prepend(tmp_path)
    import own_sweep_d

    for policy, problem in ((own_sweep_d.SweepDPolicy(), "ten_arm()"), (UCB1(), problem_text("SweepD"))):
        with pytest.raises(TypeError, match=r"own_sweep_d\.SweepD.* is not one of the package's .*imports="):
            sweep(policy, problem, RUNS, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_another_process_needs_the_module_and_says_so(tmp_path):
    play(tmp_path / "out", write_module(tmp_path, "own_sweep_e", "SweepE"), "SweepE")
    kept = tmp_path / "out" / "imports" / "own_sweep_e.py"

    def results(*options):
        command = [sys.executable, "-m", "rotting", "results", str(tmp_path / "out"), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    refused = results()
    assert refused.returncode == 2
    assert "needs the module own_sweep_e (SHA-256 " in refused.stderr
    assert f"--import {kept}" in refused.stderr
    shown = results("--import", str(kept))
    assert shown.returncode == 0
    assert "SweepEPolicy(width=0.5)" in shown.stdout


PLAN = """
runs = 3
imports = {imports}
policies = ["SweepFPolicy", {{ policy = "SweepFPolicy", width = [0, 1] }}]
problems = ["ten_arm()"]
horizon = 50
"""


def test_plan_files_import_from_their_own_folder(tmp_path, monkeypatch):
    write_module(tmp_path, "own_sweep_f", "SweepF")
    monkeypatch.chdir("/")
    plan = read_plan(PLAN.format(imports='["own_sweep_f.py"]'), str(tmp_path / "plan.toml"))
    assert [source.name for source in plan.imports] == ["own_sweep_f", "own_sweep_f_constants"]
    assert Plan.from_text(plan.text).text == plan.text
    for imports, says in (
        ('["nothing.py"]', "plan.toml: imports=.*neither a file"),
        ('"own_sweep_f.py"', "plan.toml: imports=.*a list of"),
    ):
        with pytest.raises(BadValue, match=says):
            read_plan(PLAN.format(imports=imports), str(tmp_path / "plan.toml"))
    assert "imports" in tomllib.loads(PLAN.format(imports="[]"))


def test_a_worker_never_mixes_versions(tmp_path):
    """Two clients with two versions of a module, one worker: each gets what its own version plays."""
    tasks = []
    for factor in (1.0, 0.0):
        file = write_module(tmp_path, "own_sweep_g", "SweepG", factor)
        imported.load(file)
        plan = Plan.of("SweepGPolicy", problem_text("SweepG"), RUNS)
        cell = repr(plan.policies[0]), repr(plan.problems[0]), plan.problems[0].horizon, (5, 10), range(RUNS), 0
        sources = tuple(tuple(source) for source in plan.imports)
        tasks.append((rotting.__version__, kernel_digest(), "cpu", sources, (cell,)))
    results = [play_task(tasks[which])[0].earned.tobytes() for which in (0, 1, 0, 1)]
    assert results[0] == results[2] != results[1] == results[3]
