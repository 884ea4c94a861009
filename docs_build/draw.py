"""The pictures of the site: FEWA's filter, window by window, and the gallery. `make figures` draws them.

Everything is drawn from runs of the package itself, the same for everybody: (seed, run) fixes all rewards.
"""

from __future__ import annotations

import argparse
import inspect
import math
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import rotting
from rotting import FEWA, POLICIES, Problem
from rotting._output.style import COLOURS, add_title, line_style, new_figure, plain, shared_legend, thousands, tidy
from rotting.curves import Drop
from rotting.errors import PolicyMismatch
from rotting.policies import LinUCRL
from rotting.policies._contract.suited import mismatches
from rotting.simulation.replay import Replay, replay
from rotting.simulation.replay_figures import drops_figure

IMAGES = Path(__file__).parents[1] / "docs" / "images"
POLICY = FEWA(alpha=0.06, sigma=0.5)
# A steady arm, one that is worth less from its 150th pull on, and one that is never worth much.
PROBLEM = Problem([0.5, Drop(before=0.8, after=0.1, at=150), 0.25], sigma=0.5, name="three arms", horizon=1000)
ROUNDS = 1000
# The paper's two arms with L = 0.233, as clicks: rewards of 0 and 1, on which every policy can play.
CLICKS = Problem(
    [0.5, Drop(before=0.6165, after=0.3835, at=2500)], noise="bernoulli", name="two arms, clicks", horizon=10_000
)


def telling_round(played: Replay) -> int:
    """Return the round in which two arms are dropped by windows that differ, the shorter one as long as can be."""

    def shortest(explanation: rotting.Explanation) -> int:
        windows = {verdict.window for verdict in explanation.arms if verdict.window}
        return min(windows) if len(windows) == 2 else 0

    return max(played.explanations, key=lambda t: shortest(played.explanations[t]))


def draw_windows(played: Replay, t: int) -> Figure:
    """Draw the means of all windows in round t, the line below which arms are dropped, and where that happens."""
    explanation = played.explanations[t]
    before = played.arms[: t - 1]
    known = [played.rewards[: t - 1][before == arm] for arm in range(PROBLEM.n_arms)]
    means = [np.cumsum(one[::-1]) / np.arange(1, len(one) + 1) for one in known]
    last = min(verdict.pulls for verdict in explanation.arms if verdict.survived)
    ends = [verdict.window or last for verdict in explanation.arms]
    windows = np.arange(1, last + 1)
    best = np.array([max(m[h - 1] for m, end in zip(means, ends, strict=True) if end >= h) for h in windows])
    threshold = POLICY.sigma * math.sqrt(8 * POLICY.alpha * math.log(t)) / np.sqrt(windows)
    figure = new_figure(9.0, 4.6)
    axes = figure.add_subplot()
    axes.fill_between(windows, best - threshold, -9, color="0.92", label="too far below the best mean: dropped")
    for arm, (mean, end) in enumerate(zip(means, ends, strict=True)):
        axes.plot(windows[:end], mean[:end], linewidth=1.8, label=f"arm {arm}", **line_style(arm))
        if explanation.arms[arm].window:
            axes.plot(end, mean[end - 1], "X", color=COLOURS[arm], markersize=11, markeredgecolor="white", zorder=4)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(thousands())
    axes.set_xlim(1, last)
    lowest = min(float(mean[:end].min()) for mean, end in zip(means, ends, strict=True))
    axes.set_ylim(lowest - 0.2, float(best.max()) + 0.2)
    axes.set_xlabel("window: how many of the last rewards are averaged")
    axes.set_ylabel("mean reward in the window")
    add_title(axes, f"Round {t}: crosses mark the windows that drop arms; arm {explanation.decision} is pulled")
    tidy(axes)
    shared_legend(figure, axes)
    return figure


def every_policy() -> dict[str, rotting.Policy]:
    """Return all policies with their default parameters, told how noisy clicks are and what they cannot do without."""
    noise, curves = {"sigma": rotting.sigma_for(0.0, 1.0)}, {"curves": tuple(CLICKS.curves)}
    given = {name: noise if "sigma" in inspect.signature(kind).parameters else {} for name, kind in POLICIES.items()}
    return {
        name: kind(**(curves if name in ("CTO", "CTOSIM", "DCTOUCB") else given[name]))
        for name, kind in POLICIES.items()
    }


def made_for_something_else(policy: rotting.Policy) -> bool:
    """Say whether a policy is made for other arms than these."""
    return isinstance(policy, LinUCRL) or bool(mismatches(policy, CLICKS))  # LinUCRL can play all, and is at home once


def draw_gallery(runs: int) -> Figure:
    """Draw the regret of every policy on two arms that pay clicks, a small panel each."""
    policies = every_policy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolicyMismatch)  # they are orange
        result = rotting.simulate(policies, CLICKS, runs=runs, rounds=100)
    order = sorted(policies, key=lambda name: float(result.regret.sel(policy=name).isel(round=-1).mean()))
    columns, rows = 4, -(-len(order) // 4)
    figure = new_figure(10.0, 1.75 * rows)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True).ravel()
    top = float(result.regret.isel(round=-1).mean("run").max())
    for axes in panels[len(order) :]:
        axes.remove()
    for axes, name in zip(panels, order, strict=False):
        for other in order:
            axes.plot(result["round"], result.regret.sel(policy=other).mean("run"), color="0.88", linewidth=0.8)
        one = result.regret.sel(policy=name).transpose("run", "round").values
        low, high = np.quantile(one, (0.1, 0.9), axis=0)
        colour = COLOURS[1] if made_for_something_else(policies[name]) else COLOURS[0]
        axes.fill_between(result["round"], low, high, color=colour, alpha=0.2, linewidth=0)
        axes.plot(result["round"], one.mean(axis=0), color=colour, linewidth=1.8)
        axes.set_title(f"{plain(name)}: {one[:, -1].mean():.0f}", loc="left", fontsize="small")
        axes.set_ylim(0, 1.05 * top)
        axes.xaxis.set_major_formatter(thousands())
        tidy(axes)
    figure.supxlabel("round", fontsize="small")
    figure.supylabel("regret: mean, and 10 % to 90 % of the runs", fontsize="small")
    return figure


def main() -> None:
    """Draw everything into docs/images."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=100, help="runs of each policy in the gallery")
    options.add_argument("--out", type=Path, default=IMAGES)
    given = options.parse_args()
    played = replay(POLICY, PROBLEM, ROUNDS, seed=2, explain=ROUNDS)
    draw_windows(played, telling_round(played)).savefig(given.out / "filter_windows.png")
    drops_figure(played, PROBLEM.n_arms).savefig(given.out / "filter_rounds.png")
    draw_gallery(given.runs).savefig(given.out / "gallery.png")


if __name__ == "__main__":
    main()
