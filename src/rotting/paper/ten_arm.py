"""Figure 2 and table 1 of the paper: ten arms, nine of which fall from +Delta_i to -Delta_i after 1000 pulls."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from rotting.plots import draw_regret, draw_runs, marker_style, new_figure, scale_regret, tidy, with_thousands
from rotting.policies import FEWA, WSWA, DiscountedUCB, EffFEWA, SlidingWindowUCB
from rotting.problems import ten_arm
from rotting.simulation import simulate
from rotting.simulation.summary import summarise

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "ten_arm"
PROBLEM = ten_arm()
HORIZON = 25_000
RUNS = 500
POLICIES = (
    FEWA(alpha=0.06),
    EffFEWA(alpha=0.06),
    WSWA(alpha=0.02),
    SlidingWindowUCB(tau=200, xi=0.6),
    DiscountedUCB(gamma=0.997),
)


def play(runs: int = RUNS, seed: int = 0, threads: int | None = None) -> xarray.Dataset:
    """Run the experiment; parameters as in `rotting.simulate`."""
    return simulate(POLICIES, PROBLEM, HORIZON, runs=runs, seed=seed, threads=threads)


def regret_per_arm(dataset: xarray.Dataset) -> xarray.DataArray:
    """Return Delta_i h_{i,T} for every policy, run and arm, h_{i,T} = |N_{i,T} - N*_{i,T}|.

    A pull too many of a falling arm is worth -Delta_i, one too few would have been worth Delta_i, and the tenth arm
    is worth 0 always: so these add up to the regret.
    """
    import xarray

    gaps = xarray.DataArray(PROBLEM.means(0), dims="arm")
    oracle_pulls = xarray.DataArray(PROBLEM.oracle(HORIZON).pulls, dims="arm")
    return abs(dataset["pulls"] - oracle_pulls) * gaps


def table(dataset: xarray.Dataset) -> list[dict[str, Any]]:
    """Return one row per policy: the statistics of its regret, and its running time as in table 1."""
    return [
        {**dataclasses.asdict(row), "seconds_per_run": row.nanoseconds_per_decision * HORIZON / 1e9}
        for row in summarise(dataset)
    ]


def figure(dataset: xarray.Dataset) -> Figure:
    """Return figure 2: regret over time, and beside it the regret of each arm at the end."""
    canvas = new_figure(11.0, 4.8)
    over_time, per_arm = canvas.subplots(1, 2)
    draw_regret(over_time, dataset)
    over_time.set_title("Regret over time", loc="left", fontsize="medium")
    _draw_per_arm(per_arm, regret_per_arm(dataset))
    per_arm.set_title(f"Regret per arm after {with_thousands(HORIZON)} rounds", loc="left", fontsize="medium")
    handles, labels = per_arm.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=len(POLICIES), frameon=False, fontsize="small")
    return canvas


def _draw_per_arm(axes: Axes, regret: xarray.DataArray) -> None:
    """Draw Delta_i h_{i,T} of the nine falling arms against Delta_i."""
    falling = PROBLEM.means(0) > 0
    gaps = PROBLEM.means(0)[falling]
    for place, label in enumerate(regret["policy"].values):
        runs = regret.isel(policy=place).transpose("run", "arm").values[:, falling]
        draw_runs(axes, gaps, runs, {**marker_style(place), "label": str(label)})
    axes.set_xscale("log")
    scale_regret(axes, [10.0, float(regret.max())])
    axes.set_ylim(top=1.4 * float(regret.max()))
    axes.set_xlabel(r"$\Delta_i$, what the arm is worth before it falls")
    axes.set_ylabel(r"$\Delta_i\, h_{i,T}$: mean, and 10 % to 90 % of the runs")
    tidy(axes)
