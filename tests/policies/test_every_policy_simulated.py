"""Checks that every policy must pass: simulations repeat, agents decide as they do, learning beats chance."""

import dataclasses

import numpy as np
import pytest

import rotting
from every_policy import ARMS, CASES, build, title
from rotting import simulate
from rotting._core.randomness import CHOICE, NOISE, normal, stream_key
from rotting.policies import Agent, Policy
from rotting.policies._contract.states import fresh_state
from rotting.problems import Drop, Problem
from rotting.problems.curves import Power


def test_simulations_repeat(case):
    problem = Problem([Drop(1.0, 0.0, 60), 0.5, 0.3], sigma=0.5)
    first, second = (simulate(build(case), problem, horizon=200, runs=3, seed=9, progress=False) for _ in range(2))
    np.testing.assert_array_equal(first.regret, second.regret)
    np.testing.assert_array_equal(first.pulls, second.pulls)


def test_an_agent_decides_as_the_simulation_does(case):
    """The same rewards, one by one from Python: every round's regret is the same, and so is every decision.

    No two arms are ever worth the same here, so a single different decision would show.
    """
    problem = Problem([Power(theta=0.3), Drop(0.71, 0.13, 40), [0.53, 0.52, 0.5, 0.49, 0.2]], sigma=0.4)
    horizon, seed = 250, 11
    result = simulate(
        build(case), problem, horizon=horizon, runs=2, seed=seed, rounds=range(1, horizon + 1), progress=False
    )
    values = problem.means(np.arange(horizon))
    best = problem.oracle(horizon, np.arange(1, horizon + 1)).reward
    for run in range(2):
        noise = [stream_key(seed, NOISE, run, arm) for arm in range(ARMS)]
        policy = build(case).informed(problem, horizon)
        agent = Agent(policy, fresh_state(policy, ARMS), stream_key(seed, CHOICE, run))
        earned, regret = 0.0, []
        for t in range(horizon):
            arm = agent.select()
            n = int(agent.pulls[arm])
            agent.update(arm, float(values[arm, n] + problem.sigma * normal(noise[arm], n)))
            earned += values[arm, n]
            regret.append(best[t] - earned)
        np.testing.assert_array_equal(agent.pulls, result.pulls.values[0, run])
        np.testing.assert_allclose(result.regret.values[0, run], regret, rtol=0, atol=1e-9)


# Better than random. Runs are paired (common random numbers), so a difference of five standard errors of the paired
# difference would be chance in less than one run in a million; seeds are fixed all the same.


def assert_better_than_uniform(policy: Policy, problem: Problem, horizon: int) -> None:
    result = simulate(
        {"policy": policy, "uniform": rotting.Uniform()}, problem, horizon=horizon, runs=30, seed=3, progress=False
    )
    last = result.regret.isel(round=-1).values
    gain = last[1] - last[0]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    assert gain.mean() > 5 * error, f"regret {last[0].mean():.1f} against {last[1].mean():.1f}"
    # And better by far: these problems are easy.
    assert last[0].mean() < 0.8 * last[1].mean()


# Nothing rots, gaps are large, and most rewards lie in [0, 1]: what every policy is made for, whichever family it
# belongs to. Exp3, Rexp3 and BetaThompson clip the others; for the rest, the noise is small (0.3 < sigma = 1). CTO is
# told the three constants.
EASY = Problem([0.2, 0.5, 0.9], sigma=0.3, name="easy")


# These are sure of what is not true here (a known decay, arms without end, arms that improve or recover); their own
# tests say what they are good for.
NOT_EASY = {
    "AUCBTASW",
    "AUCBTP",
    "GraphUCB",
    "ISICombUCB1",
    "LevelFilter",
    "REdUCB",
    "RLessUCB",
    "RUCBE",
    "UCBTASW",
    "UCBTP",
    "Uniform",
}


@pytest.mark.parametrize("case", [case for case in CASES if case[0] not in NOT_EASY], ids=title)
def test_better_than_uniform_where_nothing_rots(case):
    name, chosen = case
    if name in ("CTO", "CTOSIM", "DCTOUCB"):
        chosen = {**chosen, "curves": (0.2, 0.5, 0.9)}
    if name in ("Greedy", "RisingElimination"):
        # They trust single rewards, so that they are only made for arms without noise.
        assert_better_than_uniform(build(case), dataclasses.replace(EASY, sigma=0.0), horizon=2000)
        return
    assert_better_than_uniform(build((name, chosen)), EASY, horizon=2000)


# The best arm wears out after 300 pulls, the noise is small: the families made for rotting arms must follow.
ROTTEN = Problem([Drop(1.0, 0.0, 300), 0.6, 0.1], sigma=0.1, name="rotten")
ROTTING = [
    ("AdwinUCB", {"sigma": 0.1}),  # notices the drop
    ("EffFEWA", {"sigma": 0.1}),
    ("EffFEWA", {"sigma": 0.1, "grid": 1.3}),
    ("EffFEWA", {"sigma": 0.1, "refresh": "blocks"}),
    ("EffFEWA", {"sigma": 0.1, "refresh": "printed"}),
    ("EffRAWUCB", {"sigma": 0.1}),
    ("EffRAWUCB", {"sigma": 0.1, "grid": 1.3}),
    ("EffRAWUCBPlus", {"sigma": 0.1}),
    ("FEWA", {"sigma": 0.1}),
    ("Greedy", {}),  # single rewards suffice, the noise being far below the gaps
    ("Oracle", {}),
    ("CUSUMUCB", {"first": 50}),  # notices the drop
    ("DiscountedBetaThompson", {"gamma": 0.99}),
    ("GLRKLUCB", {}),  # notices the drop
    ("GLRKLUCB", {"local": True}),
    ("MUCB", {"window": 50}),  # notices the drop
    ("RAWKLUCB", {}),
    ("SlidingWindowBetaThompson", {}),
    ("SlidingWindowGaussianThompson", {"sigma": 0.3}),
    ("RAWUCB", {"sigma": 0.1}),
    ("RAWUCBPlus", {"sigma": 0.1}),
    ("SWA", {"sigma": 0.1}),
    ("SlidingWindowUCB", {"scale": 0.5}),  # forgets by itself
    ("DiscountedUCB", {"scale": 0.2}),
    ("WSWA", {"sigma": 0.1}),
]


@pytest.mark.parametrize("case", ROTTING, ids=title)
def test_better_than_uniform_where_the_best_arm_rots(case):
    assert_better_than_uniform(build(case), ROTTEN, horizon=2000)


def test_better_than_uniform_where_the_possible_curves_are_known():
    """CTO's own setting: each arm follows one of a few known curves, whose sums move apart."""
    problem = Problem([Power(theta=theta) for theta in (1.0, 0.1, 0.5)], sigma=0.1)
    assert_better_than_uniform(rotting.CTO(curves=problem.curves), problem, horizon=2000)


def test_better_than_uniform_where_all_follow_a_known_trend():
    """AUCB's own setting: every mean is an unknown constant times a known trend."""
    problem = Problem([Power(theta=0.3, start=start) for start in (0.2, 0.5, 1.0)], sigma=0.1)
    assert_better_than_uniform(rotting.AUCB(trend=Power(theta=0.3), sigma=0.1), problem, horizon=2000)
