"""Not in the paper: the regret of the package's policies on the paper's two problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import SymmetricalLogLocator

from rotting._output.style import COLOURS, add_title, new_figure, thousands, tidy
from rotting.paper.experiment import Block, Experiment, Results, Row, Tables
from rotting.policies import CTO, CTOSIM, DCTOUCB, POLICIES, BetaThompson, Exp3, Exp3S, Policy, Rexp3
from rotting.problems import ten_arm, two_arm
from rotting.simulation.summary import QUANTILES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    problem = PROBLEMS[name]
    low, high = RANGES[name]
    curves = tuple(dict.fromkeys(problem.curves))
    special: dict[type[Policy], Policy] = {
        **{each: each(curves) for each in (CTO, CTOSIM, DCTOUCB)},
        BetaThompson: BetaThompson(low=low, high=high),
        Exp3: Exp3(low=low, high=high),
        Exp3S: Exp3S(low=low, high=high),
        Rexp3: Rexp3(low=low, high=high),
    }
    chosen = {label: each for label, each in POLICIES.items() if label not in LEFT_OUT and each.made_for is None}
    return {label: special.get(each) or each() for label, each in chosen.items()}


def tables(results: Results) -> Tables:
    """Return the mean regret at T of each policy on each problem."""
    rows: list[Row] = []
    for name in PROBLEMS:
        for label, regret in _final(results, name).items():
            low, high = np.quantile(regret, QUANTILES)
            rows.append(
                {"problem": name, "policy": label, "mean": regret.mean(), "quantile_10": low, "quantile_90": high}
            )
    return {"policies": rows}


def figure(results: Results) -> Figure:
    """Return a picture with one line per policy, the best on top."""
    canvas = new_figure(11.0, 5.6)
    for axes, name in zip(canvas.subplots(1, 2), PROBLEMS, strict=True):
        finals = sorted(_final(results, name).items(), key=lambda item: item[1].mean(), reverse=True)
        for index, (_, regret) in enumerate(finals):
            low, high = np.quantile(regret, QUANTILES)
            axes.plot([low, high], [index, index], color="0.6", linewidth=2.5, solid_capstyle="butt")
            axes.plot(regret.mean(), index, "o", color=COLOURS[0], markersize=5)
        axes.set_yticks(range(len(finals)), [label for label, _ in finals], fontsize="small")
        axes.set_xscale("symlog", linthresh=20, linscale=0.5)  # a policy may have no regret at all
        axes.xaxis.set_major_locator(SymmetricalLogLocator(axes.xaxis.get_transform(), subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(thousands())
        axes.tick_params(axis="x", labelrotation=45)
        axes.set_xlim(left=0)
        axes.set_xlabel("regret at T: mean, and 10 % to 90 % of the runs")
        add_title(axes, name)
        tidy(axes)
    return canvas


def _final(results: Results, name: str) -> dict[str, np.ndarray]:
    """Return the regret at T of each run, by policy."""
    dataset = results[name]
    return {str(label): dataset["regret"].sel(policy=label).isel(round=-1).values for label in dataset["policy"].values}


EXPERIMENT = Experiment(
    name="policies",
    section="Every policy",
    alt="Regret of the package's policies on the paper's two problems",
    caption="Not in the paper. Dots: means; bars: 10 % to 90 % of the runs. Parameters are the defaults. CTO "
    "is given the possible curves; BetaThompson, Exp3, Exp3S and Rexp3 a range of rewards, which they take for [0, 1]. "
    "Other policies for rewards in [0, 1], and those for arms that recover or improve or have no end, are left out.",
    runs=100,
    blocks=tuple(Block(name, policies_for(name), problem) for name, problem in PROBLEMS.items()),
    figure=figure,
    tables=tables,
)
