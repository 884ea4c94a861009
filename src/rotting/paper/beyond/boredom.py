"""Beyond the paper: arms that bore (Warlop, Lazaric, Mary 2018), and LinUCRL, which learns how."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from rotting._output.style import line_style
from rotting.paper.claims import Claims, Estimate, Finding, exactly, mean_of, within
from rotting.paper.experiment import Block, Experiment, Results, Row
from rotting.policies import UCB1, LinUCRL, Policy, Uniform
from rotting.problems import boredom
from rotting.simulation.figures import show_rounds

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
    """Return (instance, player, value per round, known value) of all cycles."""
    return [
        (instance, player, boredom(instance).cycle(kind).value, known)
        for instance, values in KNOWN.items()
        for (kind, player), known in zip(KINDS.items(), values, strict=True)
    ]


def _values_of_cycles(results: Results) -> list[Row]:
    return [
        {"instance": instance, "player": player, "value": round(value, 9), "known": known}
        for instance, player, value, known in cycles()
    ]


def _per_round(results: Results, label: str) -> np.ndarray:
    """Return what each run of a policy earned per round, between the rounds that are recorded: [run, round]."""
    dataset = results[KEY]
    earned = (dataset["oracle_reward"] - dataset["regret"].sel(policy=label)).transpose("run", "round").values
    return np.asarray(np.diff(earned, axis=1, prepend=0.0) / np.diff(dataset["round"].values, prepend=0))


def _learning(results: Results) -> list[Row]:
    """Return what policies earn over time."""
    return [
        {"policy": label, "until_round": t, "mean_per_round": earned}
        for label in POLICIES
        for t, earned in zip(
            results[KEY]["round"].values.tolist(), _per_round(results, label).mean(axis=0), strict=True
        )
    ]


def _draw(axes: Axes, results: Results) -> None:
    """Draw what policies earn per round over time, beside the best and the greedy cycle."""
    rounds = results[KEY]["round"].values
    for index, label in enumerate(POLICIES):
        axes.plot(rounds, _per_round(results, label).mean(axis=0), label=label, **line_style(index))
    for shade, kind in (("0.2", "best"), ("0.6", "greedy")):
        value = GENRES.cycle(kind).value
        axes.axhline(value, color=shade, linewidth=1.2, label=f"{KINDS[kind]}: {value:.3f}")
    show_rounds(axes, GENRES.horizon)
    axes.set_ylabel("mean reward per round")


claim = Claims("boredom")


@claim(
    "boredom-values",
    "the best cycle, the greedy player and the best arm on the instances of Warlop et al. (2018)",
    "largest difference of our exact values from the known ones (to six digits)",
    exactly(most=5.5e-7),
    "0.502368, 0.500437, ...",
)
def _values(results: Results) -> Finding:
    differences = [abs(value - known) for *_, value, known in cycles() if known is not None]
    return Finding(Estimate(max(differences)), f"{len(differences)} values, from the graph of situations.")


def _last_rounds(results: Results, label: str) -> np.ndarray:
    """Return what each run earned per round in its last 1000 rounds."""
    return np.asarray(_per_round(results, label)[:, -5:].mean(axis=1))


@claim(
    "linucrl-optimal",
    "LinUCRL comes to earn what the best cycle does (Warlop et al. 2018)",
    "mean reward of the last 1000 rounds / 3.572140 (at least 0.99), ridge 0.01",
    within(least=0.99),
    "1",
)
def _optimal(results: Results) -> Finding:
    authors = _last_rounds(results, AUTHORS).mean()
    why = f"with the authors' ridge of 0.5 it earns {authors:.3f}: arms pulled a few times stay underestimated."
    return Finding(mean_of(_last_rounds(results, LEARNT) / GENRES.cycle().value), why)


@claim(
    "linucrl-beats-greedy",
    "LinUCRL comes to earn more than the greedy player who knows all",
    "mean reward of the last 1000 rounds less 3.499025 (above 0), ridge 0.01",
    within(least=0.0),
)
def _beats_greedy(results: Results) -> Finding:
    more = _last_rounds(results, LEARNT) - GENRES.cycle("greedy").value
    return Finding(mean_of(more), f"UCB1 earns {_last_rounds(results, 'UCB1').mean():.3f}.")


EXPERIMENT = Experiment(
    name="boredom",
    section="Beyond the paper: arms that bore",
    alt="Mean reward per round of LinUCRL, UCB1 and Uniform on four genres that bore, beside the best cycle",
    caption="Warlop, Lazaric, Mary (2018), T = 20 000: an arm's value follows how often it was pulled in the last five "
    "rounds. The best cycle is computed exactly; UCB1 looks for the best arm, and there is none.",
    size=(10.0, 4.6),
    panels={"Four genres that bore": _draw},
    tables={"boredom_cycles": _values_of_cycles, "boredom": _learning},
    runs=20,
    blocks=[Block(KEY, POLICIES, GENRES, rounds=100)],
    claims=claim,
)
