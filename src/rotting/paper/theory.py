"""What the theorems say, beside what is measured: FEWA with alpha = 5, and without noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes

from rotting._output.style import COLOURS, line_style, thousands
from rotting.paper import two_arm as figure_1
from rotting.paper.claims import FAILS, Claims, Estimate, Finding, exactly, largest_mean, mean_of, over_runs, within
from rotting.paper.experiment import Block, Experiment, Results, Row, final_regret
from rotting.policies import FEWA, EffFEWA, Greedy, Policy
from rotting.problems import Problem, ten_arm, two_arm
from rotting.simulation.figures import draw_runs
from rotting.theory import (
    Decomposition,
    decompose,
    deterministic_lower_bound,
    eff_fewa_bound,
    eff_fewa_problem_bound,
    fewa_bound,
    fewa_high_probability_bound,
    fewa_problem_bound,
    fewa_problem_high_probability_bound,
    greedy_bound,
    high_probability_delta0,
    largest_decay,
    overpull_limits,
    stochastic_lower_bound,
)

LARGE = float(figure_1.LARGE)
NOISY = {"two arms, L = 0.233": two_arm(), "two arms, L = 4.235": two_arm(LARGE), "ten arms": ten_arm()}
NOISELESS = {
    "two arms, L = 0.233, no noise": two_arm(sigma=0.0),
    "two arms, L = 4.235, no noise": two_arm(LARGE, sigma=0.0),
    "ten arms, no noise": ten_arm(sigma=0.0),
}
SILENT: dict[str, Policy] = {"FEWA 0.06": FEWA(sigma=0.0), "Greedy": Greedy()}
# The bounds that hold with a probability hold for all arms at once with delta / K of it for each.
DELTA = 0.05
CERTAIN = "FEWA 5, 95 %"


def policies_for(problem: Problem) -> dict[str, Policy]:
    """Return the policies that theorems and corollaries are about."""
    delta0 = high_probability_delta0(5.0, DELTA / problem.n_arms)
    return {"FEWA 5": FEWA(alpha=5.0), "EFF-FEWA 5": EffFEWA(alpha=5.0), CERTAIN: FEWA(alpha=5.0, delta0=delta0)}


def bound(problem: Problem, horizon: int) -> float:
    """Return Theorem 1's bound on the expected regret of FEWA with alpha = 5."""
    return float(fewa_bound(problem.n_arms, horizon, problem.sigma, largest_decay(problem, horizon)))


def _regret(results: Results, name: str) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Return rounds, the regret of FEWA(5) on a problem, [round, run], and its bound."""
    regret = results[name]["regret"].sel(policy="FEWA 5").transpose("round", "run")
    rounds = regret["round"].values.tolist()
    return rounds, regret.values, np.array([bound(NOISY[name], t) for t in rounds])


def decomposed(results: Results, name: str) -> Decomposition:
    """Return where FEWA(5)'s regret on a problem comes from, of each run."""
    return decompose(NOISY[name], results[name]["pulls"].sel(policy="FEWA 5").transpose("run", "arm").values)


# Tables and panels.


def _over_time(results: Results) -> list[Row]:
    """Return regret against the bound."""
    rows: list[Row] = []
    for name in NOISY:
        for t, runs, limit in zip(*_regret(results, name), strict=True):
            rows.append({"problem": name, "round": t, "mean": runs.mean(), "largest": runs.max(), "bound": limit})
    return rows


def _pulls(results: Results) -> list[Row]:
    """Return how far the pulls of each arm are from the oracle's."""
    rows: list[Row] = []
    for name in NOISY:
        parts = decomposed(results, name)
        columns = parts.overpulls, parts.underpulls, parts.lost - parts.gained
        means = (each.mean(axis=0) for each in columns)
        for arm, (oracle, over, under, lost) in enumerate(zip(parts.oracle_pulls.tolist(), *means, strict=True)):
            numbers = {"oracle_pulls": oracle, "overpulls": over, "underpulls": under, "regret": lost}
            rows.append({"problem": name, "policy": "FEWA 5", "arm": arm, **numbers})
    return rows


def _draw_regret(axes: Axes, results: Results) -> None:
    """Draw regret over time below its bound."""
    for index, name in enumerate(NOISY):
        rounds, regret, limits = _regret(results, name)
        style = line_style(index)
        draw_runs(axes, np.array(rounds), regret.T, style, name)
        axes.plot(rounds, limits, color=style["color"], linestyle=":", linewidth=1.5)
    axes.set_yscale("symlog", linthresh=10, linscale=0.5)
    axes.set_xscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(thousands())
    axes.set_xlabel("round")
    axes.set_ylabel("regret of FEWA 5; dotted: Theorem 1")
    axes.legend(frameon=False, fontsize="small")


