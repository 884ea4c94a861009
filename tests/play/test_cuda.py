"""The GPU's kernels, run by numba's CUDA simulator on small games, against the CPU's decisions."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rotting
import simulated_gpu
from rotting.play.loop import streams_of, streams_of_many


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Return what simulated_gpu.py found: pulls, regret and outcomes."""
    file = tmp_path_factory.mktemp("cuda") / "found.npz"
    settings = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    script = Path(simulated_gpu.__file__)
    finished = subprocess.run(
        [sys.executable, str(script), str(file)], env=os.environ | settings, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    with np.load(file) as found:
        return found["pulls"], found["regret"], json.loads(str(found["outcome"]))


def test_every_policy_decides_as_on_the_cpu(simulated):
    pulls, regret, outcome = simulated
    players = {**simulated_gpu.everybody(), "OwnOnGpu": simulated_gpu.OwnOnGpu()}
    expected = rotting.simulate(players, simulated_gpu.problem(), **simulated_gpu.GAME)
    assert outcome["labels"] == list(expected["policy"].values)
    for place, label in enumerate(outcome["labels"]):
        np.testing.assert_array_equal(pulls[place], expected.pulls.values[place], err_msg=label)
        np.testing.assert_array_equal(regret[place], expected.regret.values[place], err_msg=label)
    assert len(np.unique(pulls, axis=0)) > 10  # policies differ, so that none passes for another


def test_the_result_names_the_device(simulated):
    assert simulated[2]["device"] == "cuda: CUDA simulator"
    assert rotting.simulate(rotting.UCB1(), rotting.problems.two_arm(), 10, runs=1).attrs["device"] == "cpu"


@pytest.mark.parametrize(
    ("which", "error"),
    [
        ("python", "NoDevice: InPython: is played in Python"),
        ("checked", "NoDevice: UCB1(sigma=1): is played in Python"),
        ("forgetful", "KernelError: Forgetful(): update did not count one pull of arm"),
        ("meddling", "KernelError: Meddling(): changes state.settings, which never changes"),
        ("wild", "KernelError: Wild(): select gave 17 in round 9; expected an arm from 0 to 3"),
    ],
)
def test_what_a_gpu_cannot_play_is_refused_by_name(simulated, which, error):
    assert error in simulated[2][which]


def test_batches_are_cut_to_the_memory_that_there_is(simulated):
    same, runs, told = simulated[2]["memory"]["planned"]
    assert (same, runs, told) == (True, [2, 2, 1], 5)


def test_too_little_memory_is_met_by_smaller_batches(simulated):
    same, runs, told = simulated[2]["memory"]["met"]
    assert same
    assert told == 5
    assert max(runs) <= 2


def test_games_that_are_played_at_once_come_out_as_they_do_alone(simulated):
    """Among them all named problems, and with them all dynamics and noises."""
    assert len(simulated[2]["together"]) > 10
    assert all(simulated[2]["together"])


def test_sweeps_and_tuning_give_the_same_and_folders_hold_one_kind(simulated):
    swept = simulated[2]["swept"]
    assert (swept["same"], swept["again"], swept["tuned"]) == (True, True, True)
    assert "another plan (other device)" in swept["refused"]


def test_streams_of_many_runs_are_those_of_each():
    runs = np.array([0, 5, 2**40])
    many = streams_of_many(2**70 + 1, runs, 3)
    for place, run in enumerate(runs):
        one = streams_of(2**70 + 1, int(run), 3)
        np.testing.assert_array_equal(many.noise[place], one.noise)
        np.testing.assert_array_equal(many.choice[place], one.choice)


def test_what_is_missing_is_said(monkeypatch):
    with pytest.raises(rotting.errors.BadValue, match="expected 'cpu' or 'cuda'"):
        rotting.simulate(rotting.UCB1(), rotting.problems.two_arm(), runs=1, device="gpu")
    from rotting.play.gpu import device

    device.require.cache_clear()
    monkeypatch.setattr(device.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(rotting.errors.MissingExtra, match=r"rotting\[cuda\]"):
        rotting.simulate(rotting.UCB1(), rotting.problems.two_arm(), runs=1, device="cuda")


def test_constants_never_change():
    """What a GPU keeps once for many runs must be the same after a game as before it."""
    from rotting._core.defining import leaves

    for label, policy in simulated_gpu.everybody().items():
        agent = policy.informed(simulated_gpu.problem(), 300).start(4, seed=1)
        before = {name: array.copy() for name, array in leaves(agent._state)}
        for t in range(300):
            agent.update(agent.select(), float(t % 5))
        after = dict(leaves(agent._state))
        for name in ("settings", *policy.constants):
            kept = before.get(f"state.{name}")
            if kept is not None:
                shown = after[f"state.{name}"]
                np.testing.assert_array_equal(shown[tuple(map(slice, kept.shape))], kept, err_msg=f"{label}.{name}")
