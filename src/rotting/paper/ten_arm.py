"""Figure 2: ten arms, nine of which fall from +Delta_i to -Delta_i after 1000 pulls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rotting._output.style import marker_style, shared_legend
from rotting.paper.experiment import Block, Experiment, Results, Tables, over_time, summary_row
from rotting.policies import FEWA, SWA, WSWA, DiscountedUCB, EffFEWA, Policy, SlidingWindowUCB
from rotting.problems import ten_arm
from rotting.simulation.figures import draw_regret, draw_runs, panels, scale_regret

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PROBLEM = ten_arm()
HORIZON = 25_000
POLICIES = {
    "FEWA 0.06": FEWA(alpha=0.06),
    "EFF-FEWA 0.06": EffFEWA(alpha=0.06),
    "wSWA 0.02": WSWA(alpha=0.02),
    "SW-UCB": SlidingWindowUCB(tau=200, xi=0.6),
    "D-UCB": DiscountedUCB(gamma=0.997),
}
# Other readings of two of them, drawn beside the paper's five.
READINGS = {
    "EFF-FEWA 0.06, blocks": EffFEWA(alpha=0.06, refresh="blocks"),
    "EFF-FEWA 0.06, printed": EffFEWA(alpha=0.06, refresh="printed"),
    "D-UCB, forced": DiscountedUCB(gamma=0.997, force_below_one=True),
}
# Other settings that the claims are about; not in the figure.
SETTINGS = {
    "wSWA 0.002": WSWA(alpha=0.002),
    "wSWA 0.06": WSWA(alpha=0.06),
    "wSWA 0.2": WSWA(alpha=0.2),
    "SWA 0.02": SWA(alpha=0.02),
    "SWA 0.02, doubling": WSWA(alpha=0.02, restart=True),
}

SHOWN = {**POLICIES, **READINGS}
PLAYED = {**SHOWN, **SETTINGS}


def together(results: Results, labels: Mapping[str, Policy] | None = None) -> xarray.Dataset:
    """Return the policies of the figure (or others) as one dataset."""
    import xarray

    return xarray.concat([results[label] for label in labels or SHOWN], dim="policy", data_vars="minimal")


def regret_per_arm(dataset: xarray.Dataset) -> xarray.DataArray:
    """Return Delta_i h_{i,T} for every policy, run and arm, h_{i,T} = |N_{i,T} - N*_{i,T}|.

    A pull too many of a falling arm is worth -Delta_i, one too few would have been worth Delta_i, and the tenth arm
    is worth 0 always: so these add up to the regret.
    """
    import xarray

    gaps = xarray.DataArray(PROBLEM.means(0), dims="arm")
    oracle_pulls = xarray.DataArray(PROBLEM.oracle(HORIZON).pulls, dims="arm")
    return abs(dataset["pulls"] - oracle_pulls) * gaps


def tables(results: Results) -> Tables:
    """Return the numbers behind the two panels, with the settings that are not in them."""
    dataset = together(results, PLAYED)
    per_arm = regret_per_arm(dataset)
    rows = [
        {"policy": str(label), "arm": arm, "delta": gap, **summary_row(per_arm.sel(policy=label, arm=arm).values)}
        for label in dataset["policy"].values
        for arm, gap in enumerate(PROBLEM.means(0))
    ]
    return {"fig2_left": over_time(dataset), "fig2_right": rows}


def figure(results: Results) -> Figure:
    """Return figure 2: regret over time, and beside it the regret of each arm at the end."""
    dataset = together(results)
    canvas, [over_rounds, per_arm] = panels(["Regret over time", "Regret per arm at T = 25 000"], 5.5, 4.8)
    draw_regret(over_rounds, dataset)
    _draw_per_arm(per_arm, regret_per_arm(dataset))
    shared_legend(canvas, per_arm)
    return canvas


def _draw_per_arm(axes: Axes, regret: xarray.DataArray) -> None:
    """Draw Delta_i h_{i,T} of the nine falling arms against Delta_i."""
    falling = PROBLEM.means(0) > 0
    gaps = PROBLEM.means(0)[falling]
    for index, label in enumerate(regret["policy"].values):
        runs = regret.isel(policy=index).transpose("run", "arm").values[:, falling]
        draw_runs(axes, gaps, runs, marker_style(index), str(label))
    axes.set_xscale("log")
    scale_regret(axes, [10.0, float(regret.max())])
    axes.set_ylim(top=1.4 * float(regret.max()))
    axes.set_xlabel(r"$\Delta_i$, what the arm is worth before it falls")
    axes.set_ylabel(r"$\Delta_i\, h_{i,T}$: mean, and 10 % to 90 % of the runs")


EXPERIMENT = Experiment(
    name="fig2",
    section="Ten arms",
    alt="Regret of five policies on ten arms, over time and per arm",
    caption="Figure 2. Nine arms worth Delta_i fall to -Delta_i after 1 000 pulls; the tenth is worth 0. Left: over "
    "time. Right: what each arm contributes in the end.",
    runs=500,
    blocks=tuple(Block(label, {label: policy}, PROBLEM, rounds=100) for label, policy in PLAYED.items()),
    figure=figure,
    tables=tables,
)
