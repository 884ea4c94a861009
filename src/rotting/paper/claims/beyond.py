"""Claims of other papers, and known values: arms that bore, restless arms, arms without end, candy canes."""

from __future__ import annotations

import math

import numpy as np

from rotting.paper import boredom, candy_cane, many_arms, recovering
from rotting.paper.claims.judging import (
    DIFFERS,
    FAILS,
    HOLDS,
    AllResults,
    Finding,
    claim,
    ratio_of,
    resampled,
    verdict_within,
)
from rotting.paper.final_regret import final_regret, final_reward
from rotting.simulation.paired import mean_interval


def mean_of(values: np.ndarray) -> tuple[float, float | None, float | None]:
    """Return a mean over runs with its interval."""
    return (float(values.mean()), *mean_interval(values))


# Boredom.


@claim(
    "boredom-values",
    "the best cycle, the greedy player and the best arm on the instances of Warlop et al. (2018)",
    "largest difference of our exact values from the known ones (to six digits)",
    ["boredom"],
    "0.502368, 0.500437, ...",
)
def _values(results: AllResults) -> Finding:
    differences = [abs(value - known) for *_, value, known in boredom.cycles() if known is not None]
    value = max(differences)
    verdict = HOLDS if value < 5.5e-7 else FAILS
    return Finding(value, None, None, verdict, f"{len(differences)} values, from the graph of situations.")


def _last_rounds(results: AllResults, label: str) -> np.ndarray:
    """Return what each run earned per round in its last 1000 rounds."""
    return np.asarray(boredom.per_round(results["boredom"][boredom.KEY], label)[:, -5:].mean(axis=1))


@claim(
    "linucrl-optimal",
    "LinUCRL comes to earn what the best cycle does (Warlop et al. 2018)",
    "mean reward of the last 1000 rounds / 3.572140 (at least 0.99), ridge 0.01",
    ["boredom"],
    "1",
)
def _optimal(results: AllResults) -> Finding:
    share = _last_rounds(results, boredom.LEARNT) / boredom.GENRES.cycle().value
    value, low, high = mean_of(share)
    authors = _last_rounds(results, boredom.AUTHORS).mean()
    why = f"with the authors' ridge of 0.5 it earns {authors:.3f}: arms pulled a few times stay underestimated."
    return Finding(value, low, high, verdict_within(low, high, 0.99, math.inf), why)


@claim(
    "linucrl-beats-greedy",
    "LinUCRL comes to earn more than the greedy player who knows all",
    "mean reward of the last 1000 rounds less 3.499025 (above 0), ridge 0.01",
    ["boredom"],
)
def _beats_greedy(results: AllResults) -> Finding:
    value, low, high = mean_of(_last_rounds(results, boredom.LEARNT) - boredom.GENRES.cycle("greedy").value)
    ucb = _last_rounds(results, "UCB1").mean()
    return Finding(value, low, high, verdict_within(low, high, 0.0, math.inf), f"UCB1 earns {ucb:.3f}.")


# Arms that recover.


@claim(
    "rgp-totals",
    "what RGP-UCB and RGP-TS earn on the two instances of Pike-Burke and Grunewalder (2019), Table 1",
    "largest difference from the four totals, as a share of what is allowed (1 %, or three standard errors)",
    ["recovering"],
    "461.7, 462.6; 145.6, 156.5",
)
def _totals(results: AllResults) -> Finding:
    found = []
    for name, published in recovering.PUBLISHED.items():
        rewards = final_reward(results["recovering"][name])
        for label, value in published.items():
            earned = rewards[label]
            error = float(earned.std(ddof=1)) / math.sqrt(len(earned)) if len(earned) > 1 else math.inf
            share = abs(earned.mean() - value) / max(0.01 * value, 3 * error)
            found.append((float(share), f"{label} on {name} {earned.mean():.1f}"))
    runs = min(dataset.sizes["run"] for dataset in results["recovering"].values())
    value = max(found)[0]
    verdict = DIFFERS if runs < 2 or value > 1 else HOLDS
    return Finding(value, None, None, verdict, ", ".join(text for _, text in found) + ".")


# Restless arms.


@claim(
    "raw-ucb-and-fewa",
    "on Yahoo's levels RAW-UCB has less regret than FEWA (our question, in the comparison of Seznec et al. 2020)",
    "regret of FEWA / RAW-UCB, the smaller of both problems (above 1)",
    ["restless"],
)
def _raw_fewa(results: AllResults) -> Finding:
    return _smallest_ratio(results, "FEWA")


