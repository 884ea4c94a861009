"""Beyond the paper: arms that bore (Warlop, Lazaric, Mary 2018), and LinUCRL, which learns how."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rotting._output.style import add_legend, line_style
from rotting.paper.experiment import Block, Experiment, Results, Row, Tables
from rotting.policies import UCB1, LinUCRL, Policy, Uniform
from rotting.problems import boredom
from rotting.simulation.figures import panels, show_rounds

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

GENRES = boredom(3)
KEY = "four genres"
LEARNT, AUTHORS = "LinUCRL, ridge 0.01", "LinUCRL, the authors' settings"
POLICIES: dict[str, Policy] = {
    LEARNT: LinUCRL(ridge=0.01),  # the noise's variance
    AUTHORS: LinUCRL(),
    "UCB1": UCB1(sigma=0.1),
    "Uniform": Uniform(),
}
KINDS = {"best": "the best cycle", "greedy": "greedy", "constant": "the best arm alone"}
# The paper's three instances: what the best cycle, the greedy player and the best arm are worth (the last one is not
# known for the genres).
KNOWN = {
    1: (0.502368, 0.500437, 0.184643),
    2: (0.534417, 0.495512, 0.472821),
    3: (3.572140, 3.499025, None),
}


def cycles() -> list[tuple[int, str, float, float | None]]:
    """Return (instance, kind, value per round, known value) of all cycles."""
    return [
        (instance, kind, boredom(instance).cycle(kind).value, known)
        for instance, values in KNOWN.items()
        for kind, known in zip(KINDS, values, strict=True)
    ]


def per_round(dataset: xarray.Dataset, label: str) -> np.ndarray:
    """Return what each run of a policy earned per round, between the rounds that are recorded: (run, round)."""
    earned = (dataset["oracle_reward"] - dataset["regret"].sel(policy=label)).transpose("run", "round").values
    rounds = dataset["round"].values
    return np.asarray(np.diff(earned, axis=1, prepend=0.0) / np.diff(rounds, prepend=0))


def tables(results: Results) -> Tables:
    """Return the values of cycles, and what policies earn over time."""
    values: list[Row] = [
        {"instance": instance, "player": KINDS[kind], "value": round(value, 9), "known": known}
        for instance, kind, value, known in cycles()
    ]
    dataset = results[KEY]
    learning: list[Row] = [
        {"policy": label, "until_round": int(t), "mean_per_round": earned}
        for label in POLICIES
        for t, earned in zip(dataset["round"].values, per_round(dataset, label).mean(axis=0), strict=True)
    ]
    return {"boredom_cycles": values, "boredom": learning}


def figure(results: Results) -> Figure:
    """Return what policies earn per round over time, beside the best and the greedy cycle."""
    canvas, [axes] = panels(["Four genres that bore"], 10.0, 4.6)
    dataset = results[KEY]
    for index, label in enumerate(POLICIES):
        axes.plot(dataset["round"].values, per_round(dataset, label).mean(axis=0), label=label, **line_style(index))
    for shade, kind in (("0.2", "best"), ("0.6", "greedy")):
        cycle = GENRES.cycle(kind)
        axes.axhline(cycle.value, color=shade, linewidth=1.2, label=f"{KINDS[kind]}: {cycle.value:.3f}")
    show_rounds(axes, GENRES.horizon)
    axes.set_ylabel("mean reward per round")
    add_legend(canvas, axes)
    return canvas


EXPERIMENT = Experiment(
    name="boredom",
    section="Beyond the paper: arms that bore",
    alt="Mean reward per round of LinUCRL, UCB1 and Uniform on four genres that bore, beside the best cycle",
    caption="Warlop, Lazaric, Mary (2018), T = 20 000: an arm's value follows how often it was pulled in the last five "
    "rounds. The best cycle is computed exactly; UCB1 looks for the best arm, and there is none.",
    runs=20,
    blocks=(Block(KEY, POLICIES, GENRES, rounds=100),),
    figure=figure,
    tables=tables,
)
