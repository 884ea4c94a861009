"""Claims about arms that never change, and of the theorems."""

from __future__ import annotations

import math

import numpy as np

from rotting.paper import stationary, theory, two_arm
from rotting.paper.claims.judging import (
    FAILS,
    HOLDS,
    AllResults,
    Finding,
    claim,
    ratio_of,
    verdict_within,
)
from rotting.simulation.paired import mean_interval
from rotting.theory import decompose, greedy_bound, largest_decay

# The appendix.


@claim(
    "stationary-small-gap",
    "on arms that never change, FEWA(0.06) has less than twice the regret of UCB (gap 0.14)",
    "regret of FEWA(0.06) / UCB1",
    ["appendix"],
    "< 2",
)
def _small_gap(results: AllResults) -> Finding:
    return _stationary(results, 0.14)


@claim(
    "stationary-large-gap",
    "on arms that never change, FEWA(0.06) has less than twice the regret of UCB (gap 1)",
    "regret of FEWA(0.06) / UCB1",
    ["appendix"],
    "< 2",
)
def _large_gap(results: AllResults) -> Finding:
    return _stationary(results, 1.0)


def _stationary(results: AllResults, gap: float) -> Finding:
    final = results["appendix"][stationary.key(gap)]["regret"].isel(round=-1)
    fewa, ucb = (np.asarray(final.sel(policy=label).values) for label in ("FEWA 0.06", "UCB1"))
    value, low, high = ratio_of(fewa, ucb)
    verdict = verdict_within(low, high, 0.0, 2.0)
    return Finding(value, low, high, verdict, f"FEWA {fewa.mean():.1f}, UCB1 {ucb.mean():.1f} at T = 5000.")


# Theory.


@claim(
    "regret-can-fall",
    "where arms rest, regret can increase and decrease over time",
    "largest fall of mean regret between two recorded rounds, L = 0.233",
    ["fig1"],
)
def _can_fall(results: AllResults) -> Finding:
    dataset = results["fig1"][two_arm.key(two_arm.WORST)]
    best = (0.0, "", 0, 0)
    for label in dataset["policy"].values:
        mean = dataset["regret"].sel(policy=label).mean("run").values
        highest = int(np.argmax(mean - np.minimum.accumulate(mean[::-1])[::-1]))
        lowest = highest + int(np.argmin(mean[highest:]))
        best = max(best, (float(mean[highest] - mean[lowest]), str(label), highest, lowest))
    value, label, start, end = best
    if not label:
        return Finding(0.0, None, None, FAILS, "no policy's mean regret ever falls.")
    regret = dataset["regret"].sel(policy=label).transpose("run", "round").values
    low, high = mean_interval(regret[:, start] - regret[:, end])
    rounds = dataset["round"].values
    before, after = regret[:, start].mean(), regret[:, end].mean()
    why = f"{label}: from {before:.0f} at round {rounds[start]} to {after:.0f} at {rounds[end]}."
    return Finding(value, low, high, verdict_within(low, high, 1e-9, math.inf), why)


@claim(
    "theorem-1",
    "Theorem 1 bounds the expected regret of FEWA with alpha = 5",
    "largest ratio, over problems and rounds, of mean regret to the bound",
    ["theory"],
    "< 1",
)
def _theorem_1(results: AllResults) -> Finding:
    worst: tuple[float, float | None, float | None, str] = (-math.inf, None, None, "")
    for name, problem in theory.NOISY.items():
        dataset = results["theory"][name]
        regret = dataset["regret"].isel(policy=0).transpose("run", "round").values
        limits = np.array([theory.bound(problem, int(t)) for t in dataset["round"].values])
        index = int(np.argmax(regret.mean(axis=0) / limits))
        at = regret[:, index] / limits[index]
        if at.mean() > worst[0]:
            worst = (float(at.mean()), *mean_interval(at), name)
    value, low, high, name = worst
    verdict = verdict_within(low, high, -math.inf, 1.0)
    return Finding(value, low, high, verdict, f"closest on {name}, at {100 * value:.0f} % of the bound.")


@claim(
    "regret-splits",
    "regret is the reward lost on underpulled arms less that gained on overpulled ones",
    "largest difference between the regret measured in a run and that sum",
    ["theory"],
    "0",
)
def _splits(results: AllResults) -> Finding:
    largest = 0.0
    for name, problem in theory.NOISY.items():
        dataset = results["theory"][name].isel(policy=0)
        measured = dataset["regret"].isel(round=-1).values
        computed = decompose(problem, dataset["pulls"].transpose("run", "arm").values).regret
        largest = max(largest, float(np.abs(measured - computed).max()))
    verdict = HOLDS if largest < 1e-6 else FAILS
    return Finding(
        largest, None, None, verdict, "in every run, up to rounding." if verdict == HOLDS else "not in every run."
    )


@claim(
    "no-noise-is-greedy",
    "without noise FEWA pulls as Greedy does",
    "largest difference in pulls of an arm, over three problems",
    ["theory"],
    "0",
)
def _greedy(results: AllResults) -> Finding:
    largest = 0
    for name in theory.NOISELESS:
        pulls = results["theory"][name]["pulls"]
        largest = max(largest, int(abs(pulls.sel(policy="FEWA 0.06") - pulls.sel(policy="Greedy")).max()))
    why = "the same pulls on every problem." if largest == 0 else f"they differ by up to {largest} pulls of an arm."
    return Finding(float(largest), None, None, HOLDS if largest == 0 else FAILS, why)


@claim(
    "no-noise-bound",
    "without noise the regret stays below (K - 1) L",
    "largest ratio of FEWA's regret to (K - 1) L, over three problems",
    ["theory"],
    "<= 1",
)
def _greedy_bound(results: AllResults) -> Finding:
    ratios = {
        name: float(results["theory"][name]["regret"].sel(policy="FEWA 0.06").isel(round=-1).max())
        / greedy_bound(problem.n_arms, largest_decay(problem, problem.horizon))
        for name, problem in theory.NOISELESS.items()
    }
    name = max(ratios, key=lambda name: ratios[name])
    verdict = HOLDS if ratios[name] <= 1 else FAILS
    return Finding(ratios[name], None, None, verdict, f"closest on {name}, at {100 * ratios[name]:.0f} % of the bound.")
