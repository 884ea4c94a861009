"""Rewards that arrive late, and traces: the detailed loop against the plain one, and against a literal one."""

import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import xarray

import rotting
from rotting import UCB1, EffFEWA, Problem, Uniform, simulate
from rotting._core.randomness import DELAY, NOISE, normal, stream_key, uniform
from rotting.errors import BadValue, KernelError
from rotting.play.delays import as_delay
from rotting.play.late import trace_bytes
from rotting.policies import POLICIES, Policy
from rotting.simulation import FixedDelay, GeometricDelay, write_traces

PROBLEM = Problem([0.2, rotting.problems.Drop(before=0.5, after=-0.5, at=40), 0.0], sigma=0.5, name="three arms")
GAME = {"horizon": 300, "runs": 4, "seed": 5, "rounds": 30}
ALL = ("actions", "rewards", "pulls")


def literal(policy, delay, run, horizon, seed):
    """Play one run with an agent and a list of rewards on their way; return its actions."""
    agent = policy.start(PROBLEM.n_arms)
    pulls = [0] * PROBLEM.n_arms
    on_their_way, actions = [], []
    for t in range(1, horizon + 1):
        arm = agent.select()
        n = pulls[arm]
        pulls[arm] += 1
        reward = PROBLEM.curves[arm](n) + 0.5 * normal(stream_key(seed, NOISE, run, arm), n)
        on_their_way.append((t + delay(stream_key(seed, DELAY, run, arm), n), arm, float(reward)))
        actions.append(arm)
        for due, whose, paid in on_their_way:
            if due == t:
                agent.update(whose, paid)
    return actions


def drawn(mean):
    return lambda key, n: math.floor(math.log(uniform(key, n)) / math.log(mean / (1 + mean)))


@pytest.mark.parametrize("policy", [UCB1(sigma=0.5), EffFEWA(sigma=0.5)])
@pytest.mark.parametrize(
    ("given", "delay"),
    [(1, lambda key, n: 1), (7, lambda key, n: 7), (GeometricDelay(0.3), drawn(0.3)), (GeometricDelay(30), drawn(30))],
)
def test_late_rewards_are_learnt_as_an_agent_would(policy, given, delay):
    actions = simulate(policy, PROBLEM, **GAME, delay=given, trace="actions").actions.values[0]
    for run in range(GAME["runs"]):
        assert actions[run].tolist() == literal(policy, delay, run, GAME["horizon"], GAME["seed"])


def test_every_policy_can_wait():
    script = Path(__file__).parents[1] / "late_rewards.py"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == (str(len(POLICIES)), 0), done.stderr


@pytest.mark.parametrize("delay", [0, FixedDelay(0), GeometricDelay(0)])
def test_no_delay_changes_nothing_bit_for_bit(delay):
    policies = [UCB1(), EffFEWA(), Uniform()]
    plain = simulate(policies, PROBLEM, **GAME)
    late = simulate(policies, PROBLEM, **GAME, delay=delay, trace=())
    traced = simulate(policies, PROBLEM, **GAME, delay=delay, trace=ALL)
    for other in (late, traced):
        assert np.array_equal(plain.regret, other.regret)
        assert np.array_equal(plain.pulls, other.pulls)
    assert "delay" not in simulate(UCB1(), PROBLEM, **GAME, delay=0).attrs


def test_traces_agree_with_each_other_and_with_the_rest():
    found = simulate([UCB1(), Uniform()], PROBLEM, **GAME, trace=ALL, first_run=3)
    counted = np.cumsum(found.actions.values[..., None] == np.arange(3), axis=2)
    assert np.array_equal(counted[:, :, found["round"].values - 1], found.pulls_over_time.values)
    assert np.array_equal(found.pulls_over_time.isel(round=-1), found.pulls)
    for run in range(GAME["runs"]):
        seen = [0, 0, 0]
        for arm, reward in zip(found.actions.values[0, run], found.rewards.values[0, run], strict=True):
            n = seen[arm]
            seen[arm] += 1
            expected = PROBLEM.curves[arm](n) + 0.5 * normal(stream_key(5, NOISE, 3 + run, int(arm)), n)
            assert reward == pytest.approx(expected, abs=1e-12)
    assert found.t.values.tolist() == list(range(1, GAME["horizon"] + 1))


