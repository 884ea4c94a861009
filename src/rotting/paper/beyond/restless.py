"""Beyond the paper: restless arms, the click rates of Yahoo's articles (after Seznec et al. 2020)."""

from __future__ import annotations

import math
from functools import partial

from rotting.paper.claims import Claims, Finding, ratio_of, within
from rotting.paper.experiment import Block, Experiment, Results, at_the_end, draw_regret_ranking, final_regret
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


claim = Claims("restless")


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
        within(least=1.0),
    )(partial(_smallest_ratio, label=_label))


EXPERIMENT = Experiment(
    name="restless",
    section="Beyond the paper: restless arms",
    alt="Regret of twenty policies on the click rates of Yahoo's articles",
    caption="Click rates of articles on Yahoo's front page, which change by themselves; rewards are shares of 10 "
    "visits, T = 20 000. After Seznec, Menard, Lazaric, Valko (2020), with default parameters and sigma = 0.16.",
    size=(5.5, 5.6),
    panels={f"Yahoo, {name}": partial(draw_regret_ranking, key=name) for name in PROBLEMS},
    tables={"restless": at_the_end("problem", {name: name for name in PROBLEMS})},
    runs=50,
    blocks=[Block(name, POLICIES, problem) for name, problem in PROBLEMS.items()],
    claims=claim,
)
