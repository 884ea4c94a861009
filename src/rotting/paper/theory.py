"""What the theorems say, beside what is measured: FEWA with alpha = 5, and without noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rotting._output.style import COLOURS, line_style, thousands
from rotting.paper.experiment import Block, Experiment, ReportTable, Results, Row, Tables
from rotting.paper.two_arm import LARGE
from rotting.policies import FEWA, EffFEWA, Greedy, Policy
from rotting.problems import Problem, ten_arm, two_arm
from rotting.simulation.figures import draw_runs, panels
from rotting.theory import decompose, fewa_bound, high_probability_delta0, largest_decay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOISY = {"two arms, L = 0.233": two_arm(), "two arms, L = 4.235": two_arm(LARGE), "ten arms": ten_arm()}
# The bounds that hold with a probability hold for all arms at once with delta / K of it for each.
DELTA = 0.05
CERTAIN = "FEWA 5, 95 %"


def policies_for(problem: Problem) -> dict[str, Policy]:
    """Return the policies that theorems and corollaries are about."""
    delta0 = high_probability_delta0(5.0, DELTA / problem.n_arms)
    return {"FEWA 5": FEWA(alpha=5.0), "EFF-FEWA 5": EffFEWA(alpha=5.0), CERTAIN: FEWA(alpha=5.0, delta0=delta0)}


NOISELESS = {
    "two arms, L = 0.233, no noise": two_arm(sigma=0.0),
    "two arms, L = 4.235, no noise": two_arm(LARGE, sigma=0.0),
    "ten arms, no noise": ten_arm(sigma=0.0),
}


def bound(problem: Problem, horizon: int) -> float:
    """Return Theorem 1's bound on the expected regret of FEWA with alpha = 5."""
    return float(fewa_bound(problem.n_arms, horizon, problem.sigma, largest_decay(problem, horizon)))


def tables(results: Results) -> Tables:
    """Return regret against the bound, and how far the pulls of each arm are from the oracle's."""
    rows: list[Row] = []
    for name, problem in NOISY.items():
        dataset = results[name]
        regret = dataset["regret"].isel(policy=0).transpose("run", "round").values
        for index, t in enumerate(dataset["round"].values):
            means = {"mean": regret[:, index].mean(), "largest": regret[:, index].max()}
            rows.append({"problem": name, "round": int(t), **means, "bound": bound(problem, int(t))})
    return {"theory": rows, "theory_pulls": [pulls._asdict() for pulls in _pulls(results)]}


class Pulls(NamedTuple):
    """How far the pulls of an arm are from the oracle's, and what that costs: means over runs."""

    problem: str
    policy: str
    arm: int
    oracle_pulls: int
    overpulls: float
    underpulls: float
    regret: float


def _pulls(results: Results) -> list[Pulls]:
    rows: list[Pulls] = []
    for name, problem in NOISY.items():
        policy = str(results[name]["policy"].values[0])
        parts = decompose(problem, results[name]["pulls"].isel(policy=0).transpose("run", "arm").values)
        over, under = parts.overpulls.mean(axis=0), parts.underpulls.mean(axis=0)
        regret = (parts.lost - parts.gained).mean(axis=0)
        rows += [
            Pulls(name, policy, arm, int(parts.oracle_pulls[arm]), over[arm], under[arm], regret[arm])
            for arm in range(problem.n_arms)
        ]
    return rows


def report_table(results: Results) -> ReportTable:
    """Return the pulls too many and too few of each arm, as the report shows them."""
    return ReportTable(
        "Regret is the reward lost on arms pulled too seldom, less what was gained on those pulled too often. Means "
        "over the runs of FEWA with alpha = 5:",
        ["problem", "arm", "the oracle's pulls", "pulls too many", "pulls too few", "regret"],
        [
            [
                row.problem,
                str(row.arm),
                f"{row.oracle_pulls:,}",
                f"{row.overpulls:,.1f}",
                f"{row.underpulls:,.1f}",
                f"{row.regret:.1f}",
            ]
            for row in _pulls(results)
        ],
        numbers={1, 2, 3, 4, 5},
    )


def figure(results: Results) -> Figure:
    """Return regret over time below its bound, and the pulls too many and too few per arm."""
    canvas, [regrets, pulls] = panels(["Regret and its bound", "Ten arms, FEWA 5: where pulls go"], 5.5, 4.8)
    for index, (name, problem) in enumerate(NOISY.items()):
        dataset = results[name]
        runs = dataset["regret"].isel(policy=0).transpose("run", "round").values
        rounds = dataset["round"].values
        style = line_style(index)
        draw_runs(regrets, rounds, runs, style, name)
        limit = [bound(problem, int(t)) for t in rounds]
        regrets.plot(rounds, limit, color=style["color"], linestyle=":", linewidth=1.5)
    regrets.set_yscale("symlog", linthresh=10, linscale=0.5)
    regrets.set_xscale("log")
    for axis in (regrets.xaxis, regrets.yaxis):
        axis.set_major_formatter(thousands())
    regrets.set_xlabel("round")
    regrets.set_ylabel("regret of FEWA 5; dotted: Theorem 1")
    regrets.legend(frameon=False, fontsize="small")
    _draw_pulls(pulls, results)
    return canvas


def _draw_pulls(axes: Axes, results: Results) -> None:
    """Draw how often the ten arms are pulled too often (up) and not often enough (down)."""
    rows = [row for row in _pulls(results) if row.problem == "ten arms"]
    arms = np.arange(len(rows))
    axes.bar(arms, [row.overpulls for row in rows], color=COLOURS[1], label="too often")
    axes.bar(arms, [-row.underpulls for row in rows], color=COLOURS[0], label="too seldom")
    labels = [f"{gap:.3g}" for gap in NOISY["ten arms"].means(0)]
    axes.set_xticks(arms, labels, fontsize="small")
    axes.set_xlabel(r"arm, by $\Delta_i$")
    axes.set_ylabel("pulls more or less than the oracle's, mean")
    axes.set_yscale("symlog", linthresh=100)
    axes.yaxis.set_major_formatter(thousands())
    axes.axhline(0, color="0.3", linewidth=0.8)
    axes.legend(frameon=False, fontsize="small")


EXPERIMENT = Experiment(
    name="theory",
    section="Theory",
    alt="Regret of FEWA with alpha 5 below the bound of Theorem 1, and pulls per arm compared with the oracle's",
    caption="Theory. Left: measured regret (lines) and Theorem 1's bound (dotted) for alpha = 5, which the theorem "
    "asks for. Right: where pulls go that the oracle would have spent elsewhere.",
    runs=100,
    blocks=(
        *(Block(name, policies_for(problem), problem, rounds=100) for name, problem in NOISY.items()),
        *(
            Block(name, {"FEWA 0.06": FEWA(sigma=0.0), "Greedy": Greedy()}, problem, runs=1)
            for name, problem in NOISELESS.items()
        ),
    ),
    figure=figure,
    tables=tables,
    report_table=report_table,
)