@claim(
    "raw-ucb-and-exp3s",
    "on Yahoo's levels RAW-UCB has less regret than Exp3.S (our question, as above)",
    "regret of Exp3.S / RAW-UCB, the smaller of both problems (above 1)",
    ["restless"],
)
def _raw_exp3s(results: AllResults) -> Finding:
    return _smallest_ratio(results, "Exp3.S")


def _smallest_ratio(results: AllResults, label: str) -> Finding:
    found = {}
    for name, dataset in results["restless"].items():
        regrets = final_regret(dataset)
        found[name] = ratio_of(regrets[label], regrets["RAW-UCB"])
    name = min(found, key=lambda name: found[name][0])
    value, low, high = found[name]
    why = " and ".join(f"{ratio:.2f} times on {name}" for name, (ratio, _, _) in found.items())
    return Finding(value, low, high, verdict_within(low, high, 1.0, math.inf), f"{why}.")


# Arms without end.


@claim(
    "ucb-tp-beats-ssucb",
    "where arms wear fast, UCB-TP has less regret than SSUCB (Kim et al. 2022)",
    "regret of SSUCB / UCB-TP at rho = T^-0.3 (above 1)",
    ["many-arms"],
)
def _beats_ssucb(results: AllResults) -> Finding:
    sample, policy = (many_arms.regrets(results["many-arms"], label)[0] for label in ("SSUCB", "UCB-TP"))
    value, low, high = ratio_of(sample, policy)
    why = f"SSUCB {sample.mean():,.0f}, UCB-TP {policy.mean():,.0f} of {many_arms.HORIZON:,}."
    return Finding(value, low, high, verdict_within(low, high, 1.0, math.inf), why)


@claim(
    "aucb-tp-between",
    "AUCB-TP, which is not told rho, has more regret than UCB-TP (Kim et al. 2022)",
    "smallest ratio, over rho, of the regret of AUCB-TP to UCB-TP (at least 1)",
    ["many-arms"],
)
def _between(results: AllResults) -> Finding:
    guessing, told = (many_arms.regrets(results["many-arms"], label) for label in ("AUCB-TP", "UCB-TP"))

    def smallest(chosen: np.ndarray) -> float:
        return float((guessing[:, chosen].mean(axis=1) / told[:, chosen].mean(axis=1)).min())

    runs = guessing.shape[1]
    value, (low, high) = smallest(np.arange(runs)), resampled(smallest, runs)
    why = f"at rho = T^-1 it has {guessing[-1].mean() / told[-1].mean():.2f} times the regret."
    return Finding(value, low, high, verdict_within(low, high, 1.0, math.inf), why)


# Candy canes.


@claim(
    "candy-oracle",
    "whoever knows the levels collects about 917 candy canes of 2000",
    "mean of the oracle's expected reward (917 within three standard errors)",
    ["candy-cane"],
    "917",
)
def _candy_oracle(results: AllResults) -> Finding:
    rewards = results["candy-cane"][candy_cane.KEY]["oracle_reward"].isel(round=-1).values
    return _about(np.asarray(rewards), 917.0)


@claim(
    "candy-uniform",
    "pulling arms at random collects about 754 candy canes of 2000",
    "mean of Uniform's expected reward (753.8 within three standard errors)",
    ["candy-cane"],
    "753.8",
)
def _candy_uniform(results: AllResults) -> Finding:
    return _about(final_reward(results["candy-cane"][candy_cane.KEY])["Uniform"], 753.8)


def _about(values: np.ndarray, known: float) -> Finding:
    """Return whether a mean is a known one, within three standard errors."""
    value, low, high = mean_of(values)
    if low is None or high is None:
        return Finding(value, low, high, verdict_within(low, high, 0.0, 0.0), "one run tells nothing.")
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    verdict = HOLDS if abs(value - known) <= 3 * error else FAILS
    return Finding(value, low, high, verdict, f"{(value - known) / error:+.1f} standard errors from {known:g}.")


@claim(
    "level-filter-best",
    "knowing the decay is worth more than any choice of policy without it",
    "expected reward of LevelFilter less that of the best policy that is told nothing of the decay (above 0)",
    ["candy-cane"],
)
def _filter_best(results: AllResults) -> Finding:
    rewards = final_reward(results["candy-cane"][candy_cane.KEY])
    told = {"LevelFilter", *(kind.__name__ for kind in candy_cane.TOLD)}
    best = max((label for label in rewards if label not in told), key=lambda label: rewards[label].mean())
    value, low, high = mean_of(rewards["LevelFilter"] - rewards[best])
    why = f"LevelFilter {rewards['LevelFilter'].mean():.0f}, {best} {rewards[best].mean():.0f}."
    return Finding(value, low, high, verdict_within(low, high, 0.0, math.inf), why)
