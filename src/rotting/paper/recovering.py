"""Beyond the paper: arms that recover while they rest (Pike-Burke, Grunewalder 2019), on the authors' own instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rotting._output.style import add_title, new_figure
from rotting.paper.experiment import Block, Experiment, Results, Row, Tables, draw_ranking, final_reward, summary_row
from rotting.policies import RGPTS, RGPUCB, UCB1, Policy, Uniform
from rotting.problems import pike_burke

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROBLEMS = {"logistic": pike_burke("logistic"), "gamma": pike_burke("gamma")}
SIGMA = 0.1
# "noisy" is what the authors' program does: its bounds and draws are those of rewards, the noise included.
POLICIES: dict[str, Policy] = {
    "RGP-UCB": RGPUCB(first_rest=0, noisy=True, sigma=SIGMA),
    "RGP-TS": RGPTS(first_rest=0, noisy=True, sigma=SIGMA),
    "RGP-UCB, as written": RGPUCB(first_rest=0, sigma=SIGMA),
    "RGP-TS, as written": RGPTS(first_rest=0, sigma=SIGMA),
    "2RGP-UCB": RGPUCB(d=2, first_rest=0, sigma=SIGMA),
    "2RGP-TS": RGPTS(d=2, first_rest=0, sigma=SIGMA),
    "UCB1": UCB1(sigma=SIGMA),
    "Uniform": Uniform(),
}
# Their Table 1: the mean total reward of 500 runs, lengthscale 5.
PUBLISHED = {
    "logistic": {"RGP-UCB": 461.7, "RGP-TS": 462.6},
    "gamma": {"RGP-UCB": 145.6, "RGP-TS": 156.5},
}


def tables(results: Results) -> Tables:
    """Return the total reward of each policy, and the published one."""
    rows: list[Row] = [
        {"arms": name, "policy": label, "published": PUBLISHED[name].get(label), **summary_row(reward)}
        for name in PROBLEMS
        for label, reward in final_reward(results[name]).items()
    ]
    return {"recovering": rows}


def figure(results: Results) -> Figure:
    """Return a ranking for each kind of arms; crosses are published."""
    canvas = new_figure(11.0, 3.6)
    for axes, name in zip(canvas.subplots(1, 2), PROBLEMS, strict=True):
        rewards = final_reward(results[name])
        draw_ranking(axes, rewards, best_is_large=True)
        order = sorted(rewards, key=lambda label: float(rewards[label].mean()))
        for label, value in PUBLISHED[name].items():
            axes.plot(value, order.index(label), "kx", markersize=9)
        axes.set_xlabel("expected reward of 1000 rounds: mean, and 10 % to 90 % of the runs")
        add_title(axes, f"Arms that recover, {name}")
    return canvas


EXPERIMENT = Experiment(
    name="recovering",
    section="Beyond the paper: arms that recover",
    alt="Total reward of RGP-UCB, RGP-TS, UCB1 and Uniform on ten arms that recover, and published values",
    caption="Pike-Burke, Grunewalder (2019): ten arms that recover while they rest, drawn as in the authors' program; "
    "crosses are their Table 1. 2RGP plans two rounds at a time.",
    runs=100,
    blocks=tuple(Block(name, POLICIES, problem) for name, problem in PROBLEMS.items()),
    figure=figure,
    tables=tables,
)
