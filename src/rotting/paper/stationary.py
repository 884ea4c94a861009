"""The appendix's figure: two arms that never change, where FEWA is compared with UCB1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotting._output.style import add_title, new_figure, shared_legend
from rotting.paper.experiment import Block, Experiment, Results, Row, over_time
from rotting.policies import FEWA, UCB1
from rotting.problems import stationary
from rotting.simulation.figures import draw_regret

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


def tables(results: Results) -> dict[str, list[Row]]:
    """Return the numbers behind the two panels."""
    left, right = (over_time(results[key(gap)]) for gap in GAPS)
    return {"appendix_left": left, "appendix_right": right}


def figures(results: Results) -> dict[str, Figure]:
    """Return regret over time for the two gaps."""
    canvas = new_figure(11.0, 4.8)
    panels = canvas.subplots(1, 2)
    for axes, gap in zip(panels, GAPS, strict=True):
        draw_regret(axes, results[key(gap)])
        add_title(axes, f"Arms that never change, gap {gap:g}")
    shared_legend(canvas, panels[0])
    return {"appendix": canvas}


EXPERIMENT = Experiment(
    name="appendix",
    title="Appendix: arms that never change",
    runs=1000,
    blocks=tuple(Block(key(gap), POLICIES, stationary([0.0, gap]), rounds=100) for gap in GAPS),
    figures=figures,
    tables=tables,
)