def _draw_pulls(axes: Axes, results: Results) -> None:
    """Draw how often the ten arms are pulled too often (up) and not often enough (down)."""
    parts, gaps = decomposed(results, "ten arms"), NOISY["ten arms"].means(0)
    arms = np.arange(len(gaps))
    axes.bar(arms, parts.overpulls.mean(axis=0), color=COLOURS[1], label="too often")
    axes.bar(arms, -parts.underpulls.mean(axis=0), color=COLOURS[0], label="too seldom")
    axes.set_xticks(arms, [f"{gap:.3g}" for gap in gaps], fontsize="small")
    axes.set_xlabel(r"arm, by $\Delta_i$")
    axes.set_ylabel("pulls more or less than the oracle's, mean")
    axes.set_yscale("symlog", linthresh=100)
    axes.yaxis.set_major_formatter(thousands())
    axes.axhline(0, color="0.3", linewidth=0.8)
    axes.legend(frameon=False, fontsize="small")


# Claims about regret, and what it is made of.

claim = Claims("theory")


@claim(
    "regret-can-fall",
    "where arms rest, regret can increase and decrease over time",
    "largest fall of mean regret between two recorded rounds, L = 0.233",
    within(least=1e-9),
    experiment="fig1",
)
def _can_fall(results: Results) -> Finding:
    dataset = results[figure_1.key(figure_1.WORST)]
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
    exactly(most=1e-6),
    "0",
)
def _splits(results: Results) -> Finding:
    largest = max(
        np.abs(final_regret(results[name], "FEWA 5") - decomposed(results, name).regret).max() for name in NOISY
    )
    return Finding(Estimate(float(largest)), "in every run, up to rounding." if largest < 1e-6 else "not in every run.")


@claim(
    "no-noise-is-greedy",
    "without noise FEWA pulls as Greedy does",
    "largest difference in pulls of an arm, over three problems",
    exactly(most=0.0),
    "0",
)
def _greedy(results: Results) -> Finding:
    largest = max(int(abs(results[name]["pulls"].diff("policy")).max()) for name in NOISELESS)
    why = "the same pulls on every problem." if largest == 0 else f"they differ by up to {largest} pulls of an arm."
    return Finding(Estimate(float(largest)), why)


# What the paper proves: bounds above and below, and that greed is best for those who know.


def _largest(shares: Mapping[str, float]) -> tuple[Estimate, str]:
    """Return the largest of some numbers in which nothing is random, and whose it is."""
    name = max(shares, key=lambda name: shares[name])
    return Estimate(shares[name]), name


def _below(shares: Mapping[str, np.ndarray]) -> Finding:
    """Say how close mean regret comes to a bound, given its share of it in each run."""
    found, name = largest_mean(shares)
    return Finding(found, f"closest on {name}, at {100 * found.value:.2g} % of the bound.")


def _decay(problem: Problem) -> float:
    return largest_decay(problem, problem.horizon)


@claim(
    "proposition-1",
    "whoever knows the means does best by being greedy in each round (Proposition 1)",
    "largest difference, over problems and rounds up to T / 2, between what the best allocation of pulls earns (an "
    "exact dynamic program) and what greed does",
    exactly(most=1e-6),
    "0",
)
def _proposition_1(results: Results) -> Finding:
    found, name = _largest({name: _more_than_greed(problem) for name, problem in NOISY.items()})
    is_none = found.value < 1e-6
    return Finding(
        found, "up to rounding, no allocation earns more." if is_none else f"on {name} some allocation earns more."
    )


def _more_than_greed(problem: Problem) -> float:
    """Return by how much the best allocation of pulls to arms beats greed, at most, in 1, 2, ... rounds."""
    last = problem.horizon // 2
    best, *others = (np.append(0.0, np.cumsum(curve(np.arange(last)))) for curve in problem.curves)
    for earned in others:
        before, best = best, np.full(last + 1, -math.inf)  # that the arms so far earn in 0, 1, ... rounds
        for pulls in range(last + 1):
            np.maximum(best[pulls:], before[: last + 1 - pulls] + earned[pulls], out=best[pulls:])
    greedy = problem.oracle(last, np.arange(1, last + 1), kind="greedy").reward
    return float((best[1:] - greedy).max())


