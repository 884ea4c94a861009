"""Beyond the paper: the experiments of the paper that it improves on (Levine, Crammer, Mannor 2017)."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

from matplotlib.axes import Axes

from rotting._output.style import line_style, thousands
from rotting.paper.claims import (
    DIFFERS,
    FAILS,
    HOLDS,
    Claims,
    Estimate,
    Finding,
    Reading,
    as_published,
    exactly,
    largest_mean,
    reading,
    within,
)
from rotting.paper.experiment import (
    Block,
    Experiment,
    Results,
    Row,
    final_regret,
    final_regrets,
    over_time,
    summary_row,
)
from rotting.policies import CTOSIM, DCTOUCB, UCB1, WSWA, DiscountedUCB, Policy, SlidingWindowUCB
from rotting.problems import Problem, levine_drawn, levine_two_arm
from rotting.problems.named import LEVINE_CURVES
from rotting.simulation.paired import holm
from rotting.theory import wswa_bound

VARIANCE = 0.2
SIGMA = math.sqrt(VARIANCE)
NP, AV, ANV = "NP", "AV", "ANV"
PROBLEMS = {NP: levine_two_arm(SIGMA), AV: levine_drawn(), ANV: levine_drawn(0.5)}
TITLES = {"two arms, one drops": NP, "ten arms, vanishing": AV, "ten arms, not vanishing": ANV}
CASES = {NP: "non-parametric", AV: "vanishing", ANV: "non-vanishing"}
# What the paper found best: gamma and tau.
FORGETTING = {NP: (0.999, 4000), AV: (0.999999, 8000), ANV: (0.999999, 16_000)}
# Their figure's regret at T, which can be read to about 3 %, and the height of its axes.
PUBLISHED = {
    NP: {"UCB1": 2040.0, "DUCB": 600.0, "SWUCB": 460.0, "wSWA": 70.0},
    AV: {"UCB1": 450.0, "DUCB": 450.0, "SWUCB": 505.0, "wSWA": 190.0, "CTO": 20.0},
    ANV: {"UCB1": 435.0, "DUCB": 435.0, "SWUCB": 435.0, "wSWA": 222.0, "D-CTO": 187.0},
}
RUNS = 100


def _pairs(first: str, *wins: int) -> dict[tuple[str, str], int]:
    return {(first, other): count for other, count in zip(("UCB1", "DUCB", "SWUCB", "wSWA"), wins, strict=False)}


# Their Table 1: in how many of 100 trajectories the first has less regret than the others.
WINS = {
    NP: _pairs("wSWA", 100, 100, 100),
    AV: _pairs("wSWA", 98, 99, 100) | _pairs("CTO", 100, 100, 100, 100),
    ANV: _pairs("wSWA", 97, 98, 97) | _pairs("D-CTO", 100, 100, 100, 66),
}


def policies_for(name: str) -> dict[str, Policy]:
    """Return the policies of an experiment.

    The bonus of all three benchmarks is that of D-CTO-UCB, sqrt(8 sigma^2 ln t / N), with what each counts for t and N;
    wSWA forgets everything at each doubling. The paper does not say so; its figures do (docs/paper.md).
    """
    gamma, tau = FORGETTING[name]
    return {
        "UCB1": UCB1(sigma=2 * SIGMA),
        "DUCB": DiscountedUCB(gamma=gamma, xi=2 * VARIANCE),
        "SWUCB": SlidingWindowUCB(tau=tau, xi=8 * VARIANCE),
        "wSWA": WSWA(alpha=0.2, sigma=SIGMA, restart=True),
        **({"CTO": CTOSIM(LEVINE_CURVES)} if name == AV else {}),
        **({"D-CTO": DCTOUCB(LEVINE_CURVES, sigma=SIGMA)} if name == ANV else {}),
    }


def readings(results: Results, name: str) -> list[Reading]:
    """Return the values of a panel: 10 % or 3 % of the axis are allowed, theirs being a mean of 100 runs, too."""
    axis, regrets = 0.03 * max(PUBLISHED[name].values()), final_regrets(results[name])
    return [
        reading(label, regrets[label], published, max(0.1 * published, axis), RUNS)
        for label, published in PUBLISHED[name].items()
    ]


class Match(NamedTuple):
    """How often one policy beat another, here and in the paper."""

    first: str
    second: str
    wins: int
    runs: int
    published: int
    ahead: float  # p value of as many wins if both win as often, two-sided
    alike: float  # p value of wins as different as these if both papers count the same thing


def matches(results: Results, name: str) -> list[Match]:
    """Return the wins of an experiment; p values are exact, and corrected by Holm's method."""
    from scipy.stats import binomtest, fisher_exact

    regrets, found = final_regrets(results[name]), []
    for (first, second), published in WINS[name].items():
        wins, runs = int((regrets[first] < regrets[second]).sum()), len(regrets[first])
        alike = fisher_exact([[wins, runs - wins], [published, RUNS - published]]).pvalue
        found.append(Match(first, second, wins, runs, published, float(binomtest(wins, runs).pvalue), float(alike)))
    ahead, alike = holm([match.ahead for match in found]), holm([match.alike for match in found])
    return [match._replace(ahead=p, alike=q) for match, p, q in zip(found, ahead, alike, strict=True)]