def test_threads_change_no_trace():
    one, three = (
        simulate([UCB1(), Uniform()], PROBLEM, **GAME, trace=ALL, delay=GeometricDelay(5), threads=threads)
        for threads in (1, 3)
    )
    for name in ("actions", "rewards", "pulls_over_time", "regret"):
        assert one[name].values.tobytes() == three[name].values.tobytes()


def in_python(n_arms):
    return UCB1().start(n_arms)


def test_python_policies_and_checked_ones_wait_as_compiled_ones_do():
    game = {**GAME, "runs": 2, "delay": GeometricDelay(4), "trace": ALL}
    policies = [UCB1(), Uniform()]
    compiled, checked = simulate(policies, PROBLEM, **game), simulate(policies, PROBLEM, **game, check=True)
    plain = simulate(in_python, PROBLEM, **game)
    for name in ("actions", "rewards", "pulls_over_time"):
        assert np.array_equal(compiled[name], checked[name])
        assert np.array_equal(compiled[name][0], plain[name][0])


def test_rewards_after_the_last_round_are_never_learnt():
    found = simulate(UCB1(), PROBLEM, **GAME, delay=10**15)
    assert found.pulls.values[0].tolist() == [[300, 0, 0]] * 4  # every choice is the first one
    assert found.attrs["delay"] == f"FixedDelay(rounds={10**15})"


class MiscountingState(NamedTuple):
    pulls: np.ndarray


def first_arm(state, t, word):
    return 0


def count_the_wrong_arm(state, arm, reward):
    state.pulls[0 if state.pulls[0] < 250 else 1] += 1


@dataclass(frozen=True)
class MiscountsLate(Policy, state=MiscountingState, select=first_arm, update=count_the_wrong_arm):
    def initial_state(self, n_arms):
        return MiscountingState(np.zeros(n_arms, np.int64))


def test_a_policy_that_miscounts_is_noticed():
    """After the rounds that are tried in Python."""
    with pytest.raises(KernelError, match="did not count one pull of arm 0 in round 254"):
        simulate(MiscountsLate(), PROBLEM, **GAME, delay=3)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"trace": "action"}, "trace='action': expected names among 'actions', 'rewards', 'pulls'"),
        ({"delay": -1}, "rounds=-1"),
        ({"delay": 1.5}, "delay=1.5 is no delay"),
        ({"delay": True}, "delay=True is no delay"),
        ({"trace": "actions", "device": "cuda"}, "trace=.*is for the CPU, not for cuda"),
        ({"delay": 2, "device": "cuda"}, "delay=.*is for the CPU, not for cuda"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(arguments, says):
    with pytest.raises(BadValue, match=says):
        simulate(UCB1(), PROBLEM, **GAME, **arguments)


def test_delays_read_back():
    for delay in (FixedDelay(3), GeometricDelay(0.1)):
        assert as_delay(repr(delay)) == as_delay(delay) == delay
    assert as_delay("12") == FixedDelay(12)


@pytest.mark.parametrize("suffix", [".zarr", ".nc"])
def test_traces_are_written_and_read_back(tmp_path, suffix):
    found = simulate([UCB1(), Uniform()], PROBLEM, **GAME, trace=ALL)
    path = tmp_path / f"traces{suffix}"
    for _ in range(2):  # the second one replaces the first
        write_traces(path, found)
    again = xarray.open_zarr(path) if suffix == ".zarr" else xarray.open_dataset(path)
    with again:
        for name in ("actions", "rewards", "pulls_over_time", "regret", "policy", "t"):
            assert np.array_equal(again[name].values, found[name].values)
        assert again.attrs["policies"] == found.attrs["policies"]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    sizes = {"players": 2, "runs": 4, "n_arms": 3, "horizon": 300, "recorded": 30}
    kept = sum(found[name].nbytes for name in ("actions", "rewards", "pulls_over_time"))
    assert trace_bytes(ALL, **sizes) == kept


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    mine = tmp_path / "mine.zarr"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    found = simulate(UCB1(), PROBLEM, **GAME, trace="actions")
    with pytest.raises(BadValue, match="exists and is not a Zarr store"):
        write_traces(mine, found)
    with pytest.raises(BadValue, match=r"ends in \.zarr or \.nc"):
        write_traces(tmp_path / "traces.csv", found)
    assert (mine / "thesis.txt").read_text() == "years of work"
