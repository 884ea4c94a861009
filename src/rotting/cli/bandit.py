"""`rotting bandit decide`, `reward`, `arms`, `report`, `verify`, `export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rotting.cli.options import InputError, whole_option
from rotting.cli.output import checked_output, checked_plot, write_figure, write_json
from rotting.cli.tables import add_row, make_console, make_table, print_sheet
from rotting.errors import literal, quoted

if TYPE_CHECKING:
    from rotting.bandit import Bandit

app = typer.Typer(help="A durable decision maker: named arms, late rewards, and a log in a database.")

Url = Annotated[str, typer.Argument(help="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE.")]
Name = Annotated[str, typer.Argument(help="The name of the bandit.")]
Arms = Annotated[list[str] | None, typer.Option(help="An arm; may be given several times.", show_default=False)]


@app.command()
def decide(
    url: Url,
    name: Name,
    n: Annotated[int, typer.Option("--n", **whole_option("--n", 1), help="How many decisions to take.")] = 1,
    among: Arms = None,
) -> None:
    """Take decisions: a line for each, with its id, the arm and the reason, separated by tabs."""
    with opened(url, name) as bandit:
        for choice in bandit.decide(n, among=among):
            typer.echo(f"{choice.id}\t{choice.arm}\t{choice.why}")


@app.command(context_settings={"ignore_unknown_options": True})  # -0.5 is a number
def reward(
    url: Url,
    name: Name,
    decision: Annotated[str | None, typer.Argument(help="The id of a decision.", show_default=False)] = None,
    value: Annotated[str | None, typer.Argument(help="Its reward.", show_default=False)] = None,
    file: Annotated[Path | None, typer.Option(help="A .csv file with the columns decision and reward.")] = None,
) -> None:
    """Give a decision its reward, or many decisions theirs from a file (all or none)."""
    if (file is None) == (decision is None) or (decision is None) != (value is None):
        raise InputError("expected either a decision and its reward, or --file with many")
    rewards = [(str(decision), _reward(str(value)))] if file is None else _read_rewards(file)
    with opened(url, name) as bandit:
        new = bandit.reward_many(rewards)
        typer.echo(f"{new} new, {len(rewards) - new} known already.")


@app.command()
def arms(url: Url, name: Name, add: Arms = None, retire: Arms = None, restore: Arms = None) -> None:
    """List the arms, after adding, retiring or restoring some (all of those named, or none)."""
    with opened(url, name) as bandit:
        if add or retire or restore:
            bandit.change_arms(add=add or (), retire=retire or (), restore=restore or ())
        table = make_table("arm", "available")
        for each, available in bandit.arms.items():
            add_row(table, each, "yes" if available else "retired")
        make_console().print(table)


@app.command()
def report(
    url: Url,
    name: Name,
    plot: Annotated[Path | None, typer.Option(help="Draw each arm's value against its exposures.")] = None,
    json: Annotated[
        Path | None,
        typer.Option(help="Write the same numbers into this file; - for standard output, without the table."),
    ] = None,
) -> None:
    """Show how the arms are doing: how often shown, what they were worth lately, whether the filter lets them pass."""
    plot = None if plot is None else checked_plot(plot)
    to_stdout = json is not None and str(json) == "-"
    json = json if json is None or to_stdout else checked_output("--json", json)
    if plot is not None and json is not None and plot.resolve() == json.resolve():
        raise InputError("{plot} and {json} name the same file", value=str(json), hint="give two different ones")
    with opened(url, name) as bandit:
        for path in (plot, json):
            if path is not None:
                bandit.refuse_own_file(path)
        content = bandit.report()
    if not to_stdout:
        print_sheet(content.sheet())
    if json is not None:
        write_json(json, content.to_dict())
    if plot is not None:
        write_figure(plot, content.figure())


@app.command()
def verify(url: Url, name: Name) -> None:
    """Replay the log: every decision must be the one the policy takes, and the state what follows from it."""
    from rotting._output.progress import progress_bar

    with opened(url, name) as bandit, progress_bar() as bar:
        done = 0

        def show(replayed: int, events: int) -> None:
            nonlocal done
            if done == 0:
                bar.stage("replaying", steps=events)
            bar.advance(replayed - done)
            done = replayed

        found = bandit.verify(progress=show)
    since = f" from event {found.since} on (what was before is sealed)" if found.since > 1 else ""
    typer.echo(f"All is well{since}: {found.events} events, {found.decisions} decisions, {found.rewards} rewards.")


@app.command()
def export(
    url: Url,
    name: Name,
    file: Annotated[Path, typer.Argument(help="A .csv, .jsonl, .parquet or .arrow file to write the log to.")],
    since: Annotated[str | None, typer.Option(help='From this time on: "2026-01-31 12:00", in UTC.')] = None,
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None,
    arm: Annotated[str | None, typer.Option(help="Events of this arm only.")] = None,
    replays: Annotated[
        int | None, typer.Option(min=1, help="Fill in probabilities that were not known, by so many draws.")
    ] = None,
) -> None:
    """Write the log, or a part of it, to a file."""
    checked_output("FILE", file)
    with opened(url, name) as bandit:
        events = bandit.export(file, since, until, arm, replays=replays)
    typer.echo(f"Wrote {file}: {events} events")


def opened(url: str, name: str) -> Bandit:
    """Return a bandit that exists."""
    from rotting.bandit import Bandit, UnknownBandit

    try:
        return Bandit.open(url, name)
    except UnknownBandit as error:
        raise InputError(error.problem, value=error.value, hint="make it with: rotting bandit init") from None


def _reward(text: str, where: str | None = None) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"reward {quoted(text)} is not a number", owner=where, value=text) from None


def _read_rewards(file: Path) -> list[tuple[str, float]]:
    import csv

    try:
        with file.open(newline="", encoding="utf-8") as lines:
            rows = csv.DictReader(lines)
            if not {"decision", "reward"} <= set(rows.fieldnames or ()):
                raise InputError(
                    "is not a table of rewards",
                    name="file",
                    value=str(file),
                    expected="a first line with the columns decision and reward",
                )
            return [
                (row["decision"], _reward(row["reward"] or "", f"--file {str(file)!r}, line {place}"))
                for place, row in enumerate(rows, start=2)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = literal(getattr(error, "strerror", None) or str(error))
        raise InputError(f"cannot be read: {reason}", name="file", value=str(file)) from None
