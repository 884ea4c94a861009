"""What a new process finds: machine code on disk that is never out of date, and imports that do not wait for it."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

import rotting
from programs import printed_elsewhere as run
from rotting._core import compiling

PACKAGE = Path(rotting.__file__).parent

# Plays UCB1 as an agent and, if asked to, in a simulation; counts what is compiled meanwhile.
PLAY_UCB1 = """
import json, sys
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    import rotting
    agent = rotting.UCB1(sigma=0.1).start(3)
    for _ in range(60):
        arm = agent.select()
        agent.update(arm, [0.9, 0.1, 0.5][arm])
    said = {"package": rotting.__file__, "agent": agent.pulls.tolist()}
    if "simulate" in sys.argv:
        problem = rotting.problems.stationary([0.9, 0.1, 0.5], sigma=0.1)
        result = rotting.simulate(agent.policy, problem, horizon=60, runs=1, progress=False)
        said["simulation"] = result.pulls.values[0, 0].tolist()
print(json.dumps({**said, "compiled": len(compiled.buffer)}))
"""


@pytest.fixture
def copy(tmp_path):
    """Return a copy of the package that can be edited."""
    target = tmp_path / "source" / "rotting"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def edit(file: Path, old: str, new: str) -> None:
    """Change a file so that neither its size nor its date tells."""
    text, stamp = file.read_text(), file.stat()
    assert text.count(old) == 1, f"{file.name} no longer contains {old!r} once: choose another edit"
    assert len(old) == len(new)
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def test_edits_are_seen_by_the_next_process_and_nothing_is_compiled_twice(copy, tmp_path):
    def play():
        # Python's own cache of byte code trusts dates; it is not what is tested here.
        settings = {"PYTHONPATH": copy.parent, "PYTHONDONTWRITEBYTECODE": 1, "NUMBA_CACHE_DIR": tmp_path / "cache"}
        result = json.loads(run(PLAY_UCB1, "simulate", **settings))
        assert Path(result["package"]).parent == copy
        return result

    first = play()
    assert first["compiled"] > 0
    assert first["agent"][0] > 40  # UCB1 found the best arm
    assert first["simulation"][0] > 40

    second = play()
    assert second == {**first, "compiled": 0}

    # The compiled functions of agents and simulations live in other files than the policy.
    edit(copy / "policies" / "ucb1.py", "index > best_index", "index < best_index")
    edited = play()
    assert edited["compiled"] > 0
    assert edited["agent"] == edited["simulation"] == [58, 1, 1]  # nothing lies below -infinity: it stays with arm 0

    edit(copy / "policies" / "ucb1.py", "index < best_index", "index > best_index")
    assert play() == second  # the old machine code is good again


def test_every_file_that_is_compiled_counts(copy, monkeypatch):
    """The cache belongs to a digest of sources: no file that uses the compiler may be missing from it."""
    monkeypatch.setattr(compiling, "_PACKAGE", copy)
    digest = compiling.kernel_digest.__wrapped__
    before = digest()
    assert digest() == before
    compiles = re.compile(
        r"^from rotting\._core\.compiling import .*\b(helper|entry)\b|^\s*(import|from) numba\b(?!\.core import event)",
        re.MULTILINE,
    )
    sources = [file for file in copy.rglob("*.py") if compiles.search(file.read_text())]
    found = {file.relative_to(copy).as_posix() for file in sources}
    assert {
        "_core/compiling.py",
        "_core/randomness.py",
        "problems/curve_kernels.py",
        "policies/_contract/kernel.py",
    } <= found
    # What is registered with the kernel need not mention the compiler.
    for file in {*sources, *(copy / "policies").rglob("*.py"), *(copy / "problems").rglob("*.py")}:
        text = file.read_text()
        file.write_text(text + "# edited\n")
        assert digest() != before, f"{file.relative_to(copy)} is not part of the digest"
        file.write_text(text)
    assert digest() == before


PLAY_EVERYTHING = """
import json
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    import rotting
    from rotting.policies import Policy
    from rotting.problems import Drop, Power, Problem
    problem = Problem([Drop(1.0, 0.0, 20), Power(0.3), [0.5, 0.4]], sigma=0.5)
    needs = {name: {"curves": problem.curves} for name in ("CTO", "CTOSIM", "DCTOUCB")}
    needs["Oracle"] = {"problem": problem}
    played = []
    for name, kind in rotting.policies.POLICIES.items():
        policy = kind(**needs.get(name, {"horizon": 50} if "horizon" in kind.knows else {}))
        agent = policy.start(3, seed=0)
        for _ in range(20):
            agent.update(agent.select(), 0.5)
        if kind.explain is not Policy.explain:
            agent.explain()
        rotting.simulate(policy, problem, horizon=50, runs=1, progress=False)
        played.append(name)
