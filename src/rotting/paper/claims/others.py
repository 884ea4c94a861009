"""Claims about arms that never change, and about regret."""

from __future__ import annotations

from functools import partial

import numpy as np

from rotting.paper import stationary, theory, two_arm
from rotting.paper.claims.judging import FAILS, Estimate, Finding, claim, exactly, mean_of, ratio_of, within
from rotting.paper.experiment import Results, final_regret

# The appendix.


def _stationary(appendix: Results, gap: float) -> Finding:
    fewa, ucb = (final_regret(appendix[stationary.key(gap)], label) for label in ("FEWA 0.06", "UCB1"))
    return Finding(ratio_of(fewa, ucb), f"FEWA {fewa.mean():.1f}, UCB1 {ucb.mean():.1f} at T = 5000.")


for _size, _gap in (("small", 0.14), ("large", 1.0)):
    claim(
        f"stationary-{_size}-gap",
        f"on arms that never change, FEWA(0.06) has less than twice the regret of UCB (gap {_gap:g})",
        "regret of FEWA(0.06) / UCB1",
        "appendix",
        within(0.0, 2.0),
        "< 2",
    )(partial(_stationary, gap=_gap))


@claim(
    "grows-like-log-t",
    "on arms that never change, FEWA's regret grows like log T",
    "growth of regret from round 2500 to 5000, less twice that from 600 to 1200, gap 1 (below 0: the same if log T, "
    "four times as much if linear)",
    "appendix",
    within(most=0.0),
    "< 0",
)
def _grows(appendix: Results) -> Finding:
    regret = appendix[stationary.key(1.0)]["regret"].sel(policy="FEWA 0.06")

    def growth(start: int, end: int) -> np.ndarray:
        early, late = (regret.sel(round=t, method="nearest").values for t in (start, end))
        return np.asarray(late - early)

    early, late = growth(600, 1200), growth(2500, 5000)
    why = f"{early.mean():.1f} from round 600 to 1200, {late.mean():.1f} from 2500 to 5000."
    return Finding(mean_of(late - 2 * early), why)


# Regret, and what it is made of.


@claim(
    "regret-can-fall",
    "where arms rest, regret can increase and decrease over time",
    "largest fall of mean regret between two recorded rounds, L = 0.233",
    "fig1",
    within(least=1e-9),
)
def _can_fall(fig1: Results) -> Finding:
    dataset = fig1[two_arm.key(two_arm.WORST)]
    regret = dataset["regret"].transpose("policy", "run", "round").values
    mean = regret.mean(axis=1)
    falls = np.maximum.accumulate(mean, axis=1) - mean
    policy, end = np.unravel_index(falls.argmax(), falls.shape)
    if falls[policy, end] == 0:
        return Finding(Estimate(0.0), "no policy's mean regret ever falls.", FAILS)
    start = mean[policy, :end].argmax()
    label, rounds = dataset["policy"].values[policy], dataset["round"].values
    before, after = mean[policy, [start, end]]
    why = f"{label}: from {before:.0f} at round {rounds[start]} to {after:.0f} at {rounds[end]}."
    return Finding(mean_of(regret[policy, :, start] - regret[policy, :, end]), why)


@claim(
    "regret-splits",
    "regret is the reward lost on underpulled arms less that gained on overpulled ones",
    "largest difference between the regret measured in a run and that sum",
    "theory",
    exactly(most=1e-6),
    "0",
)
def _splits(results: Results) -> Finding:
    differences = [
        np.abs(final_regret(results[name], "FEWA 5") - theory.decomposed(results, name).regret).max()
        for name in theory.NOISY
    ]
    largest = Estimate(float(max(differences)))
    return Finding(largest, "in every run, up to rounding." if largest.value < 1e-6 else "not in every run.")


@claim(
    "no-noise-is-greedy",
    "without noise FEWA pulls as Greedy does",
    "largest difference in pulls of an arm, over three problems",
    "theory",
    exactly(most=0.0),
    "0",
)
def _greedy(results: Results) -> Finding:
    pulls = [results[name]["pulls"] for name in theory.NOISELESS]
    largest = max(int(abs(each.sel(policy="FEWA 0.06") - each.sel(policy="Greedy")).max()) for each in pulls)
    why = "the same pulls on every problem." if largest == 0 else f"they differ by up to {largest} pulls of an arm."
    return Finding(Estimate(float(largest)), why)
