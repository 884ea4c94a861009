"""Tables: on the terminal, and as Markdown or LaTeX for papers."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from rotting.simulation.significance import Difference
    from rotting.simulation.summary import PolicySummary

# In files and pipes, long rows are better than broken ones.
FILE_WIDTH = 1000
_PLUS_MINUS = "\u00b1"
_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after the end of a row a bare one would begin an argument
    _PLUS_MINUS: r"$\pm$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


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


@dataclasses.dataclass
class Sheet:
    """A table with its title and notes, which can be printed in several formats."""

    title: str
    columns: tuple[str, ...]
    numbers: tuple[str, ...]  # the columns that are set flush right
    rows: list[tuple[tuple[str, ...], bool]] = dataclasses.field(default_factory=list)  # cells; whether bold
    notes: list[str] = dataclasses.field(default_factory=list)

    def add(self, *cells: str, bold: bool = False) -> None:
        """Add a row."""
        self.rows.append((cells, bold))

    def print(self, form: str = "text") -> None:
        """Print it as text for a terminal, as Markdown, or as LaTeX (for the package booktabs)."""
        if form == "text":
            self._print_text()
        else:
            typer.echo("\n".join(self._markdown() if form == "markdown" else self._latex()))

    def _print_text(self) -> None:
        console = make_console()
        table = make_table(*self.columns, numbers=self.numbers)
        for cells, bold in self.rows:
            add_row(table, *(_for_terminal(cell, console) for cell in cells), bold=bold)
        if self.title:
            console.print(self.title, markup=False, soft_wrap=True)
        console.print(table)
        for note in self.notes:
            console.print(_for_terminal(note, console), markup=False, soft_wrap=True)

    def _markdown(self) -> list[str]:
        def line(cells: Sequence[str]) -> str:
            return f"| {' | '.join(cells)} |"

        def escaped(text: str, bold: bool = False) -> str:
            text = re.sub(r"([\\|*_`<>\[\]])", r"\\\1", _on_one_line(text))
            return f"**{text}**" if bold and text else text

        rules = ["---:" if column in self.numbers else "---" for column in self.columns]
        rows = [line([escaped(cell, bold) for cell in cells]) for cells, bold in self.rows]
        header = line([escaped(column) for column in self.columns])
        title = [escaped(self.title, bold=True), ""] if self.title else []
        return [*title, header, line(rules), *rows, "", *map(escaped, self.notes), ""]

    def _latex(self) -> list[str]:
        def escaped(text: str, bold: bool = False) -> str:
            text = "".join(_IN_LATEX.get(character, character) for character in _on_one_line(text))
            return rf"\textbf{{{text}}}" if bold and text else text

        def line(cells: Sequence[str], bold: bool = False) -> str:
            return " & ".join(escaped(cell, bold) for cell in cells) + r" \\"

        rules = "".join("r" if column in self.numbers else "l" for column in self.columns)
        comments = [f"% {_on_one_line(text)}" for text in (self.title, *self.notes) if text]
        body = [line(cells, bold) for cells, bold in self.rows]
        begin, end = rf"\begin{{tabular}}{{{rules}}}", r"\end{tabular}"
        return [*comments, begin, r"\toprule", line(self.columns), r"\midrule", *body, r"\bottomrule", end, ""]


def _on_one_line(text: str) -> str:
    """Return a text without line breaks: what follows one is no longer part of a comment, or of a row."""
    return " ".join(text.splitlines())


def _for_terminal(text: str, console: Console) -> str:
    return text.replace(_PLUS_MINUS, "+/-") if console.options.ascii_only else text


def print_summaries(title: str, summaries: list[PolicySummary], runs: int, form: str = "text") -> None:
    """Print a comparison, the best policy first."""
    show = _number_format(summaries)

    def with_interval(mean: float, high: float | None) -> str:
        return show(mean) if high is None else f"{show(mean)} {_PLUS_MINUS} {show(high - mean)}"

    timed = not math.isnan(summaries[0].nanoseconds_per_decision)
    numbers = ("mean regret", "10 %", "90 %", "above best", *(["ns/decision"] if timed else []))
    sheet = Sheet(title, ("policy", *numbers), numbers)
    for row in sorted(summaries, key=lambda row: (row.mean, not row.best)):
        sheet.add(
            row.policy,
            with_interval(row.mean, row.mean_high),
            show(row.quantile_10),
            show(row.quantile_90),
            "best" if row.best else with_interval(row.difference, row.difference_high),
            *([f"{row.nanoseconds_per_decision:,.0f}"] if timed else []),
            bold=row.best,
        )
    if runs == 1:
        sheet.notes.append("One run gives no intervals; use --runs 2 or more.")
    else:
        sheet.notes.append(f"{_PLUS_MINUS}: 95 % intervals over runs; 10 % and 90 %: quantiles of the runs.")
    sheet.print(form)


def print_differences(found: list[Difference], form: str = "text", limit: int | None = None) -> None:
    """Print which differences between policies are more than chance."""
    several = len({row.problem for row in found}) > 1
    numbers = ("difference", "95 % interval", "p", "p (Holm)")
    columns = (*(["problem"] if several else []), "policy", "minus", *numbers, "more than chance")
    sheet = Sheet("Paired differences of final regret", columns, numbers)
    for row in found[:limit]:
        interval = "" if row.low is None or row.high is None else f"{row.low:,.4g} to {row.high:,.4g}"
        sheet.add(
            *([row.problem] if several else []),
            row.policy,
            row.other,
            f"{row.difference:,.4g}",
            interval,
            *("" if p is None else "< 1e-6" if p < 1e-6 else f"{p:.2g}" for p in (row.p, row.adjusted)),
            "yes" if row.is_significant else "no",
        )
    sheet.notes.append(
        f"Paired t tests over runs; p (Holm) is corrected for all {len(found)} comparisons, intervals are not; "
        "more than chance: p (Holm) is at most 0.05."
    )
    if limit is not None and len(found) > limit:
        sheet.notes.append(f"{len(found) - limit} more: --all shows them.")
    sheet.print(form)


def _number_format(summaries: list[PolicySummary]) -> Callable[[float], str]:
    """Return a format with as many decimals as give the smallest mean three digits."""
    largest = max(abs(row.mean) for row in summaries)
    smallest = min((abs(row.mean) for row in summaries if abs(row.mean) > 1e-9 * largest), default=1.0)
    decimals = min(max(2 - math.floor(math.log10(smallest)), 0), 6)
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}"
