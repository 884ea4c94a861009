"""Not in the paper: the regret of the package's policies on the paper's two problems."""

from __future__ import annotations

from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import SymmetricalLogLocator

from rotting._output.style import thousands
from rotting.paper.experiment import Block, Experiment, Results, at_the_end, draw_regret_ranking
from rotting.policies import CTO, CTOSIM, DCTOUCB, POLICIES, BetaThompson, Exp3, Exp3S, Policy, Rexp3
from rotting.problems import ten_arm, two_arm

PROBLEMS = {"two arms, L = 0.233": two_arm(), "ten arms": ten_arm()}
# Made for rewards in [0, 1], or for arms that bore; and the oracle itself.
LEFT_OUT = {
    *("CUSUMUCB", "DiscountedBetaThompson", "GLRKLUCB", "KLUCB", "MUCB", "RAWKLUCB", "SlidingWindowBetaThompson"),
    *("LinUCRL", "Oracle"),
}
# Rewards have no bounds here, so policies for rewards in [0, 1] get a range that holds all but one in ten thousand.
RANGES = {"two arms, L = 0.233": (-4.0, 4.0), "ten arms": (-14.0, 14.0)}


def policies_for(name: str) -> dict[str, Policy]:
    """Return the policies with their default parameters, and what they cannot do without."""
    curves = tuple(dict.fromkeys(PROBLEMS[name].curves))
    given: dict[type[Policy], dict[str, Any]] = {kind: {"curves": curves} for kind in (CTO, CTOSIM, DCTOUCB)}
    low, high = RANGES[name]
    given |= {kind: {"low": low, "high": high} for kind in (BetaThompson, Exp3, Exp3S, Rexp3)}
    chosen = {label: kind for label, kind in POLICIES.items() if label not in LEFT_OUT and kind.made_for is None}
    return {label: kind(**given.get(kind, {})) for label, kind in chosen.items()}


def _ranking(axes: Axes, results: Results, key: str) -> None:
    draw_regret_ranking(axes, results, key)
    axes.set_xscale("symlog", linthresh=20, linscale=0.5)  # a policy may have no regret at all
    axes.xaxis.set_major_locator(SymmetricalLogLocator(axes.xaxis.get_transform(), subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(thousands())
    axes.tick_params(axis="x", labelrotation=45)
    axes.set_xlim(left=0)


EXPERIMENT = Experiment(
    name="policies",
    section="Every policy",
    alt="Regret of the package's policies on the paper's two problems",
    caption="Not in the paper. Dots: means; bars: 10 % to 90 % of the runs. Parameters are the defaults. CTO "
    "is given the possible curves; BetaThompson, Exp3, Exp3S and Rexp3 a range of rewards, which they take for [0, 1]. "
    "Other policies for rewards in [0, 1], and those for arms that recover or improve or have no end, are left out.",
    size=(5.5, 5.6),
    panels={name: partial(_ranking, key=name) for name in PROBLEMS},
    tables={"policies": at_the_end("problem", {name: name for name in PROBLEMS})},
    runs=100,
    blocks=[Block(name, policies_for(name), problem) for name, problem in PROBLEMS.items()],
)