print(json.dumps({"played": played, "compiled": [str(e.data["dispatcher"]) for _, e in compiled.buffer]}))
"""


def test_nothing_is_compiled_after_a_warm_up(tmp_path):
    # In a copy: of two processes that write to numba's index of a cache at once, one may lose its line.
    kept = compiling.kernel_folder()
    shutil.copytree(kept, tmp_path / "rotting" / kept.name, ignore=shutil.ignore_patterns("*.tmp.*"))
    run("from rotting.cli import main; main(['warm-up'])", NUMBA_CACHE_DIR=tmp_path)
    again = json.loads(run(PLAY_EVERYTHING, NUMBA_CACHE_DIR=tmp_path))
    assert again["compiled"] == []
    assert len(again["played"]) > 15


OWN_POLICY = """
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
from rotting.policies import Policy

class FixedState(NamedTuple):
    pulls: np.ndarray

def select(state, t, word):
    return 0

def update(state, arm, reward):
    state.pulls[arm] += 1

@dataclass(frozen=True)
class FixedPolicyOfATest(Policy, state=FixedState, select=select, update=update):
    def initial_state(self, n_arms):
        return FixedState(np.zeros(n_arms, np.int64))
"""


def test_an_edited_policy_from_outside_is_seen_too(tmp_path):
    module = tmp_path / "outside_policy.py"
    module.write_text(OWN_POLICY)
    code = (
        "import rotting, outside_policy\n"
        "policy = outside_policy.FixedPolicyOfATest()\n"
        "agent = policy.start(2)\n"
        "agent.update(agent.select(), 0.5)\n"
        "print(agent.pulls.tolist())\n"
    )
    path = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])
    settings = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": 1}
    assert run(code, **settings) == "[1, 0]\n"
    edit(module, "return 0", "return 1")
    assert run(code, **settings) == "[0, 1]\n"


def test_importing_the_package_does_not_import_what_is_slow():
    code = (
        "import sys, rotting\n"
        "rotting.__version__, dir(rotting)\n"
        "print([name for name in ('numba', 'llvmlite', 'numpy', 'scipy', 'pandas', 'xarray', 'matplotlib', 'rich')\n"
        "       if name in sys.modules])\n"
        "rotting.FEWA\n"
        "print('numba' in sys.modules, [name for name in ('xarray', 'pandas', 'matplotlib') if name in sys.modules])\n"
    )
    assert run(code).splitlines() == ["[]", "True []"]


def test_every_public_name_can_be_imported():
    code = (
        "import rotting\n"
        "assert set(rotting.__all__) <= set(dir(rotting))\n"
        "names = {}\n"
        "exec('from rotting import *', names)\n"
        "assert set(rotting.__all__) <= set(names), set(rotting.__all__) - set(names)\n"
        "try:\n"
        "    rotting.no_such_name\n"
        "except AttributeError as error:\n"
        "    print(error)\n"
    )
    assert "no_such_name" in run(code)


@pytest.mark.parametrize("kind", ["under a file", "read only"])
def test_a_cache_that_cannot_be_written_is_done_without(kind, tmp_path):
    if kind == "under a file":
        (tmp_path / "file").write_text("")
        folder = tmp_path / "file" / "cache"
    else:
        folder = tmp_path / "closed"
        folder.mkdir()
        folder.chmod(0o500)
        if os.access(folder, os.W_OK):
            pytest.skip("NOT TESTED: this user may write everywhere")
    result = json.loads(run(PLAY_UCB1, NUMBA_CACHE_DIR=folder, PYTHONPATH=PACKAGE.parent))
    assert result["compiled"] > 0
    assert result["agent"][0] > 40
