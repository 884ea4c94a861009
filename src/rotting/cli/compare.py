"""`rotting compare`."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rotting.cli.options import MOST, InputError, Runs, Seed, Threads, enough_memory, parsed, whole_option
from rotting.cli.output import checked_output, checked_plot, write_figure, write_json
from rotting.cli.tables import print_summaries, title_of

if TYPE_CHECKING:
    from rotting.policies import Policy
    from rotting.problems import Problem

Horizon = Annotated[
    int | None,
    typer.Option(**whole_option("--horizon", 1, MOST), show_default="the problem's own", help="Rounds per run."),
]


def compare(
    policies: Annotated[
        list[str], typer.Argument(help='Such as "FEWA(alpha=0.06)"; see: rotting policies.', show_default=False)
    ],
    problem: Annotated[str, typer.Option(help="What to play on; see: rotting problems.")] = "ten_arm()",
    runs: Runs = 100,
    horizon: Horizon = None,
    seed: Seed = 0,
    threads: Threads = None,
    plot: Annotated[Path | None, typer.Option(help="Draw regret over time into this .png, .pdf or .svg file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the settings and the results into this file.")] = None,
) -> None:
    """Compare policies on a problem: their regret, and their time per decision.

    Every policy meets the same noise in the same run, so the difference to the best is known better than each mean.
    """
    plot = None if plot is None else checked_plot(plot)
    json = None if json is None else checked_output("--json", json)
    if plot is not None and json is not None and os.path.realpath(plot) == os.path.realpath(json):
        raise InputError(f"--plot and --json are the same file {str(plot)!r}; expected two")
    from rotting.policies import parse_policy
    from rotting.problems import parse_problem
    from rotting.simulation import simulate
    from rotting.simulation.summary import summarise

    contestants = [parsed("policy", parse_policy, text) for text in policies]
    ground = parsed("--problem", parse_problem, problem)
    _check_fit(contestants, ground, horizon)
    with enough_memory(runs):
        dataset = simulate(contestants, ground, horizon, runs=runs, seed=seed, threads=threads)
    summaries = summarise(dataset)
    print_summaries(title_of(dataset.attrs, runs), summaries, runs)
    if json is not None:
        rows = [dataclasses.asdict(row) for row in summaries]
        write_json(json, {"settings": {**dataset.attrs, "runs": runs}, "policies": rows})
    if plot is not None:
        from rotting.simulation.figures import regret_figure

        write_figure(plot, regret_figure(dataset))


def _check_fit(contestants: list[Policy], ground: Problem, horizon: int | None) -> None:
    """Complain about policies that cannot play this problem, before any time is spent on it."""
    rounds = ground.horizon if horizon is None else horizon
    if isinstance(rounds, bool) or not isinstance(rounds, int):
        raise InputError(f"--problem {ground.name}: horizon={rounds!r}; expected a whole number >= 1")
    for policy in contestants:
        try:
            policy.informed(ground, rounds).initial_state(ground.n_arms)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise InputError(f"policy {policy} cannot play {ground}: {error}") from None