# Tables and panels.


def _values(results: Results) -> list[Row]:
    """Return values beside the published ones."""
    rows: list[Row] = []
    for name in PROBLEMS:
        for label, published, _, allowed in readings(results, name):
            said: Row = {"experiment": name, "policy": label, "published": published, "allowed": allowed}
            rows.append({**said, **summary_row(final_regret(results[name], label))})
    return rows


def _wins(results: Results) -> list[Row]:
    return [{"experiment": name, **match._asdict()} for name in PROBLEMS for match in matches(results, name)]


def _curves(results: Results) -> list[Row]:
    return [{"experiment": name, **row} for name in PROBLEMS for row in over_time(name)(results)]


def _draw(axes: Axes, results: Results, name: str) -> None:
    """Draw regret over time, as in their figure; crosses mark what their figure shows at T."""
    rounds = results[name]["round"].values
    for index, label in enumerate(policies_for(name)):
        style = line_style(index)
        axes.plot(rounds, results[name]["regret"].sel(policy=label).mean("run").values, label=label, **style)
        axes.plot(rounds[-1], PUBLISHED[name][label], "x", color=style["color"], clip_on=False)
    axes.set_xlabel("round")
    axes.set_ylabel("regret")
    axes.set_ylim(0, 1.05 * max(PUBLISHED[name].values()))
    axes.xaxis.set_major_formatter(thousands())
    axes.legend(frameon=False, fontsize="small", loc="upper left")


# Claims: their figure, their Table 1, their bound.

claim = Claims("levine")
LEVEL = 0.05


def _as_read(results: Results, name: str) -> Finding:
    found = readings(results, name)
    why = ", ".join(f"{each.label} {each.value:.0f} ({each.published:.0f})" for each in found)
    return as_published(found, f"regret at T here (and there): {why}.")


def _as_won(results: Results, name: str) -> Finding:
    found = matches(results, name)
    is_lost = any(match.ahead < LEVEL and 2 * match.wins < match.runs for match in found)
    is_open = any(match.ahead >= LEVEL or match.alike < LEVEL for match in found)
    verdict = FAILS if is_lost else DIFFERS if is_open else HOLDS
    why = ", ".join(f"{match.first} beats {match.second} {match.wins} ({match.published})" for match in found)
    value = min(match.alike for match in found)
    return Finding(Estimate(value), f"of {found[0].runs} runs (there of {RUNS}): {why}.", verdict)


for _name, _case in CASES.items():
    claim(
        f"levine-values-{_name.lower()}",
        f"the {_case} panel of Levine et al. (2017): regret at T of each policy",
        "largest difference from their figure, as a share of what is allowed (10 %, 3 % of the axis, three errors)",
        exactly(most=1),
        ", ".join(f"{label} {value:.0f}" for label, value in PUBLISHED[_name].items()),
    )(partial(_as_read, name=_name))
    claim(
        f"levine-wins-{_name.lower()}",
        f"Table 1 of Levine et al. (2017), {_case}: who beats whom in how many of 100 trajectories",
        "smallest p value, corrected, of wins as different from theirs (at least 0.05)",
        exactly(least=LEVEL),
        ", ".join(f"{first} > {second} {wins}" for (first, second), wins in WINS[_name].items()),
    )(partial(_as_won, name=_name))


@claim(
    "levine-wswa-bound",
    "their bound of wSWA's regret (after Theorem 3.1), with alpha = 0.2",
    "largest ratio, over their experiments, of mean regret at T to the bound",
    within(most=1),
    "< 1",
)
def _bound(results: Results) -> Finding:
    shares = {}
    for name, problem in PROBLEMS.items():
        limit = wswa_bound(problem.n_arms, problem.horizon, SIGMA, best_mean(problem), alpha=0.2)
        shares[name] = final_regret(results[name], "wSWA") / limit
    found, name = largest_mean(shares)
    return Finding(found, f"closest in {name}.")


def best_mean(problem: Problem) -> float:
    """Return the largest mean of an arm's first pull."""
    return max(high for _, high in problem.dynamics_model.lowest_and_highest(problem.curves))


EXPERIMENT = Experiment(
    name="levine",
    section="Beyond the paper: Levine, Crammer, Mannor (2017)",
    alt="Regret over time of UCB1, D-UCB, SW-UCB, wSWA, CTO, D-CTO in three experiments, and published values",
    caption="Levine, Crammer, Mannor (2017), T = 30 000, normal noise of variance 0.2. Left: 0.5 against 1, which "
    "drops to 0.4. Middle and right: ten arms, whose decay each run draws; right with a constant of each arm. Crosses: "
    "read off their figure.",
    size=(4.0, 4.2),
    panels={title: partial(_draw, name=name) for title, name in TITLES.items()},
    tables={"levine": _values, "levine_wins": _wins, "levine_curves": _curves},
    runs=RUNS,
    blocks=[Block(name, policies_for(name), problem, rounds=100) for name, problem in PROBLEMS.items()],
    claims=claim,
)
