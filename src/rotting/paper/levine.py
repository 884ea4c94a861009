"""Beyond the paper: the experiments of the paper that it improves on (Levine, Crammer, Mannor 2017)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rotting._output.style import add_title, line_style, new_figure, thousands, tidy
from rotting.paper.experiment import Block, Experiment, Results, Row, Tables, final_regrets, over_time, summary_row
from rotting.policies import CTOSIM, DCTOUCB, UCB1, WSWA, DiscountedUCB, Policy, SlidingWindowUCB
from rotting.problems import levine_drawn, levine_two_arm
from rotting.problems.named import LEVINE_CURVES
from rotting.simulation.paired import holm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VARIANCE = 0.2
SIGMA = math.sqrt(VARIANCE)
NP, AV, ANV = "NP", "AV", "ANV"
PROBLEMS = {NP: levine_two_arm(SIGMA), AV: levine_drawn(), ANV: levine_drawn(0.5)}
TITLES = {NP: "two arms, one drops", AV: "ten arms, vanishing", ANV: "ten arms, not vanishing"}
# What the paper found best: gamma and tau.
FORGETTING = {NP: (0.999, 4000), AV: (0.999999, 8000), ANV: (0.999999, 16_000)}
# Their figure's regret at T, which can be read to about 3 %, and the height of its axes.
PUBLISHED = {
    NP: {"UCB1": 2040.0, "DUCB": 600.0, "SWUCB": 460.0, "wSWA": 70.0},
    AV: {"UCB1": 450.0, "DUCB": 450.0, "SWUCB": 505.0, "wSWA": 190.0, "CTO": 20.0},
    ANV: {"UCB1": 435.0, "DUCB": 435.0, "SWUCB": 435.0, "wSWA": 222.0, "D-CTO": 187.0},
}
RUNS = 100
# Their Table 1: in how many of 100 trajectories the first has less regret than the others.
BENCHMARKS = ("UCB1", "DUCB", "SWUCB")
WINS = {
    NP: {("wSWA", other): 100 for other in BENCHMARKS},
    AV: dict(zip((("wSWA", other) for other in BENCHMARKS), (98, 99, 100), strict=True))
    | {("CTO", other): 100 for other in (*BENCHMARKS, "wSWA")},
    ANV: dict(zip((("wSWA", other) for other in BENCHMARKS), (97, 98, 97), strict=True))
    | {("D-CTO", other): 100 for other in BENCHMARKS}
    | {("D-CTO", "wSWA"): 66},
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


class Reading(NamedTuple):
    """A value of the figure, ours, and how far they may be apart."""

    label: str
    published: float
    value: float
    allowed: float


def readings(results: Results, name: str) -> Iterator[Reading]:
    """Yield the values of a panel.

    Allowed are 10 %, 3 % of the axis, or three standard errors of the difference, theirs being a mean of 100 runs, too.
    """
    axis = max(PUBLISHED[name].values())
    for label, published in PUBLISHED[name].items():
        regret = final_regrets(results[name])[label]
        error = regret.std(ddof=1) * math.sqrt(1 / len(regret) + 1 / RUNS) if len(regret) > 1 else math.inf
        yield Reading(label, published, float(regret.mean()), max(0.1 * published, 0.03 * axis, 3 * float(error)))


class Match(NamedTuple):
    """How often one policy beat another, here and in the paper."""

    first: str
    second: str
    wins: int
    runs: int
    published: int
    ahead: float  # p value of as many wins if both win as often, two-sided
    alike: float  # p value of wins as different as these if both papers count the same thing

    def row(self) -> Row:
        """Return it as a row of a table."""
        return dict(zip(self._fields, self, strict=True))


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


def tables(results: Results) -> Tables:
    """Return regret over time, values beside the published ones, and wins."""
    values: list[Row] = [
        {
            "experiment": name,
            "policy": each.label,
            "published": each.published,
            "allowed": each.allowed,
            **summary_row(final_regrets(results[name])[each.label]),
        }
        for name in PROBLEMS
        for each in readings(results, name)
    ]
    wins: list[Row] = [{"experiment": name, **match.row()} for name in PROBLEMS for match in matches(results, name)]
    curves: list[Row] = [{"experiment": name, **row} for name in PROBLEMS for row in over_time(results[name])]
    return {"levine": values, "levine_wins": wins, "levine_curves": curves}


def figure(results: Results) -> Figure:
    """Return regret over time, as in their figure; crosses mark what their figure shows at T."""
    canvas = new_figure(12.0, 4.2)
    for axes, name in zip(canvas.subplots(1, 3), PROBLEMS, strict=True):
        dataset = results[name]
        rounds = dataset["round"].values
        for index, label in enumerate(policies_for(name)):
            style = line_style(index)
            axes.plot(rounds, dataset["regret"].sel(policy=label).mean("run").values, label=label, **style)
            axes.plot(rounds[-1], PUBLISHED[name][label], "x", color=style["color"], clip_on=False)
        axes.set_xlabel("round")
        axes.set_ylabel("regret")
        axes.set_ylim(0, 1.05 * max(PUBLISHED[name].values()))
        axes.xaxis.set_major_formatter(thousands())
        add_title(axes, TITLES[name])
        tidy(axes)
        axes.legend(frameon=False, fontsize="small", loc="upper left")
    return canvas


def best_mean(name: str) -> float:
    """Return the largest mean of an arm's first pull."""
    return max(high for _, high in PROBLEMS[name].dynamics_model.lowest_and_highest(PROBLEMS[name].curves))


EXPERIMENT = Experiment(
    name="levine",
    section="Beyond the paper: Levine, Crammer, Mannor (2017)",
    alt="Regret over time of UCB1, D-UCB, SW-UCB, wSWA, CTO, D-CTO in three experiments, and published values",
    caption="Levine, Crammer, Mannor (2017), T = 30 000, normal noise of variance 0.2. Left: 0.5 against 1, which "
    "drops to 0.4. Middle and right: ten arms, whose decay each run draws; right with a constant of each arm. Crosses: "
    "read off their figure.",
    runs=RUNS,
    blocks=tuple(Block(name, policies_for(name), problem, rounds=100) for name, problem in PROBLEMS.items()),
    figure=figure,
    tables=tables,
)
