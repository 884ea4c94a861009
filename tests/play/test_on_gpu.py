"""The real thing, on a GPU (`make test-gpu`): every policy, both named problems, 64 runs, against the CPU."""

import numpy as np
import pytest

import rotting
import simulated_gpu
from rotting.paper.every_policy import LEFT_OUT, PROBLEMS, policies_for
from rotting.policies import Oracle
from rotting.problems import NAMED, Drop, Exponential, Problem

pytestmark = pytest.mark.gpu
RUNS = 64


def both(policies, problem, **game):
    """Return the results of the CPU and of the GPU."""
    return [rotting.simulate(policies, problem, **game, device=device) for device in ("cpu", "cuda")]


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_policy_decides_as_on_the_cpu(name):
    policies = {
        **policies_for(name),
        "Oracle": Oracle(),
        "blocks": rotting.EffFEWA(refresh="blocks"),
        "printed": rotting.EffFEWA(refresh="printed"),
    }
    on_cpu, on_gpu = both(policies, PROBLEMS[name], runs=RUNS, rounds=100)
    for label in policies:
        mine, theirs = on_gpu.sel(policy=label), on_cpu.sel(policy=label)
        np.testing.assert_array_equal(mine.pulls, theirs.pulls, err_msg=label)
        # These problems' means are constants between jumps: no logarithm or power, so not a bit differs.
        np.testing.assert_array_equal(mine.regret, theirs.regret, err_msg=label)


def test_policies_for_other_rewards_decide_as_on_the_cpu():
    """Clicks of arms that drop, for the policies that are made for rewards in [0, 1], or for other kinds of arms."""
    policies = {name: policy for name, policy in simulated_gpu.everybody().items() if name in LEFT_OUT}
    assert len(policies) == len(LEFT_OUT)
    problem = Problem([0.4, Drop(0.7, 0.2, 60), 0.1, Drop(0.5, 0.3, 200)], noise="bernoulli")
    on_cpu, on_gpu = both(policies, problem, horizon=1500, runs=RUNS, rounds=10)
    for label in policies:
        mine, theirs = on_gpu.sel(policy=label), on_cpu.sel(policy=label)
        np.testing.assert_array_equal(mine.pulls, theirs.pulls, err_msg=label)
        np.testing.assert_array_equal(mine.regret, theirs.regret, err_msg=label)


def test_a_users_policy_and_smooth_curves():
    """Powers and exponentials come from another library: means may differ by a few units in the last place."""
    problem = Problem([Exponential(0.5, 0.01), Drop(0.5, -0.5, 100), 0.1], noise="gaussian")
    on_cpu, on_gpu = both([simulated_gpu.OwnOnGpu(), rotting.FEWA()], problem, horizon=3000, runs=RUNS)
    np.testing.assert_array_equal(on_gpu.pulls, on_cpu.pulls)
    np.testing.assert_allclose(on_gpu.regret, on_cpu.regret, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", NAMED)
def test_every_named_problem_is_the_cpus(name):
    """Means that rest on powers or exponentials may differ by a few units in the last place."""
    on_cpu, on_gpu = both([rotting.UCB1(), rotting.EffFEWA()], NAMED[name](), horizon=1000, runs=8, rounds=10)
    np.testing.assert_array_equal(on_gpu.pulls, on_cpu.pulls)
    np.testing.assert_allclose(on_gpu.regret, on_cpu.regret, rtol=0, atol=1e-9)


def test_a_sweep_gives_the_same(tmp_path):
    asked = {
        "policies": ["EffFEWA()", "UCB1()"],
        "problems": ["two_arm()", "ten_arm()"],
        "runs": RUNS,
        "progress": False,
    }
    on_cpu, on_gpu = (rotting.sweep(**asked, out=tmp_path / device, device=device) for device in ("cpu", "cuda"))
    assert on_gpu.regret.equals(on_cpu.regret)
    assert on_gpu.pulls.equals(on_cpu.pulls)


def test_rounding_is_the_cpus():
    """A product is rounded before it is added to: contracted, this difference would not be 0."""
    from numba import cuda

    from rotting.play.gpu.compiling import _without_contraction

    def product_and_sum(numbers):
        numbers[3] = numbers[0] * numbers[1] + numbers[2]

    factor = 1.0 + 2.0**-30
    with _without_contraction():
        kernel = cuda.jit(product_and_sum, lto=False)
        numbers = np.array([factor, factor, -(factor * factor), 1.0])
        kernel[1, 1](numbers)
    assert numbers[3] == 0.0
