"""`rotting sweep`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rotting.cli.options import Device, InputError, Threads

if TYPE_CHECKING:
    from rotting.sweeps.plan import Plan
    from rotting.sweeps.progress import Tally


def sweep(
    plan: Annotated[Path | None, typer.Argument(help="The plan, a TOML file.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to keep results in.", show_default=False)] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help='The address of a Dask scheduler, or "local" to start one here.', show_default=False),
    ] = None,
    threads: Threads = None,
    device: Device = "cpu",
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Delete the results of another plan in the folder.")
    ] = False,
    extend: Annotated[
        bool, typer.Option("--extend", help="Keep what the folder holds of a smaller plan, and play only what is new.")
    ] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a plan to start from.")] = False,
) -> None:
    """Play every policy of a plan on every problem, and keep the results.

    It can be stopped, even killed, at any time: the same command goes on where it was.
    """
    from rotting.sweeps.plan_file import EXAMPLE, read_plan

    if example:
        typer.echo(EXAMPLE, nl=False)
        return
    if plan is None or out is None:
        raise InputError("expected a plan and --out FOLDER; rotting sweep --example prints a plan to start from")
    try:
        text = plan.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(plan)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    planned = read_plan(text, str(plan), device)
    from rotting.sweeps.running import run_plan

    tally = run_plan(planned, out, cluster, threads, False if quiet else None, overwrite, extend)
    if not quiet:
        typer.echo(f"Finished: {progress_of(tally)} in {out}; see {_how_to_read(planned, out)}")


def _how_to_read(plan: Plan, out: Path) -> str:
    """Return the command that shows the results: it is to be told of the user's own modules, which it executes."""
    from rotting.sweeps.folder import kept_modules

    imports = [word for module in kept_modules(plan, out) for word in ("--import", str(module))]
    return shlex.join(["rotting", "results", str(out), *imports])


def progress_of(tally: Tally) -> str:
    """Say how much of a sweep is finished."""
    plan = tally.plan
    return (
        f"{tally.cells} of {plan.cells} cells ({len(plan.policies)} policies x {len(plan.problems)} problems), "
        f"{tally.runs} of {plan.total_runs} runs"
    )