@claim(
    "theorem-1",
    "Theorem 1 bounds the expected regret of FEWA with alpha = 5",
    "largest ratio, over problems and rounds, of mean regret to the bound",
    within(most=1.0),
    "< 1",
)
def _theorem_1(results: Results) -> Finding:
    shares = {}
    for name in NOISY:
        _, regret, limits = _regret(results, name)
        closest = (regret.mean(axis=1) / limits).argmax()
        shares[name] = regret[closest] / limits[closest]
    return _below(shares)


def _bounded(name: str, words: str, label: str, bound: Callable[[Problem], float]) -> None:
    """Claim that the mean regret of a policy stays below a bound at T."""
    claim(name, words, "largest ratio, over problems, of mean regret at T to the bound", within(most=1.0), "< 1")(
        lambda results: _below(
            {name: final_regret(results[name], label) / bound(problem) for name, problem in NOISY.items()}
        )
    )


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
    exactly(most=DELTA),
    "<= 0.05",
)
def _corollaries_2_and_3(results: Results) -> Finding:
    above = {}
    for name, problem in NOISY.items():
        rounds, delta = problem.horizon, DELTA / problem.n_arms
        limit = min(
            fewa_high_probability_bound(problem.n_arms, rounds, problem.sigma, _decay(problem), 5.0, delta),
            fewa_problem_high_probability_bound(problem, rounds, 5.0, delta),
        )
        above[name] = float((final_regret(results[name], CERTAIN) > limit).mean())
    found, _ = _largest(above)
    return Finding(found, f"{100 * found.value:.0f} % of the runs lie above.")


@claim(
    "overpulls",
    "FEWA overpulls an arm at most h+ times (equation 10)",
    "largest ratio, over problems and arms, of the mean overpulls of FEWA with alpha = 5 to h+",
    exactly(most=1.0),
    "<= 1",
)
def _overpulls(results: Results) -> Finding:
    shares = {}
    for name, problem in NOISY.items():
        limits = overpull_limits(problem, problem.horizon).overpulls
        for arm, share in enumerate(decomposed(results, name).overpulls.mean(axis=0) / limits):
            shares[f"arm {arm} of {name}"] = float(share)
    found, where = _largest(shares)
    return Finding(found, f"most on {where}: {100 * found.value:.0f} % of h+.")


@claim(
    "proposition-2",
    "no policy is better than sigma sqrt(K T) / 10 on every problem (Proposition 2)",
    "smallest, over policies, of the largest mean regret over L, in units of that bound",
    within(least=1.0),
    ">= 1",
    experiment="fig1",
)
def _proposition_2(results: Results) -> Finding:
    limit = stochastic_lower_bound(2, figure_1.HORIZON, 1.0)
    shares = figure_1.regrets(results, figure_1.POLICIES) / limit
    found = over_runs(lambda means: means.max(axis=1).min(), shares)
    return Finding(found, f"the best one has {found.value:.1f} times it.")


def _noiseless(results: Results, label: str, bound: Callable[[int, float], float]) -> tuple[Estimate, str]:
    """Return the largest ratio, over problems without noise, of a regret to its bound for K arms and a decay."""
    return _largest(
        {
            name: float(final_regret(results[name], label).max()) / bound(problem.n_arms, _decay(problem))
            for name, problem in NOISELESS.items()
        }
    )


@claim(
    "proposition-3",
    "without noise, some problem costs even Greedy (K - 1) L / 2 (Proposition 3)",
    "largest ratio of Greedy's regret to (K - 1) L / 2, over three problems",
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
    exactly(most=1.0),
    "<= 1",
)
def _no_noise_bound(results: Results) -> Finding:
    found, name = _noiseless(results, "FEWA 0.06", greedy_bound)
    return Finding(found, f"closest on {name}, at {100 * found.value:.0f} % of the bound.")


EXPERIMENT = Experiment(
    name="theory",
    section="Theory",
    alt="Regret of FEWA with alpha 5 below the bound of Theorem 1, and pulls per arm compared with the oracle's",
    caption="Theory. Left: measured regret (lines) and Theorem 1's bound (dotted) for alpha = 5, which the theorem "
    "asks for. Right: where pulls go that the oracle would have spent elsewhere.",
    size=(5.5, 4.8),
    panels={"Regret and its bound": _draw_regret, "Ten arms, FEWA 5: where pulls go": _draw_pulls},
    tables={"theory": _over_time, "theory_pulls": _pulls},
    runs=100,
    blocks=[
        *(Block(name, policies_for(problem), problem, rounds=100) for name, problem in NOISY.items()),
        *(Block(name, SILENT, problem, runs=1) for name, problem in NOISELESS.items()),
    ],
    claims=claim,
)
