"""`rotting paper`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rotting.cli.options import MAX_COUNT, Device, InputError, Seed, Threads, enough_memory, whole_option
from rotting.cli.output import checked_output
from rotting.cli.tables import add_row, make_console, make_table
from rotting.paper import ALL_NAMES, NAMES

if TYPE_CHECKING:
    from rotting.paper.claims import Judgement
    from rotting.paper.reproduce import Job


def paper(
    out: Annotated[Path, typer.Option(help="The folder to write to; made if need be.")] = Path("results/paper"),
    runs: Annotated[
        int | None,
        typer.Option(
            **whole_option("--runs", 1, MAX_COUNT), show_default="the paper's", help="Runs of each experiment."
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            show_default="the paper",
            help=f"Some of {', '.join(ALL_NAMES)}; with commas between them.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Add experiments of other papers: boredom, restless and many arms, candy.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(help="Parquet file or folder of the published log of notifications, to judge rules by (push)."),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    device: Device = "cpu",
) -> None:
    """Reproduce the paper: every figure, table and claim, and a report about them.

    Interrupted and started again, it goes on where it was, with the same results.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {str(out)!r} cannot be made a folder: {error.strerror}") from None
    checked_output("--out", out / "report.html")
    from rotting.paper.reproduce import Settings, jobs, reproduce

    settings = Settings(_names(only, everything), runs, seed, threads, device)
    if data is not None and "push" not in settings.only:
        raise InputError(f"--data {str(data)!r} is for the experiment push; give --only push or --all, too")
    began = time.perf_counter()
    try:
        with enough_memory(runs or 1000), _watching(jobs(settings)) as watch:
            reproduction = reproduce(out, settings, watch)
    except OSError as error:
        raise InputError(f"--out {str(out)!r} cannot be written: {error.strerror or error}") from None
    _print_claims(reproduction.judgements)
    if data is not None:
        _judge_log(data, out)
    typer.echo(f"Time: {time.perf_counter() - began:.1f} s")
    typer.echo(f"Wrote {len(reproduction.files)} files to {out}; open {out / 'report.html'}")


def _judge_log(data: Path, out: Path) -> None:
    """Judge rules for notifications by a log of them, and write what comes out."""
    from rotting._output.files import write_csv
    from rotting.paper.beyond.push_log import on_file

    if not data.exists():
        raise InputError(f"--data {str(data)!r} does not exist")
    verdicts = on_file(data)
    write_csv(out / "push_data.csv", [each._asdict() for each in verdicts])
    table = make_table("rule", "value", "gain, %", "95 % interval", "published", numbers=("value", "gain, %"))
    for each in verdicts:
        published = "" if each.published is None else f"{each.published:.4f}"
        interval = f"{100 * each.low:.2f} to {100 * each.high:.2f}"
        add_row(table, each.rule, f"{each.value:.4f}", f"{100 * each.gain:.2f}", interval, published)
    make_console().print(table)


def _names(only: str | None, everything: bool) -> tuple[str, ...]:
    if only is None:
        return ALL_NAMES if everything else NAMES
    if everything:
        raise InputError("--all leaves nothing for --only to choose; expected one of the two")
    names = tuple(dict.fromkeys(name.strip() for name in only.split(",")))
    for name in names:
        if name not in ALL_NAMES:
            raise InputError(f"--only {name!r} does not exist; expected some of {', '.join(ALL_NAMES)}")
    return names


@contextmanager
def _watching(jobs: list[Job]) -> Iterator[Callable[[Job, int], None]]:
    """Show which experiment is playing and when all will be done; without a terminal, a line per experiment."""
    from rotting._output.progress import progress_bar

    announced: set[str] = set()
    with progress_bar() as bar:
        bar.stage("", sum(job.work for job in jobs))

        def watch(job: Job, rounds: int) -> None:
            if not bar.shown and job.experiment not in announced:
                announced.add(job.experiment)
                bar.note(f"Playing {job.experiment} ...")
            bar.describe(f"{job.experiment}: {job.block.key}")
            bar.advance(rounds)

        yield watch


def _print_claims(judgements: list[Judgement]) -> None:
    if not judgements:
        return
    table = make_table("verdict", "claim", "paper", "here", "95 % interval", "why", numbers=("here",))
    for each in judgements:
        add_row(table, each.verdict, each.words, each.paper, f"{each.value:,.4g}", each.interval, each.why)
    make_console().print(table)
    counts = {verdict: sum(each.verdict == verdict for each in judgements) for verdict in ("holds", "differs", "fails")}
    typer.echo(f"{len(judgements)} claims: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
