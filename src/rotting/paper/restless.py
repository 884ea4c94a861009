"""Beyond the paper: restless arms, the click rates of Yahoo's articles (after Seznec et al. 2020)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rotting.paper.experiment import Block, Experiment, Results, Tables, at_the_end, draw_ranking, final_regrets
from rotting.policies import (
    CUSUMUCB,
    FEWA,
    GLRKLUCB,
    KLUCB,
    MUCB,
    RAWKLUCB,
    RAWUCB,
    UCB1,
    AdwinUCB,
    BetaThompson,
    DiscountedBetaThompson,
    DiscountedUCB,
    EffFEWA,
    EffRAWUCB,
    Exp3S,
    Policy,
    RAWUCBPlus,
    SlidingWindowBetaThompson,
    SlidingWindowUCB,
    Uniform,
)
from rotting.problems import yahoo
from rotting.simulation.figures import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEMS = {"5 articles": yahoo(5), "6 articles": yahoo(6)}
SIGMA = 0.5 / math.sqrt(10)  # of a share of 10 visits, whatever its mean
# A policy is a line.
POLICIES: dict[str, Policy] = {
    "RAW-UCB": RAWUCB(sigma=SIGMA),
    "RAW-UCB++": RAWUCBPlus(sigma=SIGMA),
    "EFF-RAW-UCB": EffRAWUCB(sigma=SIGMA),
    "RAW-klUCB": RAWKLUCB(),
    "FEWA": FEWA(sigma=SIGMA),
    "EFF-FEWA": EffFEWA(sigma=SIGMA),
    "GLR-klUCB": GLRKLUCB(),
    "GLR-klUCB, local": GLRKLUCB(local=True),
    "M-UCB": MUCB(sigma=SIGMA),
    "CUSUM-UCB": CUSUMUCB(),
    "AdwinUCB": AdwinUCB(sigma=SIGMA),
    "SW-UCB": SlidingWindowUCB(tau=1000, scale=SIGMA),
    "D-UCB": DiscountedUCB(scale=SIGMA),
    "SW-Thompson": SlidingWindowBetaThompson(tau=1000),
    "discounted Thompson": DiscountedBetaThompson(),
    "Thompson": BetaThompson(),
    "Exp3.S": Exp3S(),
    "KL-UCB": KLUCB(),
    "UCB1": UCB1(sigma=SIGMA),
    "Uniform": Uniform(),
}


def tables(results: Results) -> Tables:
    """Return the regret at T of each policy."""
    return {"restless": at_the_end(results, "problem", {name: name for name in PROBLEMS})}


def figure(results: Results) -> Figure:
    """Return a ranking for each problem."""
    canvas, every = panels([f"Yahoo, {name}" for name in PROBLEMS], 5.5, 5.6)
    for axes, name in zip(every, PROBLEMS, strict=True):
        draw_ranking(axes, final_regrets(results[name]))
        axes.set_xlabel("regret at T: mean, and 10 % to 90 % of the runs")
        axes.set_xlim(left=0)
    return canvas


EXPERIMENT = Experiment(
    name="restless",
    section="Beyond the paper: restless arms",
    alt="Regret of twenty policies on the click rates of Yahoo's articles",
    caption="Click rates of articles on Yahoo's front page, which change by themselves; rewards are shares of 10 "
    "visits, T = 20 000. After Seznec, Menard, Lazaric, Valko (2020), with default parameters and sigma = 0.16.",
    runs=50,
    blocks=tuple(Block(name, POLICIES, problem) for name, problem in PROBLEMS.items()),
    figure=figure,
    tables=tables,
)
