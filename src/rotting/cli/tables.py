"""Tables on the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rotting.simulation.summary import PolicySummary

# In files and pipes, long rows are better than broken ones.
FILE_WIDTH = 1000


def make_console() -> Console:
    """Return where tables are printed: as wide as need be if that is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=FILE_WIDTH)


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
