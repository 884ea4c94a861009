"""What the theorems say, beside what is measured: FEWA with alpha = 5, and without noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rotting._output.style import COLOURS, line_style, thousands
from rotting.paper.experiment import Block, Experiment, Results, Row, Tables
from rotting.paper.two_arm import LARGE
from rotting.policies import FEWA, EffFEWA, Greedy, Policy
from rotting.problems import Problem, ten_arm, two_arm
from rotting.simulation.figures import draw_runs, panels
from rotting.theory import Decomposition, decompose, fewa_bound, high_probability_delta0, largest_decay

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
    pulls: list[Row] = []
    for name, problem in NOISY.items():
        rounds, regret = results[name]["round"].values.tolist(), _regret(results, name)
        for t, mean, largest in zip(rounds, regret.mean(axis=0), regret.max(axis=0), strict=True):
            rows.append({"problem": name, "round": t, "mean": mean, "largest": largest, "bound": bound(problem, t)})
        parts = decomposed(results, name)
        columns = parts.overpulls, parts.underpulls, parts.lost - parts.gained
        over, under, lost = (each.mean(axis=0) for each in columns)
        for arm, oracle in enumerate(parts.oracle_pulls.tolist()):
            numbers = {"oracle_pulls": oracle, "overpulls": over[arm], "underpulls": under[arm], "regret": lost[arm]}
            pulls.append({"problem": name, "policy": "FEWA 5", "arm": arm, **numbers})
    return {"theory": rows, "theory_pulls": pulls}


def _regret(results: Results, name: str) -> np.ndarray:
    """Return the regret of FEWA(5) on a problem: [run, round]."""
    return np.asarray(results[name]["regret"].sel(policy="FEWA 5").transpose("run", "round").values)


def decomposed(results: Results, name: str) -> Decomposition:
    """Return where FEWA(5)'s regret on a problem comes from, of each run."""
    pulls = results[name]["pulls"].sel(policy="FEWA 5").transpose("run", "arm").values
    return decompose(NOISY[name], pulls)


def figure(results: Results) -> Figure:
    """Return regret over time below its bound, and the pulls too many and too few per arm."""
    canvas, [regrets, pulls] = panels(["Regret and its bound", "Ten arms, FEWA 5: where pulls go"], 5.5, 4.8)
    for index, (name, problem) in enumerate(NOISY.items()):
        dataset = results[name]
        rounds = dataset["round"].values
        style = line_style(index)
        draw_runs(regrets, rounds, _regret(results, name), style, name)
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
    parts, gaps = decomposed(results, "ten arms"), NOISY["ten arms"].means(0)
    arms = np.arange(len(gaps))
    axes.bar(arms, parts.overpulls.mean(axis=0), color=COLOURS[1], label="too often")
    axes.bar(arms, -parts.underpulls.mean(axis=0), color=COLOURS[0], label="too seldom")
    axes.set_xticks(arms, [f"{gap:.3g}" for gap in gaps], fontsize="small")
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
)
