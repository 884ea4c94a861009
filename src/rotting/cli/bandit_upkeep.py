"""`rotting bandit change`, `history`, `compact`, `delete`, `segments`: a bandit's life after the first day."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rotting.cli.bandit import Name, Url, number, opened
from rotting.cli.options import InputError, whole_option
from rotting.cli.output import checked_output, write_json
from rotting.cli.tables import add_row, make_console, make_table

if TYPE_CHECKING:
    from rotting.bandit import SegmentsReport

NONE = "none"  # how an option that may be empty is emptied
Template = Annotated[str, typer.Argument(help='The template, such as "homepage/{country}/{device}".')]
Since = Annotated[str | None, typer.Option(help='From this time on: "2026-01-31 12:00", in UTC.', metavar="TIME")]
Until = Annotated[str | None, typer.Option(help="Before this time.", metavar="TIME")]
OneArm = Annotated[str | None, typer.Option(help="Events of this arm only.")]


def change(
    url: Url,
    name: Annotated[str, typer.Argument(help="The name of the bandit, or a template of segments: then all of them.")],
    policy: Annotated[str | None, typer.Option(help="How to decide; see: rotting policies.")] = None,
    sigma: Annotated[str | None, typer.Option(help="Of the policy: a number, auto, or none: its own.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Exploration floor, 0 to 1.", metavar="NUMBER")] = None,
    reward_wait: Annotated[str | None, typer.Option(help="Seconds to wait for a reward, or none.")] = None,
    default_reward: Annotated[str | None, typer.Option(help="What a missing reward is, or none.")] = None,
    reward_range: Annotated[str | None, typer.Option(help="Bounds of rewards, as LOW:HIGH, or none.")] = None,
    holdout: Annotated[str | None, typer.Option(help="Share of decisions that the policy does not take.")] = None,
    control: Annotated[str | None, typer.Option(help="The arm that the holdout shows, or none: any.")] = None,
    min_exposures: Annotated[
        list[str] | None, typer.Option(help="Of every arm (N) or of one (ARM=N); may be given several times.")
    ] = None,
    max_exposures: Annotated[list[str] | None, typer.Option(help="The same for caps, or none.")] = None,
    exposure_period: Annotated[str | None, typer.Option(help="Seconds after which both begin again, or none.")] = None,
) -> None:
    """Change settings of a running bandit: an event of its log, from which on it decides with the new ones."""
    from rotting.policies import parse_policy

    given: dict[str, object] = {
        "policy": None if policy is None else parse_policy(policy),
        "sigma": sigma if sigma in (None, "auto", NONE) else number(sigma, "sigma"),
        "epsilon": number(epsilon, "epsilon"),
        "reward_wait": _number_or_none(reward_wait, "reward_wait"),
        "default_reward": _number_or_none(default_reward, "default_reward"),
        "reward_range": None if reward_range is None else _range(reward_range),
        "holdout": number(holdout, "holdout"),
        "control": control,
        "min_exposures": _limit(min_exposures, "min_exposures"),
        "max_exposures": _limit(max_exposures, "max_exposures"),
        "exposure_period": _number_or_none(exposure_period, "exposure_period"),
    }
    changes: Any = {setting: None if value == NONE else value for setting, value in given.items() if value is not None}
    if not changes:
        raise InputError("nothing to change", expected="at least one option")
    if "{" in name:
        from rotting.bandit import Segments

        with Segments.open(url, name) as segments:
            typer.echo(f"Changed {segments.change(**changes)} of {len(segments.names())} segments.")
        return
    with opened(url, name) as bandit:
        changed = bandit.change(**changes)
    typer.echo(f"Changed {', '.join(changed)}." if changed else "It is so already.")


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


# What options are given as.


def _number_or_none(text: str | None, name: str) -> object:
    return text if text == NONE else number(text, name)


def _range(text: str) -> object:
    if text == NONE:
        return text
    low, colon, high = text.partition(":")
    if not colon:
        raise InputError(name="reward_range", value=text, expected="LOW:HIGH, such as 0:1")
    return number(low, "reward_range"), number(high, "reward_range")


def _limit(texts: list[str] | None, name: str) -> object:
    if not texts:
        return None
    if texts == [NONE]:
        return NONE
    if len(texts) == 1 and "=" not in texts[0]:
        return _whole(texts[0], name)
    limits = {}
    for text in texts:
        arm, equals, limit = text.rpartition("=")
        if not equals:
            raise InputError(name=name, value=text, expected="ARM=N for each arm, or one N for all")
        limits[arm] = _whole(limit, name)
    return limits


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(name=name, value=text, expected="a whole number") from None


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
