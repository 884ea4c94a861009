"""Claims of other papers, and known values: arms that bore, restless arms, arms without end, candy canes."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from rotting.paper import boredom, candy_cane, many_arms, recovering
from rotting.paper.claims.judging import (
    DIFFERS,
    FAILS,
    HOLDS,
    Estimate,
    Finding,
    claim,
    exactly,
    mean_of,
    over_runs,
    ratio_of,
    within,
)
from rotting.paper.experiment import Results, final_regret, final_reward

# Boredom.


@claim(
    "boredom-values",
    "the best cycle, the greedy player and the best arm on the instances of Warlop et al. (2018)",
    "largest difference of our exact values from the known ones (to six digits)",
    "boredom",
    exactly(most=5.5e-7),
    "0.502368, 0.500437, ...",
)
def _values(results: Results) -> Finding:
    differences = [abs(value - known) for *_, value, known in boredom.cycles() if known is not None]
    return Finding(Estimate(max(differences)), f"{len(differences)} values, from the graph of situations.")


def _last_rounds(results: Results, label: str) -> np.ndarray:
    """Return what each run earned per round in its last 1000 rounds."""
    return np.asarray(boredom.per_round(results[boredom.KEY], label)[:, -5:].mean(axis=1))


@claim(
    "linucrl-optimal",
    "LinUCRL comes to earn what the best cycle does (Warlop et al. 2018)",
    "mean reward of the last 1000 rounds / 3.572140 (at least 0.99), ridge 0.01",
    "boredom",
    within(least=0.99),
    "1",
)
def _optimal(results: Results) -> Finding:
    authors = _last_rounds(results, boredom.AUTHORS).mean()
    why = f"with the authors' ridge of 0.5 it earns {authors:.3f}: arms pulled a few times stay underestimated."
    return Finding(mean_of(_last_rounds(results, boredom.LEARNT) / boredom.GENRES.cycle().value), why)


@claim(
    "linucrl-beats-greedy",
    "LinUCRL comes to earn more than the greedy player who knows all",
    "mean reward of the last 1000 rounds less 3.499025 (above 0), ridge 0.01",
    "boredom",
    within(least=0.0),
)
def _beats_greedy(results: Results) -> Finding:
    more = _last_rounds(results, boredom.LEARNT) - boredom.GENRES.cycle("greedy").value
    return Finding(mean_of(more), f"UCB1 earns {_last_rounds(results, 'UCB1').mean():.3f}.")


# Arms that recover.


@claim(
    "rgp-totals",
    "what RGP-UCB and RGP-TS earn on the two instances of Pike-Burke and Grunewalder (2019), Table 1",
    "largest difference from the four totals, as a share of what is allowed (1 %, or three standard errors)",
    "recovering",
    exactly(most=1),
    "461.7, 462.6; 145.6, 156.5",
)
def _totals(results: Results) -> Finding:
    found = []
    for name, published in recovering.PUBLISHED.items():
        rewards = final_reward(results[name])
        for label, value in published.items():
            earned = rewards[label]
            error = float(earned.std(ddof=1)) / math.sqrt(len(earned)) if len(earned) > 1 else math.inf
            share = abs(earned.mean() - value) / max(0.01 * value, 3 * error)
            found.append((float(share), f"{label} on {name} {earned.mean():.1f}"))
    runs = min(dataset.sizes["run"] for dataset in results.values())
    value = max(found)[0]
    verdict = DIFFERS if runs < 2 or value > 1 else HOLDS
    return Finding(Estimate(value), ", ".join(text for _, text in found) + ".", verdict)


# Restless arms.


def _smallest_ratio(results: Results, label: str) -> Finding:
    ratios = {
        name: ratio_of(final_regret(dataset, label), final_regret(dataset, "RAW-UCB"))
        for name, dataset in results.items()
    }
    why = " and ".join(f"{ratio.value:.2f} times on {name}" for name, ratio in ratios.items())
    return Finding(min(ratios.values(), key=lambda ratio: ratio.value), f"{why}.")


for _name, _label, _source in (
    ("fewa", "FEWA", "our question, in the comparison of Seznec et al. 2020"),
    ("exp3s", "Exp3.S", "our question, as above"),
):
    claim(
        f"raw-ucb-and-{_name}",
        f"on Yahoo's levels RAW-UCB has less regret than {_label} ({_source})",
        f"regret of {_label} / RAW-UCB, the smaller of both problems (above 1)",
        "restless",
        within(least=1.0),
    )(partial(_smallest_ratio, label=_label))


# Arms without end.


@claim(
    "ucb-tp-beats-ssucb",
    "where arms wear fast, UCB-TP has less regret than SSUCB (Kim et al. 2022)",
    "regret of SSUCB / UCB-TP at rho = T^-0.3 (above 1)",
    "many-arms",
    within(least=1.0),
)
def _beats_ssucb(results: Results) -> Finding:
    sample, policy = (many_arms.regrets(results, label)[0] for label in ("SSUCB", "UCB-TP"))
    why = f"SSUCB {sample.mean():,.0f}, UCB-TP {policy.mean():,.0f} of {many_arms.HORIZON:,}."
    return Finding(ratio_of(sample, policy), why)


@claim(
    "aucb-tp-between",
    "AUCB-TP, which is not told rho, has more regret than UCB-TP (Kim et al. 2022)",
    "smallest ratio, over rho, of the regret of AUCB-TP to UCB-TP (at least 1)",
    "many-arms",
    within(least=1.0),
)
def _between(results: Results) -> Finding:
    guessing, told = (many_arms.regrets(results, label) for label in ("AUCB-TP", "UCB-TP"))

    def smallest(chosen: np.ndarray) -> float:
        return float((guessing[:, chosen].mean(axis=1) / told[:, chosen].mean(axis=1)).min())

    why = f"at rho = T^-1 it has {guessing[-1].mean() / told[-1].mean():.2f} times the regret."
    return Finding(over_runs(smallest, guessing.shape[1]), why)


# Candy canes.


@claim(
    "candy-oracle",
    "whoever knows the levels collects about 917 candy canes of 2000",
    "mean of the oracle's expected reward (917 within three standard errors)",
    "candy-cane",
    within(),
    "917",
)
def _candy_oracle(results: Results) -> Finding:
    rewards = results[candy_cane.KEY]["oracle_reward"].isel(round=-1).values
    return _about(np.asarray(rewards), 917.0)


@claim(
    "candy-uniform",
    "pulling arms at random collects about 754 candy canes of 2000",
    "mean of Uniform's expected reward (753.8 within three standard errors)",
    "candy-cane",
    within(),
    "753.8",
)
def _candy_uniform(results: Results) -> Finding:
    return _about(final_reward(results[candy_cane.KEY])["Uniform"], 753.8)


def _about(values: np.ndarray, known: float) -> Finding:
    """Return whether a mean is a known one, within three standard errors."""
    found = mean_of(values)
    if found.low is None:
        return Finding(found, "one run tells nothing.", DIFFERS)
    errors = (found.value - known) / (float(values.std(ddof=1)) / math.sqrt(len(values)))
    verdict = HOLDS if abs(errors) <= 3 else FAILS
    return Finding(found, f"{errors:+.1f} standard errors from {known:g}.", verdict)


@claim(
    "level-filter-best",
    "knowing the decay is worth more than any choice of policy without it",
    "expected reward of LevelFilter less that of the best policy that is told nothing of the decay (above 0)",
    "candy-cane",
    within(least=0.0),
)
def _filter_best(results: Results) -> Finding:
    rewards = final_reward(results[candy_cane.KEY])
    told = {"LevelFilter", *(kind.__name__ for kind in candy_cane.TOLD)}
    best = max((label for label in rewards if label not in told), key=lambda label: rewards[label].mean())
    why = f"LevelFilter {rewards['LevelFilter'].mean():.0f}, {best} {rewards[best].mean():.0f}."
    return Finding(mean_of(rewards["LevelFilter"] - rewards[best]), why)
