"""Figure 1: two arms, one of which falls from L/2 to -L/2 after a quarter of the rounds, for thirty values of L."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from rotting._output.style import line_style, shared_legend
from rotting.paper.experiment import Block, Experiment, Results, Row, Tables, over_time, summary_row
from rotting.paper.experiment import final_regret as of_policy
from rotting.policies import FEWA, WSWA, EffFEWA
from rotting.problems import two_arm
from rotting.simulation.figures import draw_regret, draw_runs, panels
from rotting.simulation.paired import mean_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HORIZON = 10_000
DROPS = tuple(0.02 * 1.25**i for i in range(30))
WORST, LARGE = DROPS[11], DROPS[24]  # 0.233 and 4.235: the middle and the right panel
POLICIES = {
    "FEWA 0.03": FEWA(alpha=0.03),
    "FEWA 0.06": FEWA(alpha=0.06),
    "FEWA 0.1": FEWA(alpha=0.1),
    "EFF-FEWA 0.06": EffFEWA(alpha=0.06),
    "wSWA 0.02": WSWA(alpha=0.02),
    "wSWA 0.06": WSWA(alpha=0.06),
    "wSWA 0.2": WSWA(alpha=0.2),
}
# How the published curves are called in the file that came with them.
PUBLISHED_NAMES = {label: label.replace("EFF-FEWA", "EFF_FEWA").replace(" ", "_") for label in POLICIES}
# The other reading of EFF-FEWA, drawn beside the paper's seven.
BLOCKS = "EFF-FEWA 0.06, blocks"
PLAYED = {**POLICIES, BLOCKS: EffFEWA(alpha=0.06, refresh="blocks")}


def key(drop: float) -> str:
    """Return the name of the block for one L."""
    return f"L={drop:.3f}"


@cache
def published() -> dict[str, np.ndarray]:
    """Return the published mean regret of each policy at each L (NaN where it is off the plot)."""
    text = files("rotting.paper").joinpath("data/published_figure1_left.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    return {
        label: np.array([float(row[name]) if row[name] else np.nan for row in rows])
        for label, name in PUBLISHED_NAMES.items()
    }


def final_regret(results: Results, label: str) -> np.ndarray:
    """Return the regret at T of a policy: one row per run, one column per L."""
    return np.stack([of_policy(results[key(drop)], label) for drop in DROPS], axis=1)


def tables(results: Results) -> Tables:
    """Return the numbers behind the three panels."""
    left = [_row(results, label, place) for label in PLAYED for place in range(len(DROPS))]
    middle, right = over_time(results[key(WORST)]), over_time(results[key(LARGE)])
    return {"fig1_left": left, "fig1_middle": middle, "fig1_right": right}


def _row(results: Results, label: str, place: int) -> Row:
    """Return what is told of a policy at one L."""
    regret = of_policy(results[key(DROPS[place])], label)
    said, (low, high) = summary_row(regret), mean_interval(regret)
    theirs = published()[label][place] if label in published() else None
    return {
        "policy": label,
        "L": DROPS[place],
        "mean": said.pop("mean"),
        "mean_low": low,
        "mean_high": high,
        **said,
        "published": theirs,
    }


def figure(results: Results) -> Figure:
    """Return figure 1, the published values of its left panel drawn beside ours as dots."""
    in_time = [f"Regret over time, L = {drop:.3f}" for drop in (WORST, LARGE)]
    canvas, [against_drop, *over_rounds] = panels(["Regret at T = 10 000 (dots: published)", *in_time], 4.2, 4.6)
    for index, label in enumerate(PLAYED):
        style = line_style(index)
        draw_runs(against_drop, np.array(DROPS), final_regret(results, label), style, label, shade=0.1)
        if label in published():
            dots = published()[label]
            against_drop.plot(DROPS, dots, color=style["color"], marker=".", linestyle="", markersize=5, alpha=0.8)
    against_drop.set_xscale("log")
    against_drop.set_ylim(0, 650)
    against_drop.set_xlabel("L, how far the second arm falls")
    against_drop.set_ylabel("regret: mean, and 10 % to 90 % of the runs")
    for axes, drop in zip(over_rounds, (WORST, LARGE), strict=True):
        draw_regret(axes, results[key(drop)])
    shared_legend(canvas, against_drop)
    return canvas


EXPERIMENT = Experiment(
    name="fig1",
    section="Two arms",
    alt="Regret of seven policies on two arms, against the depth of the fall and over time",
    caption="Figure 1. One arm is worth 0, the other L/2 and, after 2 500 pulls, -L/2. Left: regret after 10 000 "
    "rounds for thirty values of L, with the published values as dots. Middle and right: over time. Shaded: 10 % to "
    "90 % of the runs.",
    runs=500,
    blocks=tuple(
        Block(key(drop), PLAYED, two_arm(drop, HORIZON), rounds=100 if drop in (WORST, LARGE) else 1) for drop in DROPS
    ),
    figure=figure,
    tables=tables,
)
