"""`rotting compare`."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Annotated

import typer

from rotting.cli.options import MAX_COUNT, Device, InputError, Runs, Seed, Threads, enough_memory, parsed, whole_option
from rotting.cli.output import checked_output, checked_plot, write_figure, write_json
from rotting.cli.tables import print_summaries

Horizon = Annotated[
    int | None,
    typer.Option(**whole_option("--horizon", 1, MAX_COUNT), show_default="the problem's own", help="Rounds per run."),
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
    device: Device = "cpu",
    plot: Annotated[Path | None, typer.Option(help="Draw regret over time into this .png, .pdf or .svg file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the settings and the results into this file.")] = None,
) -> None:
    """Compare policies on a problem: their regret, and their time per decision.

    Every policy meets the same noise in the same run; differences to the best are taken run by run.
    """
    plot = None if plot is None else checked_plot(plot)
    json = None if json is None else checked_output("--json", json)
    if plot is not None and json is not None and os.path.realpath(plot) == os.path.realpath(json):
        raise InputError(f"--plot and --json are the same file {str(plot)!r}; expected two")
    from rotting.policies import parse_policy
    from rotting.problems import parse_problem
    from rotting.simulation import simulate
    from rotting.simulation.fit import check_fit
    from rotting.simulation.summary import summarise

    compared = [parsed("policy", parse_policy, text) for text in policies]
    played = parsed("--problem", parse_problem, problem)
    for policy in compared:
        check_fit(policy, played, horizon)
    with enough_memory(runs):
        dataset = simulate(compared, played, horizon, runs=runs, seed=seed, threads=threads, device=device)
    summaries = summarise(dataset)
    rounds, times = dataset.attrs["horizon"], "1 run" if runs == 1 else f"{runs} runs"
    print_summaries(f"{played}: {rounds} rounds, {times}, seed {seed}", summaries, runs)
    if json is not None:
        rows = [dataclasses.asdict(row) for row in summaries]
        write_json(json, {"settings": {**dataset.attrs, "runs": runs}, "policies": rows})
    if plot is not None:
        from rotting.simulation.figures import regret_figure

        write_figure(plot, regret_figure(dataset))
