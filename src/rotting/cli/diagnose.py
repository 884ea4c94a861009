"""`rotting diagnose`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from rotting.cli.options import InputError, Seed, with_options
from rotting.cli.output import checked_output
from rotting.cli.tables import add_row, make_console, make_table

if TYPE_CHECKING:
    from rotting.logs.diagnosis import Diagnosis

SHOWN_ARMS = 20
FILES = ("report.html", "diagnosis.json")


class Campaign(TypedDict):
    """Arguments of `rotting.logs.make_log`."""

    arms: int
    exposures: int
    start: float
    end: float
    spread: float


# Ten creatives, launched one after the other and shown equally often, clicked less and less. Some are twice as good as
# others, so there is something to gain, and 100,000 exposures are enough to measure it.
DEMO: Campaign = {"arms": 10, "exposures": 10_000, "start": 0.08, "end": 0.02, "spread": 0.7}


LogArgument = Annotated[
    str | None,
    typer.Argument(
        help="A .csv, .tsv, .jsonl, .xlsx or .parquet file, also .gz or .zip, a folder or pattern of such files, or "
        "file.db::table (DuckDB, SQLite).",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option(help="The folder to write to; created if necessary.")]
Demo = Annotated[bool, typer.Option("--demo", help="Generate the log of a campaign and diagnose it.")]
DropDuplicates = Annotated[
    bool, typer.Option("--drop-duplicates", help="Drop rows that repeat another in every column.")
]


RewardDelay = Annotated[
    str | None,
    typer.Option(
        help="How long rewards take to arrive, such as 7d: so much of the end is left out.", show_default="found"
    ),
]
# The fields of `rotting.logs.ReadOptions` that are texts: what the option says, and its default.
READING = {
    "arm": ("The column of what was shown.", "guessed"),
    "reward": ("The column of its reward: clicked, bought, earned.", "guessed"),
    "time": ("The column of when it was shown.", "guessed"),
    "unit": ("The column to count exposures by, such as users.", "all together"),
    "impressions": ("The column of how many exposures a row stands for, or none.", "guessed"),
    "probability": ("The column of the probability with which an arm was chosen.", "guessed"),
    "reward_time": ("The column of when rewards arrived.", "none"),
    "missing_reward": ("What a row without a reward earned: 0, or drop it.", "found"),
    "decimal": ("The decimal mark: . or ,", "found"),
    "date_format": ("How dates are written, such as %d/%m/%Y.", "found"),
    "encoding": ("The encoding of a text file, such as latin-1.", "found"),
    "null": ("A text that stands for no value.", "none"),
    "before": ("Compare what was earned before this date with what came after.", "none"),
    "after": ("The second period begins here.", "the date of --before"),
}


def diagnose(
    log: LogArgument = None,
    out: Out = Path("report"),
    demo: Demo = False,
    drop_duplicates: DropDuplicates = False,
    reward_delay: RewardDelay = None,
    seed: Seed = 0,
    **reading: Any,
) -> None:
    """Diagnose a log: do arms wear out, how fast, what would a bandit gain? Writes report.html and diagnosis.json.

    The log has one row per exposure (what was shown, its reward, and when), or is an export with impressions and clicks
    per arm and day, or lists impressions and clicks as events.
    """
    if (log is None) != demo:
        raise InputError("expected either a LOG or --demo" if demo else "LOG is missing; expected a file, or --demo")
    from rotting import logs

    with output_folder(out, FILES):
        source = logs.make_log(**DEMO, seed=seed) if log is None else log
        result = logs.diagnose(source, seed=seed, reward_delay=reward_delay, drop_duplicates=drop_duplicates, **reading)
        _print(result)
        try:
            written = result.save(out)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}", name="out", value=str(out)) from None
    for path in written:
        typer.echo(f"Wrote {path}")


_READ_OPTIONS: dict[str, object] = {
    name: Annotated[str | None, typer.Option(help=said, show_default=default)]
    for name, (said, default) in READING.items()
}
with_options(diagnose, diagnose, _READ_OPTIONS)


@contextlib.contextmanager
def output_folder(out: Path, files: tuple[str, ...]) -> Iterator[None]:
    """Create the folder to write to before the work begins; if anything fails, remove what was created."""
    created = [folder for folder in (out, *out.parents) if not folder.exists()]
    try:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made a folder: {error.strerror}", name="out", value=str(out)) from None
        for name in files:
            checked_output("--out", out / name)
        yield
    except BaseException:
        for folder in created:
            with contextlib.suppress(OSError):  # it holds something, or was never made
                folder.rmdir()
        raise


def _print(result: Diagnosis) -> None:
    from rotting.logs.tell.report import (
        ARM_COLUMNS,
        ARM_NUMBERS,
        GAIN_COLUMNS,
        PERIOD_COLUMNS,
        arm_rows,
        gain_rows,
        period_rows,
    )

    console = make_console()

    def echo(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    echo(f"Columns: {result.columns}")
    for note in result.notes:
        echo(note)
    echo(f"{result.rows:,} rows, {result.dropped_rows:,} dropped; noise of a reward: {result.sigma:.3g}")
    table = make_table(*ARM_COLUMNS, numbers=ARM_NUMBERS)
    for row in arm_rows(result)[:SHOWN_ARMS]:
        add_row(table, *row)
    console.print(table)
    if len(result.arms) > SHOWN_ARMS:
        echo(f"... and {len(result.arms) - SHOWN_ARMS} more arms, in the report")
    if result.gain:
        table = make_table(*GAIN_COLUMNS, numbers=GAIN_COLUMNS[1:])
        for row in gain_rows(result):
            add_row(table, *row)
        console.print(table)
    if result.periods is not None:
        echo(f"Before {result.periods.before}, and from {result.periods.after} on:")
        table = make_table(*PERIOD_COLUMNS, numbers=PERIOD_COLUMNS[1:])
        for row in period_rows(result)[:SHOWN_ARMS]:
            add_row(table, *row)
        console.print(table)
    echo(result.summary)
    if result.recommended is not None:
        echo(f"Advice: {result.recommended.label}: {result.recommended.reason}. Policy: {result.recommended.policy}")
    for caveat in result.caveats:
        echo(f"- {caveat}")
