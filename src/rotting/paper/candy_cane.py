"""Beyond the paper: the Candy Cane Contest, played alone, by every policy of the package."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.paper.experiment import Block, Experiment, Results, Tables, draw_ranking, final_reward, summary_row
from rotting.policies import AUCB, CTO, CTOSIM, DCTOUCB, POLICIES, UCBTASW, UCBTP, LinUCRL, Oracle, Policy
from rotting.policies._contract.suited import KINDS
from rotting.problems import Exponential, candy_cane
from rotting.simulation.figures import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEM = candy_cane()
KEY = "kaggle"
RATE = -math.log(0.97)  # of the decay
CURVES = tuple(Exponential(level / 101, RATE) for level in range(1, 101, 3))
# What some policies cannot do without, or are told of the decay.
TOLD: dict[type[Policy], dict[str, Any]] = {
    AUCB: {"trend": Exponential(1.0, RATE)},
    **{kind: {"curves": CURVES} for kind in (CTO, CTOSIM, DCTOUCB)},
    LinUCRL: {"window": 1, "degree": 1},
    UCBTASW: {"variation": 1000.0},
    UCBTP: {"rho": 0.03},
}


def policies() -> dict[str, Policy]:
    """Return every policy that is not made for other arms, told sigma; the oracle cannot be told the levels."""
    return {
        label: kind(**({"sigma": 0.5} if "sigma" in kind.__dataclass_fields__ else {}), **TOLD.get(kind, {}))
        for label, kind in POLICIES.items()
        if kind is not Oracle and (kind.made_for is None or KINDS[kind.made_for](PROBLEM, PROBLEM.horizon) is None)
    }


def rewards(results: Results) -> dict[str, np.ndarray]:
    """Return the expected reward of each run, of the oracle and then of the policies, the best first."""
    oracle = np.asarray(results[KEY]["oracle_reward"].isel(round=-1).values)
    return {"the oracle": oracle, **dict(sorted(final_reward(results[KEY]).items(), key=lambda item: -item[1].mean()))}


def tables(results: Results) -> Tables:
    """Return the expected reward of each policy, and of the oracle."""
    return {"candy_cane": [{"policy": label, **summary_row(each)} for label, each in rewards(results).items()]}


def figure(results: Results) -> Figure:
    """Return a ranking."""
    canvas, [axes] = panels(["The Candy Cane Contest, alone"], 8.0, 8.0)
    draw_ranking(axes, rewards(results), best_is_large=True)
    axes.set_xlabel("candy canes of 2000 pulls, expected: mean, and 10 % to 90 % of the runs")
    return canvas


EXPERIMENT = Experiment(
    name="candy-cane",
    section="Beyond the paper: the Candy Cane Contest",
    alt="Expected reward of every policy of the package in the Candy Cane Contest",
    caption="Kaggle's Santa 2020 for one player: 100 machines, each pull takes 3 % of its level. Parameters are the "
    "defaults, with sigma = 0.5; LevelFilter, AUCB, CTO, CTOSIM and DCTOUCB are told the decay, UCBTP and UCBTASW "
    "something like it.",
    runs=200,
    blocks=(Block(KEY, policies(), PROBLEM),),
    figure=figure,
    tables=tables,
)
