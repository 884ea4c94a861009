"""What every command shares: options, complaints, tables and files. The commands themselves are in `commands/`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rotting.files import beside, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table

    from rotting.simulation.summary import PolicySummary

PLOT_FORMATS = (".png", ".pdf", ".svg")
# Nobody can mean more, and NumPy could not even be asked for the room.
MOST, MOST_THREADS = 10**9, 1024
# Where nobody looks at a screen, long rows are better than broken ones.
WIDE = 1000


class InputError(Exception):
    """What the user can put right: shown as one line, never as a traceback."""


def whole_option(option: str, minimum: int, maximum: int | None = None) -> Any:
    """Return a whole-number option. Typer's own would not name the value that it refuses."""
    expected = f"a whole number >= {minimum}" + ("" if maximum is None else f" and <= {maximum}")

    def parse(text: str) -> int:
        with contextlib.suppress(ValueError):
            number = int(text)
            if number >= minimum and (maximum is None or number <= maximum):
                return number
        raise InputError(f"{option} {text!r}: expected {expected}")

    return {"parser": parse, "metavar": "N"}


Runs = Annotated[int, typer.Option(**whole_option("--runs", 1, MOST), help="Independent runs of each policy.")]
Seed = Annotated[int, typer.Option(**whole_option("--seed", 0), help="Same seed, same regret.")]
Threads = Annotated[
    int | None,
    typer.Option(
        **whole_option("--threads", 1, MOST_THREADS),
        show_default="one per processor",
        help="Runs played at once. Regret does not depend on it; times are best measured with 1.",
    ),
]


# What the user asked for.


def parsed(where: str, parse: Callable[[str], Any], text: str) -> Any:
    """Return what `parse` makes of a text, or complain about the text."""
    try:
        return parse(text)
    except ValueError as error:
        value = repr(text if len(text) <= 60 else text[:57] + "...")
        named = str(error).startswith(where.strip("-"))
        raise InputError(str(error) if named else f"{where} {value}: {error}") from None


@contextlib.contextmanager
def enough_memory(runs: int) -> Iterator[None]:
    """Turn a lack of memory into a complaint about --runs."""
    try:
        yield
    except MemoryError:
        raise InputError(f"--runs {runs} need more memory than there is; expected fewer") from None


# Tables.


def make_console() -> Console:
    """Return where tables are printed: as wide as need be if that is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def make_table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        # Folded, not cut with an ellipsis, on a terminal that is too narrow.
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    return table


def add_row(table: Table, *cells: str, bold: bool = False) -> None:
    """Add a row of texts as they are: a bracket in them is not markup."""
    from rich.text import Text

    table.add_row(*map(Text, cells), style="bold" if bold else None)


def title_of(settings: dict[str, Any], runs: int) -> str:
    """Return the headline of a comparison from the attributes of its dataset."""
    times = "1 run" if runs == 1 else f"{runs} runs"
    return f"{settings['problem']}: {settings['horizon']} rounds, {times}, seed {settings['seed']}"


def print_summaries(title: str, summaries: list[PolicySummary], runs: int) -> None:
    """Print a comparison, the best policy first."""
    console = make_console()
    show = _number_format(summaries)
    plus_minus = "+/-" if console.options.ascii_only else "\u00b1"

    def with_interval(mean: float, high: float | None) -> str:
        return show(mean) if high is None else f"{show(mean)} {plus_minus} {show(high - mean)}"

    timed = not math.isnan(summaries[0].nanoseconds_per_decision)
    numbers = ("mean regret", "10 %", "90 %", "above best", *(["ns/decision"] if timed else []))
    table = make_table("policy", *numbers, numbers=numbers)
    for row in sorted(summaries, key=lambda row: (row.mean, not row.best)):
        add_row(
            table,
            row.policy,
            with_interval(row.mean, row.mean_high),
            show(row.quantile_10),
            show(row.quantile_90),
            "best" if row.best else with_interval(row.difference, row.difference_high),
            *([f"{row.nanoseconds_per_decision:,.0f}"] if timed else []),
            bold=row.best,
        )
    console.print(title, markup=False, soft_wrap=True)
    console.print(table)
    if runs == 1:
        console.print("One run gives no intervals; use --runs 2 or more.", soft_wrap=True)
    else:
        console.print(f"{plus_minus}: 95 % intervals over runs; 10 % and 90 %: quantiles of the runs.", soft_wrap=True)


def _number_format(summaries: list[PolicySummary]) -> Callable[[float], str]:
    """Return a format with as many decimals as give the smallest mean three digits."""
    largest = max(abs(row.mean) for row in summaries)
    smallest = min((abs(row.mean) for row in summaries if abs(row.mean) > 1e-9 * largest), default=1.0)
    decimals = min(max(2 - math.floor(math.log10(smallest)), 0), 6)
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}"


# Files.


def checked_plot(path: Path, option: str = "--plot") -> Path:
    """Return the path if a figure can be written there."""
    if path.suffix.lower() not in PLOT_FORMATS:
        raise InputError(f"{option} {str(path)!r} ends in {path.suffix!r}; expected {', '.join(PLOT_FORMATS)}")
    return checked_output(option, path)


def checked_output(option: str, path: Path) -> Path:
    """Return the path if a file can be written there, or complain now rather than after the simulation."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{option} {str(path)!r} is not a file; expected the name of a file")
        if not path.parent.is_dir():
            raise InputError(f"{option} {str(path)!r}: there is no folder {str(path.parent)!r}; make it first")
        beside(path).touch()
        beside(path).unlink()
    except OSError as error:
        raise InputError(f"{option} {str(path)!r} cannot be written: {error.strerror or error}") from None
    return path


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield a temporary name whose file takes the place of `path` in the end, and say so."""
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
    typer.echo(f"Wrote {path}")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write an object, atomically."""
    import json

    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows that all have the same keys, atomically."""
    import csv

    with writing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure in the format of its suffix, atomically."""
    with writing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower())
