"""Tables on the terminal, and as Markdown or LaTeX for papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rotting._output.sheets import Sheet
    from rotting.simulation.significance import Difference

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


def print_sheet(sheet: Sheet, form: str = "text") -> None:
    """Print a table with its title and notes, for a terminal or in the form of a paper."""
    if form != "text":
        typer.echo(sheet.written(form) + "\n")
        return
    console = make_console()
    table = make_table(*sheet.columns, numbers=sheet.numbers)
    for cells, bold in sheet.rows:
        add_row(table, *(_for_terminal(cell, console) for cell in cells), bold=bold)
    if sheet.title:
        console.print(sheet.title, markup=False, soft_wrap=True)
    console.print(table)
    for note in sheet.notes:
        console.print(_for_terminal(note, console), markup=False, soft_wrap=True)


def _for_terminal(text: str, console: Console) -> str:
    from rotting._output.sheets import PLUS_MINUS

    return text.replace(PLUS_MINUS, "+/-") if console.options.ascii_only else text


def print_differences(found: list[Difference], form: str = "text", limit: int | None = None) -> None:
    """Print which differences between policies are more than chance."""
    from rotting.simulation.tables import differences_sheet

    sheet = differences_sheet(found, limit)
    if limit is not None and len(found) > limit:
        sheet.notes.append(f"{len(found) - limit} more: --all shows them.")
    print_sheet(sheet, form)
