"""The appendix's figure: two arms that never change, where FEWA is compared with UCB1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotting._output.style import shared_legend
from rotting.paper.experiment import Block, Experiment, Results, Tables, over_time
from rotting.policies import FEWA, UCB1
from rotting.problems import stationary
from rotting.simulation.figures import draw_regret, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAPS = (0.14, 1.0)
POLICIES = {
    "FEWA 0.01": FEWA(alpha=0.01),
    "FEWA 0.06": FEWA(alpha=0.06),
    "FEWA 0.25": FEWA(alpha=0.25),
    "UCB1": UCB1(),
}


def key(gap: float) -> str:
    """Return the name of the block for one gap."""
    return f"gap={gap:g}"


def tables(results: Results) -> Tables:
    """Return the numbers behind the two panels."""
    left, right = (over_time(results[key(gap)]) for gap in GAPS)
    return {"appendix_left": left, "appendix_right": right}


def figure(results: Results) -> Figure:
    """Return regret over time for the two gaps."""
    canvas, every = panels([f"Arms that never change, gap {gap:g}" for gap in GAPS], 5.5, 4.8)
    for axes, gap in zip(every, GAPS, strict=True):
        draw_regret(axes, results[key(gap)])
    shared_legend(canvas, every[0])
    return canvas


EXPERIMENT = Experiment(
    name="appendix",
    section="Arms that never change",
    alt="Regret of FEWA and UCB1 over time on arms that never change",
    caption="The appendix's figure. Even where nothing rots, FEWA with alpha = 0.06 is not far from UCB1.",
    runs=1000,
    blocks=tuple(Block(key(gap), POLICIES, stationary([0.0, gap]), rounds=100) for gap in GAPS),
    figure=figure,
    tables=tables,
)
