"""`rotting evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rotting.cli.diagnose import READING, output_folder
from rotting.cli.options import InputError, Seed, with_options
from rotting.cli.tables import add_row, make_console, make_table

if TYPE_CHECKING:
    from rotting.value import Evaluation

LogArgument = Annotated[
    str, typer.Argument(help="A log with a row per exposure and a column of probabilities, or a bandit's database.")
]
Policies = Annotated[
    list[str] | None,
    typer.Option("--policy", help='Such as "FEWA(sigma=0.5)"; may be given several times.', show_default=False),
]
BanditName = Annotated[str | None, typer.Option(help="The bandit, if LOG is a database.", show_default="none")]
Uniform = Annotated[bool, typer.Option("--uniform", help="Every arm was as likely at all times: no column is needed.")]
Wears = Annotated[
    str | None, typer.Option(help="What rewards depend on: exposures, or calendar.", show_default="not known: both")
]
Since = Annotated[str | None, typer.Option(help="Weigh rows from this time on only.", show_default="all")]
Out = Annotated[Path, typer.Option(help="A folder for evaluation.html and evaluation.json; created if necessary.")]
FILES = ("evaluation.html", "evaluation.json")
# Two periods are compared by `diagnose`, which counts copies, too.
OTHERS = ("before", "after")


def evaluate(
    log: LogArgument,
    policy: Policies = None,
    bandit: BanditName = None,
    uniform: Uniform = False,
    wears: Wears = None,
    since: Since = None,
    out: Out = Path("evaluation"),
    seed: Seed = 0,
    **reading: Any,
) -> None:
    """Tell what other policies would have earned, from a log that has the probability of what it shows.

    Writes evaluation.html and evaluation.json.
    """
    if not policy:
        raise InputError('--policy is missing; expected for example --policy "FEWA(sigma=0.5)"')
    from rotting.value import evaluate

    with output_folder(out, FILES):
        found = evaluate(log, policy, bandit=bandit, uniform=uniform, wears=wears, since=since, seed=seed, **reading)
        _print(found)
        try:
            written = found.save(out)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}", name="out", value=str(out)) from None
    for path in written:
        typer.echo(f"Wrote {path}")


_READ_OPTIONS: dict[str, object] = {
    name: Annotated[str | None, typer.Option(help=said, show_default=default)]
    for name, (said, default) in READING.items()
    if name not in OTHERS
}
with_options(evaluate, evaluate, _READ_OPTIONS)


def _print(found: Evaluation) -> None:
    from rotting.value.telling import NEXT_COLUMNS, NEXT_NUMBERS, RUN_COLUMNS, RUN_NUMBERS, next_rows, run_rows

    console = make_console()

    def echo(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    echo(f"{found.rows:,} rows, {found.arms:,} arms; {found.columns}")
    for note in found.notes:
        echo(note)
    echo("Target 1: the next decision, given the log's histories (per 1000 exposures)")
    table = make_table(*NEXT_COLUMNS, numbers=NEXT_NUMBERS)
    for row in next_rows(found):
        add_row(table, *row)
    console.print(table)
    echo("Target 2: running the policy (per 1000 exposures)")
    table = make_table(*RUN_COLUMNS, numbers=RUN_NUMBERS)
    for row in run_rows(found):
        add_row(table, *row)
    console.print(table)
    echo(found.summary)
