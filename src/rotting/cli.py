"""The command line: parses, calls the library, prints.

Everything slow to import (the compiler, xarray, matplotlib) is imported inside the commands, so that
`rotting --help` answers at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from rotting import __version__

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rotting.policies import Policy
    from rotting.problems import Problem
    from rotting.simulation.summary import PolicySummary

PLOT_FORMATS = (".png", ".pdf", ".svg")
BAD_INPUT, INTERRUPTED = 2, 130
# More than this cannot be meant, and arrays of that size cannot be asked for.
MOST, MOST_THREADS = 10**9, 1024

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Bandits for things that wear out as you show them.",
)


class BadInput(Exception):
    """Something the user can put right: shown as one line, without a traceback."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 if all went well, 2 after bad input, 130 after Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = typer.main.get_command(app)(given or ["--help"], prog_name="rotting", standalone_mode=False)
    except BadInput as error:
        code = _complain(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        # Typer's own complaints about the command line, whichever version of click they come from.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        hint = f" See '{context.command_path} --help'." if context else ""
        code = _complain(error.format_message() + hint)
    if code == INTERRUPTED:
        print("Interrupted: nothing was written.", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    print("Error:", " ".join(message.split()), file=sys.stderr)
    return BAD_INPUT


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rotting {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


Runs = Annotated[int, typer.Option(min=1, max=MOST, help="Independent runs of each policy.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same result.")]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1, max=MOST_THREADS, help="Runs played at once; the result is the same.", show_default="one per processor"
    ),
]


@app.command()
def policies(
    name: Annotated[str | None, typer.Argument(help="Describe this policy only, in full.", show_default=False)] = None,
) -> None:
    """List the policies and their parameters."""
    shipped = _shipped_policies()
    if name is None:
        table = _table("policy", "parameters", "what it does")
        for policy in shipped.values():
            _add(table, policy.__name__, _defaults(policy), _first_line(policy))
        _console().print(table)
    else:
        typer.echo(_described(shipped[_named(name, shipped)]))


@app.command()
def problems() -> None:
    """List the named problems and their parameters."""
    from rotting.problems import NAMED

    table = _table("problem", "parameters", "what it is")
    for name, function in NAMED.items():
        parameters = inspect.signature(function).parameters.values()
        shown = ", ".join(
            parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default}"
            for parameter in parameters
        )
        _add(table, name, shown, _first_line(function))
    _console().print(table)


@app.command()
def compare(
    policies: Annotated[
        list[str], typer.Argument(help='Policies, such as "FEWA(alpha=0.06)"; see: rotting policies.')
    ],
    problem: Annotated[str, typer.Option(help="What to play on; see: rotting problems.")] = "ten_arm()",
    runs: Runs = 100,
    horizon: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="Rounds per run.", show_default="the problem's own")
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw regret over time into this .png, .pdf or .svg file.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write settings and results into this file.")] = None,
) -> None:
    """Compare policies on a problem: regret, and time per decision.

    Every policy meets the same noise in the same run, so the difference to the best is known better than each mean.
    """
    outputs = _checked_outputs(plot, json)
    playing = [_parsed("policy", text) for text in policies]
    on = _parsed("--problem", problem)
    _rehearse(playing, on, horizon)

    from rotting.simulation import simulate
    from rotting.simulation.summary import summarise

    with _enough_memory(runs):
        dataset = simulate(playing, on, horizon, runs=runs, seed=seed, threads=threads)
    summaries = summarise(dataset)
    title = f"{dataset.attrs['problem']}: {dataset.attrs['horizon']} rounds, {runs} runs, seed {seed}"
    _print_summaries(title, summaries, runs)
    if json in outputs:
        settings = {**dataset.attrs, "runs": runs}
        _write_json(json, {"settings": settings, "policies": [dataclasses.asdict(row) for row in summaries]})
    if plot in outputs:
        from rotting.plots import regret_figure

        _write_figure(plot, regret_figure(dataset))
