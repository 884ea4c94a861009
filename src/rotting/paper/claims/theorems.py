"""Claims that the paper proves: bounds above and below, and how regret grows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rotting.paper import stationary, theory, two_arm
from rotting.paper.claims.judging import (
    FAILS,
    HOLDS,
    AllResults,
    Finding,
    claim,
    ratio_of,
    resampled,
    verdict_within,
)
from rotting.problems import Problem
from rotting.simulation.paired import mean_interval
from rotting.theory import (
    decompose,
    deterministic_lower_bound,
    eff_fewa_bound,
    eff_fewa_problem_bound,
    fewa_high_probability_bound,
    fewa_problem_bound,
    fewa_problem_high_probability_bound,
    largest_decay,
    overpull_limits,
    stochastic_lower_bound,
)


def _final(results: AllResults, name: str, label: str) -> np.ndarray:
    return np.asarray(results["theory"][name]["regret"].sel(policy=label).isel(round=-1).values)


def _below(results: AllResults, label: str, bound: Callable[[Problem], float]) -> Finding:
    """Return the largest ratio, over problems, of the mean regret at T to a bound."""
    found = []
    for name, problem in theory.NOISY.items():
        shares = _final(results, name, label) / bound(problem)
        found.append((float(shares.mean()), *mean_interval(shares), name))
    value, low, high, name = max(found)
    why = f"closest on {name}, at {100 * value:.2g} % of the bound."
    return Finding(value, low, high, verdict_within(low, high, -math.inf, 1.0), why)


@claim(
    "theorem-2",
    "Theorem 2 bounds the expected regret of FEWA with alpha = 5 on each problem",
    "largest ratio, over problems, of mean regret at T to the bound",
    ["theory"],
    "< 1",
)
def _theorem_2(results: AllResults) -> Finding:
    return _below(results, "FEWA 5", lambda problem: fewa_problem_bound(problem, problem.horizon))


@claim(
    "corollaries-2-and-3",
    "FEWA's regret stays below Corollaries 2 and 3 in 95 % of the runs",
    "largest share, over problems, of runs above the smaller of the two bounds",
    ["theory"],
    "<= 0.05",
)
def _corollaries_2_and_3(results: AllResults) -> Finding:
    above = []
    for name, problem in theory.NOISY.items():
        rounds, delta = problem.horizon, theory.DELTA / problem.n_arms
        decay = largest_decay(problem, rounds)
        bounds = (
            fewa_high_probability_bound(problem.n_arms, rounds, problem.sigma, decay, 5.0, delta),
            fewa_problem_high_probability_bound(problem, rounds, 5.0, delta),
        )
        above.append(float((_final(results, name, theory.CERTAIN) > min(bounds)).mean()))
    value = max(above)
    why = f"{100 * value:.0f} % of the runs lie above."
    return Finding(value, None, None, HOLDS if value <= theory.DELTA else FAILS, why)


@claim(
    "corollary-5",
    "Corollary 5 bounds the expected regret of EFF-FEWA with alpha = 5",
    "largest ratio, over problems, of mean regret at T to the bound",
    ["theory"],
    "< 1",
)
def _corollary_5(results: AllResults) -> Finding:
    def bound(problem: Problem) -> float:
        decay = largest_decay(problem, problem.horizon)
        return eff_fewa_bound(problem.n_arms, problem.horizon, problem.sigma, decay)

    return _below(results, "EFF-FEWA 5", bound)


@claim(
    "corollary-6",
    "Corollary 6 bounds the expected regret of EFF-FEWA with alpha = 5 on each problem",
    "largest ratio, over problems, of mean regret at T to the bound",
    ["theory"],
    "< 1",
)
def _corollary_6(results: AllResults) -> Finding:
    return _below(results, "EFF-FEWA 5", lambda problem: eff_fewa_problem_bound(problem, problem.horizon))


@claim(
    "overpulls",
    "FEWA overpulls an arm at most h+ times (equation 10)",
    "largest ratio, over problems and arms, of the mean overpulls of FEWA with alpha = 5 to h+",
    ["theory"],
    "<= 1",
)
def _overpulls(results: AllResults) -> Finding:
    largest, where = 0.0, ""
    for name, problem in theory.NOISY.items():
        pulls = results["theory"][name]["pulls"].sel(policy="FEWA 5").transpose("run", "arm").values
        limits = overpull_limits(problem, problem.horizon).overpulls
        shares = decompose(problem, pulls).overpulls.mean(axis=0) / limits
        if shares.max() >= largest:
            largest, where = float(shares.max()), f"arm {int(shares.argmax())} of {name}"
    why = f"most on {where}: {100 * largest:.0f} % of h+."
    return Finding(largest, None, None, HOLDS if largest <= 1 else FAILS, why)


@claim(
    "grows-like-log-t",
    "on arms that never change, FEWA's regret grows like log T",
    "growth of regret from round 2500 to 5000, less twice that from 600 to 1200, gap 1 (below 0: the same if log T, "
    "four times as much if linear)",
    ["appendix"],
    "< 0",
)
def _grows(results: AllResults) -> Finding:
    regret = results["appendix"][stationary.key(1.0)]["regret"].sel(policy="FEWA 0.06")

    def growth(start: int, end: int) -> np.ndarray:
        early, late = (regret.sel(round=t, method="nearest").values for t in (start, end))
        return np.asarray(late - early)

    early, late = growth(600, 1200), growth(2500, 5000)
    low, high = mean_interval(late - 2 * early)
    why = f"{early.mean():.1f} from round 600 to 1200, {late.mean():.1f} from 2500 to 5000."
    return Finding(float((late - 2 * early).mean()), low, high, verdict_within(low, high, -math.inf, 0.0), why)


@claim(
    "proposition-2",
    "no policy is better than sigma sqrt(K T) / 10 on every problem (Proposition 2)",
    "smallest, over policies, of the largest mean regret over L, in units of that bound",
    ["fig1"],
    ">= 1",
)
def _proposition_2(results: AllResults) -> Finding:
    bound = stochastic_lower_bound(2, two_arm.HORIZON, 1.0)
    regrets = np.stack([two_arm.final_regret(results["fig1"], label) for label in two_arm.POLICIES]) / bound

    def smallest(chosen: np.ndarray) -> float:
        return float(regrets[:, chosen].mean(axis=1).max(axis=1).min())

    runs = regrets.shape[1]
    value, (low, high) = smallest(np.arange(runs)), resampled(smallest, runs)
    return Finding(
        value, low, high, verdict_within(low, high, 1.0, math.inf), f"the best one has {value:.1f} times it."
    )


@claim(
    "proposition-3",
    "without noise, some problem costs even Greedy (K - 1) L / 2 (Proposition 3)",
    "largest ratio of Greedy's regret to (K - 1) L / 2, over three problems",
    ["theory"],
    ">= 1",
)
def _proposition_3(results: AllResults) -> Finding:
    ratios = {
        name: float(_final(results, name, "Greedy").max())
        / deterministic_lower_bound(problem.n_arms, largest_decay(problem, problem.horizon))
        for name, problem in theory.NOISELESS.items()
    }
    name = max(ratios, key=lambda each: ratios[each])
    verdict = HOLDS if ratios[name] >= 1 - 1e-9 else FAILS
    return Finding(ratios[name], None, None, verdict, f"{ratios[name]:.3g} times it on {name}.")


@claim(
    "doubling-trick",
    "the doubling trick performs poorly (SWA, ten arms)",
    "regret of SWA(0.02) that restarts with a doubled horizon, over that of SWA(0.02) that knows it (above 1)",
    ["fig2"],
    "> 1",
)
def _doubling(results: AllResults) -> Finding:
    known, doubled = (
        np.asarray(results["fig2"][label]["regret"].sel(policy=label).isel(round=-1).values)
        for label in ("SWA 0.02", "SWA 0.02, doubling")
    )
    value, low, high = ratio_of(doubled, known)
    return Finding(value, low, high, verdict_within(low, high, 1.0, math.inf), f"{value:.2f} times as much regret.")
