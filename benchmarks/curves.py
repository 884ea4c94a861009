"""Time per decision against the length of the history and against the number of arms, for every policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import peers
from bars import dropping_arms
from matplotlib.figure import Figure
from timing import run_time, seconds_of

import rotting
from rotting import Policy
from rotting.problems import Power, ten_arm

ROUNDS = (300, 1000, 3000, 10_000, 30_000, 100_000, 300_000)
LONG = (1_000_000, 10_000_000)  # also measured for policies drawn in colour
ARMS = (2, 5, 10, 30, 100, 300, 1000)
# Drawn in colour; all others in grey.
HIGHLIGHTS = {
    "FEWA": "#0072B2",
    "EffFEWA": "#56B4E9",
    "RAWUCB": "#D55E00",
    "EffRAWUCB": "#E69F00",
    "UCB1": "#009E73",
    "river UCB": "#CC79A7",
    "mabwiser UCB1": "#000000",
}


# It plans over all situations of all arms: with hundreds of arms it refuses, or takes hours.
LEFT_OUT = {"LinUCRL"}


def every_policy() -> dict[str, Policy]:
    """Return one of each policy that the package exports, but for those that cannot play as many arms."""
    needed: dict[str, dict[str, Any]] = {
        name: {"curves": (Power(0.1), Power(0.5))} for name in ("CTO", "CTOSIM", "DCTOUCB")
    }
    classes = (getattr(rotting, name) for name in rotting.policies.__all__)
    found = [each for each in classes if isinstance(each, type) and issubclass(each, Policy) and each is not Policy]
    names = [each.__name__ for each in found if each.__name__ not in LEFT_OUT]
    return {name: getattr(rotting, name)(**needed.get(name, {})) for name in names}


def time_against_rounds() -> dict[str, dict[int, float]]:
    """Return nanoseconds per decision and reward, averaged over the first T rounds of the 10-arm problem."""
    problem = ten_arm()
    return {
        name: {T: _per_round(policy, problem, T) for T in ROUNDS + (LONG if name in HIGHLIGHTS else ())}
        for name, policy in every_policy().items()
    }


def time_against_arms() -> dict[str, dict[int, float]]:
    """Return nanoseconds per decision and reward over 20 rounds per arm (at least 10 000), and those of peers."""
    curves = {
        name: {K: _per_round(policy, dropping_arms(K), max(10_000, 20 * K)) for K in ARMS}
        for name, policy in every_policy().items()
    }
    for name, peer in (("river UCB", peers.River), ("mabwiser UCB1", peers.MABWiser)):
        curves[name] = {}
        for K in ARMS:
            agent = peer(K)
            peers.feed(agent, K, 2 * K)
            calls = max(20, 2000 // K)
            curves[name][K] = min(seconds_of(lambda: peers.drive(agent, calls)) for _ in range(3)) / calls * 1e9  # noqa: B023
    return curves


def _per_round(policy: Policy, problem: rotting.Problem, horizon: int) -> float:
    run_time(policy, problem, 10)
    turns = max(1, min(20, 300_000 // horizon))
    return min(run_time(policy, problem, horizon) for _ in range(turns)) / horizon * 1e9


def plot_curves(results: dict[str, Any], folder: Path) -> None:
    """Draw both families of curves, log-log."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, label, name in (
        ("nanoseconds_per_decision_against_t", "rounds T (10-arm problem)", "speed_rounds.png"),
        ("nanoseconds_per_decision_against_K", "arms K", "speed_arms.png"),
    ):
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.add_subplot()
        for policy, curve in results[key].items():
            style = (
                {"color": HIGHLIGHTS[policy], "label": policy, "linewidth": 2}
                if policy in HIGHLIGHTS
                else {"color": "#BBBBBB", "linewidth": 1, "zorder": 1}
            )
            axes.plot(list(curve), list(curve.values()), **style)
        axes.plot([], [], color="#BBBBBB", label="other policies")
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel="nanoseconds per decision and reward")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8, ncols=2)
        figure.savefig(folder / name, dpi=150)
