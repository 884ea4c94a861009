"""`rotting compare`."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rotting.cli.options import (
    MAX_COUNT,
    Baseline,
    Device,
    Form,
    InputError,
    Runs,
    Seed,
    Significance,
    Threads,
    enough_memory,
    parsed,
    whole_option,
)
from rotting.cli.output import checked_output, checked_plot, write_figure, write_json
from rotting.cli.tables import print_differences, print_sheet

if TYPE_CHECKING:
    import xarray

# Traces of more bytes are announced before they are made.
LARGE_TRACES = 100_000_000
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
    delay: Annotated[
        str, typer.Option(help='Rounds by which rewards arrive late: such as 20, or "GeometricDelay(mean=50)".')
    ] = "0",
    significance: Significance = False,
    baseline: Baseline = None,
    form: Form = "text",
    plot: Annotated[Path | None, typer.Option(help="Draw regret over time into this .png, .pdf or .svg file.")] = None,
    trace: Annotated[
        Path | None,
        typer.Option(help="Keep the arm and the reward of every round in this .zarr folder or .nc file."),
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the settings and the results into this file.")] = None,
) -> None:
    """Compare policies on a problem: their regret, and their time per decision.

    Every policy meets the same noise in the same run; differences to the best are taken run by run.
    """
    _check_files(plot, json, trace)
    from rotting.play.delays import as_delay
    from rotting.play.late import TRACES
    from rotting.policies import parse_policy
    from rotting.problems import parse_problem
    from rotting.simulation import simulate
    from rotting.simulation.fit import check_fit
    from rotting.simulation.significance import enough_to_compare, label_among

    late = parsed("--delay", as_delay, delay)
    compared = [parsed("policy", parse_policy, text) for text in policies]
    played = parsed("--problem", parse_problem, problem)
    for policy in compared:
        check_fit(policy, played, horizon)
    if baseline is not None:
        label_among(list(map(str, compared)), baseline, "baseline")
    if significance or baseline is not None:
        enough_to_compare(compared)
    kept = () if trace is None else tuple(TRACES)
    _say_size(kept, len(compared), runs, played.n_arms, horizon or played.horizon)
    with enough_memory(runs):
        dataset = simulate(
            compared, played, horizon, runs, seed, threads=threads, device=device, trace=kept, delay=late
        )
    _print(dataset, significance, baseline, form)
    _write(dataset, plot, json, trace)


def _check_files(plot: Path | None, json: Path | None, trace: Path | None) -> None:
    """Refuse files that could not be written, before any time is spent."""
    if plot is not None:
        checked_plot(plot)
    if json is not None:
        checked_output("--json", json)
    if plot is not None and json is not None and os.path.realpath(plot) == os.path.realpath(json):
        raise InputError(f"--plot and --json are the same file {str(plot)!r}; expected two")
    if trace is not None:
        from rotting.simulation.traces import check_destination

        check_destination(trace, "trace")


def _print(dataset: xarray.Dataset, wanted: bool, baseline: str | None, form: str) -> None:
    from rotting.simulation.significance import significance
    from rotting.simulation.tables import comparison_sheet

    print_sheet(comparison_sheet(dataset), form)
    if wanted or baseline is not None:
        typer.echo()
        print_differences(significance(dataset, baseline), form)


def _write(dataset: xarray.Dataset, plot: Path | None, json: Path | None, trace: Path | None) -> None:
    from rotting.simulation.summary import summarise

    if json is not None:
        rows = [dataclasses.asdict(row) for row in summarise(dataset)]
        write_json(json, {"settings": {**dataset.attrs, "runs": dataset.sizes["run"]}, "policies": rows})
    if trace is not None:
        from rotting.simulation import write_traces

        write_traces(trace, dataset)
        typer.echo(f"Wrote {trace}")
    if plot is not None:
        from rotting.simulation.figures import regret_figure

        write_figure(plot, regret_figure(dataset))


def _say_size(kept: tuple[str, ...], players: int, runs: int, n_arms: int, horizon: int) -> None:
    """Warn of traces that are large, before any time is spent on them."""
    from rotting.play.late import trace_bytes
    from rotting.simulation.simulator import recorded_rounds

    size = trace_bytes(kept, players, runs, n_arms, horizon, len(recorded_rounds(None, horizon)))
    if size >= LARGE_TRACES:
        amount = f"{size / 1e9:,.1f} GB" if size >= 10**9 else f"{size / 1e6:,.0f} MB"
        typer.echo(f"Warning: the traces take {amount} of memory, and a .nc file of this size.", err=True)
