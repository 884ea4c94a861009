"""`rotting bandit history`, `compact`, `delete`, `segments`: a bandit's life after the first day."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rotting.cli.bandit import Name, Url, opened
from rotting.cli.options import InputError, whole_option
from rotting.cli.output import checked_output, write_json
from rotting.cli.tables import add_row, make_console, make_table

if TYPE_CHECKING:
    from rotting.bandit import SegmentsReport

Template = Annotated[str, typer.Argument(help='The template, such as "homepage/{country}/{device}".')]
Since = Annotated[str | None, typer.Option(help='From this time on: "2026-01-31 12:00", in UTC.', metavar="TIME")]
Until = Annotated[str | None, typer.Option(help="Before this time.", metavar="TIME")]
OneArm = Annotated[str | None, typer.Option(help="Events of this arm only.")]


def history(
    url: Url,
    name: Name,
    since: Since = None,
    until: Until = None,
    arm: OneArm = None,
    last: Annotated[int, typer.Option(**whole_option("--last", 1), help="Only the last so many events.")] = 20,
) -> None:
    """Show the latest events of the log, or of a part of it; `export` writes all of them to a file."""
    import collections

    with opened(url, name) as bandit:
        rows: collections.deque[Any] = collections.deque(maxlen=last)
        for portion in bandit.history_portions(since, until, arm):
            rows.extend(portion.tail(last).itertuples(index=False))
    numbers = ["seq", "reward", "probability"]
    table = make_table("seq", "at", "kind", "arm", "decision", "reward", "probability", "details", numbers=numbers)
    for row in rows:
        cells = (row.arm, row.decision, row.reward, row.probability, row.details)
        add_row(table, str(row.seq), f"{row.at:%Y-%m-%d %H:%M:%S}", row.kind, *map(_cell, cells))
    make_console().print(table)


def compact(
    url: Url,
    name: Name,
    export: Annotated[Path, typer.Argument(help="A .csv, .jsonl, .parquet or .arrow file for the events.")],
    before: Annotated[str, typer.Option(help='Compact what happened before this time: "2026-01-31".', metavar="TIME")],
) -> None:
    """Verify and export the beginning of the log, and replace it by a seal: it is deleted from the database."""
    checked_output("EXPORT", export)
    if export.exists():
        raise InputError(f"{str(export)!r} exists", value=str(export), hint="give the name of a new file")
    with opened(url, name) as bandit, _progress("verifying") as show:
        done = bandit.compact(before, export, progress=show)
    typer.echo(f"Compacted {done.events} events, up to event {done.upto}; they are in {done.export}.")


def delete(
    url: Url,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a bandit and its log, for good."""
    from rotting.bandit import Bandit

    opened(url, name).close()  # before anything is asked
    if not yes and not typer.confirm(f"Delete bandit {name!r} and its whole log, for good?"):
        typer.echo("Nothing was deleted.")
        return
    typer.echo(f"Deleted bandit {name!r} after {Bandit.delete(url, name)} events.")


def segments(
    url: Url,
    template: Template,
    json: Annotated[Path | None, typer.Option(help="Write the report into this file; - for standard output.")] = None,
) -> None:
    """Show how the arms are doing in all segments of a template."""
    from rotting.bandit import Segments

    if json is not None and str(json) != "-":
        checked_output("--json", json)
    with Segments.open(url, template) as found, _progress("reading") as show:
        report = found.report(progress=show)
    if json is not None:
        write_json(json, report.to_dict())
    if json is None or str(json) != "-":
        _print_segments(report)


def _print_segments(report: SegmentsReport) -> None:
    numbers = ["shows", "rewards", "mean"]
    table = make_table("segment", "arm", *numbers, "filter", numbers=numbers)
    for name, segment in report.segments.items():
        for arm in segment.arms:
            counts = (f"{arm.shows:,}", f"{arm.rewards:,}", _cell(arm.means["all"]))
            passes = "retired" if not arm.available else {None: "", True: "active", False: "removed"}[arm.active]
            add_row(table, name, arm.arm, *counts, passes)
    for name, total in report.totals.items():
        add_row(table, "all", name, f"{total['shows']:,}", f"{total['rewards']:,}", _cell(total["mean"]), "", bold=True)
    make_console().print(table)
    make_console().print(f"{len(report.segments)} segments of {report.template}", markup=False, soft_wrap=True)


def _cell(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how much is done, of all there is."""
    from rotting._output.progress import progress_bar

    with progress_bar() as bar:
        done = 0

        def show(now: int, whole: int) -> None:
            nonlocal done
            if done == 0:
                bar.stage(what, steps=whole)
            bar.advance(now - done)
            done = now

        yield show
