"""Claims that the paper proves: bounds above and below, and that greed is best for those who know."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from rotting.paper import theory, two_arm
from rotting.paper.claims.judging import Estimate, Finding, claim, exactly, mean_of, over_runs, within
from rotting.paper.experiment import Results, final_regret
from rotting.problems import Problem
from rotting.theory import (
    deterministic_lower_bound,
    eff_fewa_bound,
    eff_fewa_problem_bound,
    fewa_high_probability_bound,
    fewa_problem_bound,
    fewa_problem_high_probability_bound,
    greedy_bound,
    largest_decay,
    overpull_limits,
    stochastic_lower_bound,
)


def _decay(problem: Problem) -> float:
    return largest_decay(problem, problem.horizon)


def _largest(shares: Mapping[str, float]) -> tuple[Estimate, str]:
    """Return the largest of some numbers in which nothing is random, and whose it is."""
    name = max(shares, key=lambda name: shares[name])
    return Estimate(shares[name]), name


def _below(shares: Mapping[str, np.ndarray]) -> Finding:
    """Return the largest, over problems, of the mean share that regret has of a bound."""
    means = {name: mean_of(share) for name, share in shares.items()}
    name = max(means, key=lambda name: means[name].value)
    return Finding(means[name], f"closest on {name}, at {100 * means[name].value:.2g} % of the bound.")


@claim(
    "proposition-1",
    "whoever knows the means does best by being greedy in each round (Proposition 1)",
    "largest difference, over problems and rounds up to T / 2, between what the best allocation of pulls earns (an "
    "exact dynamic program) and what greed does",
    "theory",
    exactly(most=1e-6),
    "0",
)
def _proposition_1(results: Results) -> Finding:
    found, name = _largest({name: _more_than_greed(problem) for name, problem in theory.NOISY.items()})
    why = (
        "up to rounding, no allocation earns more." if found.value < 1e-6 else f"on {name} some allocation earns more."
    )
    return Finding(found, why)


def _more_than_greed(problem: Problem) -> float:
    """Return by how much the best allocation of pulls to arms beats greed, at most, in 1, 2, ... rounds."""
    last = problem.horizon // 2
    best = np.append(0.0, np.full(last, -math.inf))  # that the arms so far earn in 0, 1, ... rounds
    for curve in problem.curves:
        earned = np.append(0.0, np.cumsum(curve(np.arange(last))))
        before, best = best, np.full(last + 1, -math.inf)
        for pulls in range(last + 1):
            np.maximum(best[pulls:], before[: last + 1 - pulls] + earned[pulls], out=best[pulls:])
    greedy = problem.oracle(last, np.arange(1, last + 1), kind="greedy").reward
    return float((best[1:] - greedy).max())


@claim(
    "theorem-1",
    "Theorem 1 bounds the expected regret of FEWA with alpha = 5",
    "largest ratio, over problems and rounds, of mean regret to the bound",
    "theory",
    within(most=1.0),
    "< 1",
)
def _theorem_1(results: Results) -> Finding:
    shares = {}
    for name, problem in theory.NOISY.items():
        dataset = results[name]
        limits = np.array([theory.bound(problem, int(t)) for t in dataset["round"].values])
        share = dataset["regret"].isel(policy=0).transpose("run", "round").values / limits
        shares[name] = share[:, share.mean(axis=0).argmax()]
    return _below(shares)


def _bounded(name: str, words: str, label: str, bound: Callable[[Problem], float]) -> None:
    """Claim that the mean regret of a policy stays below a bound at T."""

    def check(results: Results) -> Finding:
        problems = theory.NOISY.items()
        return _below({name: final_regret(results[name], label) / bound(problem) for name, problem in problems})

    measure = "largest ratio, over problems, of mean regret at T to the bound"
    claim(name, words, measure, "theory", within(most=1.0), "< 1")(check)


_bounded(
    "theorem-2",
    "Theorem 2 bounds the expected regret of FEWA with alpha = 5 on each problem",
    "FEWA 5",
    lambda problem: fewa_problem_bound(problem, problem.horizon),
)
_bounded(
    "corollary-5",
    "Corollary 5 bounds the expected regret of EFF-FEWA with alpha = 5",
    "EFF-FEWA 5",
    lambda problem: eff_fewa_bound(problem.n_arms, problem.horizon, problem.sigma, _decay(problem)),
)
_bounded(
    "corollary-6",
    "Corollary 6 bounds the expected regret of EFF-FEWA with alpha = 5 on each problem",
    "EFF-FEWA 5",
    lambda problem: eff_fewa_problem_bound(problem, problem.horizon),
)


@claim(
    "corollaries-2-and-3",
    "FEWA's regret stays below Corollaries 2 and 3 in 95 % of the runs",
    "largest share, over problems, of runs above the smaller of the two bounds",
    "theory",
    exactly(most=theory.DELTA),
    "<= 0.05",
)
def _corollaries_2_and_3(results: Results) -> Finding:
    above = {}
    for name, problem in theory.NOISY.items():
        rounds, delta = problem.horizon, theory.DELTA / problem.n_arms
        bound = min(
            fewa_high_probability_bound(problem.n_arms, rounds, problem.sigma, _decay(problem), 5.0, delta),
            fewa_problem_high_probability_bound(problem, rounds, 5.0, delta),
        )
        above[name] = float((final_regret(results[name], theory.CERTAIN) > bound).mean())
    found, _ = _largest(above)
    return Finding(found, f"{100 * found.value:.0f} % of the runs lie above.")


@claim(
    "overpulls",
    "FEWA overpulls an arm at most h+ times (equation 10)",
    "largest ratio, over problems and arms, of the mean overpulls of FEWA with alpha = 5 to h+",
    "theory",
    exactly(most=1.0),
    "<= 1",
)
def _overpulls(results: Results) -> Finding:
    shares = {}
    for name, problem in theory.NOISY.items():
        limits = overpull_limits(problem, problem.horizon).overpulls
        for arm, share in enumerate(theory.decomposed(results, name).overpulls.mean(axis=0) / limits):
            shares[f"arm {arm} of {name}"] = float(share)
    found, where = _largest(shares)
    return Finding(found, f"most on {where}: {100 * found.value:.0f} % of h+.")


@claim(
    "proposition-2",
    "no policy is better than sigma sqrt(K T) / 10 on every problem (Proposition 2)",
    "smallest, over policies, of the largest mean regret over L, in units of that bound",
    "fig1",
    within(least=1.0),
    ">= 1",
)
def _proposition_2(fig1: Results) -> Finding:
    regrets = np.stack([two_arm.final_regret(fig1, label) for label in two_arm.POLICIES])
    regrets /= stochastic_lower_bound(2, two_arm.HORIZON, 1.0)
    found = over_runs(lambda chosen: float(regrets[:, chosen].mean(axis=1).max(axis=1).min()), regrets.shape[1])
    return Finding(found, f"the best one has {found.value:.1f} times it.")


def _noiseless(results: Results, label: str, bound: Callable[[int, float], float]) -> tuple[Estimate, str]:
    """Return the largest ratio, over problems without noise, of a regret to its bound for K arms and a decay."""
    problems = theory.NOISELESS.items()
    return _largest(
        {
            name: float(final_regret(results[name], label).max()) / bound(problem.n_arms, _decay(problem))
            for name, problem in problems
        }
    )


@claim(
    "proposition-3",
    "without noise, some problem costs even Greedy (K - 1) L / 2 (Proposition 3)",
    "largest ratio of Greedy's regret to (K - 1) L / 2, over three problems",
    "theory",
    exactly(least=1 - 1e-9),
    ">= 1",
)
def _proposition_3(results: Results) -> Finding:
    found, name = _noiseless(results, "Greedy", deterministic_lower_bound)
    return Finding(found, f"{found.value:.3g} times it on {name}.")


@claim(
    "no-noise-bound",
    "without noise the regret stays below (K - 1) L",
    "largest ratio of FEWA's regret to (K - 1) L, over three problems",
    "theory",
    exactly(most=1.0),
    "<= 1",
)
def _no_noise_bound(results: Results) -> Finding:
    found, name = _noiseless(results, "FEWA 0.06", greedy_bound)
    return Finding(found, f"closest on {name}, at {100 * found.value:.0f} % of the bound.")
