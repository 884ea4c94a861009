"""Beyond the paper: the Candy Cane Contest, played alone, by every policy of the package."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from rotting._output.style import add_title, new_figure
from rotting.paper.experiment import Block, Experiment, Results, Row, Tables
from rotting.paper.final_regret import draw_ranking, final_reward, summary_row
from rotting.policies import AUCB, CTO, CTOSIM, DCTOUCB, POLICIES, UCBTASW, UCBTP, LinUCRL, Oracle, Policy
from rotting.policies._contract.suited import KINDS
from rotting.problems import Exponential, candy_cane

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
    made = {}
    for label, kind in POLICIES.items():
        suited = kind.made_for is None or KINDS[kind.made_for](PROBLEM, PROBLEM.horizon) is None
        if suited and kind is not Oracle:
            noise = {"sigma": 0.5} if "sigma" in {field.name for field in dataclasses.fields(kind)} else {}
            made[label] = kind(**noise, **TOLD.get(kind, {}))
    return made


def tables(results: Results) -> Tables:
    """Return the expected reward of each policy, and of the oracle."""
    oracle = results[KEY]["oracle_reward"].isel(round=-1).values
    rows: list[Row] = [{"policy": "the oracle", **summary_row(oracle)}]
    rewards = sorted(final_reward(results[KEY]).items(), key=lambda item: -item[1].mean())
    rows += [{"policy": label, **summary_row(reward)} for label, reward in rewards]
    return {"candy_cane": rows}


def figure(results: Results) -> Figure:
    """Return a ranking."""
    canvas = new_figure(8.0, 8.0)
    axes = canvas.subplots()
    rewards = final_reward(results[KEY])
    oracle = results[KEY]["oracle_reward"].isel(round=-1).values
    draw_ranking(axes, {**rewards, "the oracle": oracle}, best_is_large=True)
    axes.set_xlabel("candy canes of 2000 pulls, expected: mean, and 10 % to 90 % of the runs")
    add_title(axes, "The Candy Cane Contest, alone")
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
