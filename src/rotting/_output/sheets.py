"""Tables with a title and notes: as text, as Markdown or LaTeX for papers, and as notebooks show them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from rotting._output.notebooks import card
from rotting.errors import BadValue

FORMS = ("text", "markdown", "latex")
PLUS_MINUS = "\u00b1"
_IN_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after the end of a row a bare one would begin an argument
    PLUS_MINUS: r"$\pm$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


@dataclasses.dataclass
class Sheet:
    r"""A table with its title and notes, which can be written in several forms.

    Examples
    --------
    >>> sheet = Sheet("Regret", ("policy", "mean"), ("mean",))
    >>> sheet.add("FEWA", "9.0", bold=True)
    >>> sheet.add("UCB1", "48.8")
    >>> print(sheet.written("text"))
    Regret
    policy  mean
    FEWA     9.0
    UCB1    48.8
    >>> print(sheet.written("latex"))
    % Regret
    \begin{tabular}{lr}
    \toprule
    policy & mean \\
    \midrule
    \textbf{FEWA} & \textbf{9.0} \\
    UCB1 & 48.8 \\
    \bottomrule
    \end{tabular}
    """

    title: str
    columns: tuple[str, ...]
    numbers: tuple[str, ...]  # the columns that are set flush right
    rows: list[tuple[tuple[str, ...], bool]] = dataclasses.field(default_factory=list)  # cells; whether bold
    notes: list[str] = dataclasses.field(default_factory=list)

    def add(self, *cells: str, bold: bool = False) -> None:
        """Add a row."""
        self.rows.append((cells, bold))

    def written(self, form: str) -> str:
        """Return it as plain text, as Markdown, or as LaTeX (for the package booktabs)."""
        if form not in FORMS:
            raise BadValue("is not a form of a table", name="form", value=form, expected=f"one of {', '.join(FORMS)}")
        lines = {"text": self._text, "markdown": self._markdown, "latex": self._latex}[form]()
        return "\n".join(lines)

    def html(self) -> str:
        """Return what a notebook shows."""
        return card(self.title, self.columns, [cells for cells, _ in self.rows], self.numbers, " ".join(self.notes))

    def _text(self) -> list[str]:
        cells = [self.columns, *(cells for cells, _ in self.rows)]
        cells = [tuple(map(_on_one_line, row)) for row in cells]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]

        def line(row: Sequence[str]) -> str:
            placed = zip(self.columns, row, widths, strict=True)
            fitted = (cell.rjust(width) if name in self.numbers else cell.ljust(width) for name, cell, width in placed)
            return "  ".join(fitted).rstrip()

        return [*([self.title] if self.title else []), *map(line, cells), *self.notes]

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
        notes = ["", *map(escaped, self.notes)] if self.notes else []
        return [*title, header, line(rules), *rows, *notes]

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
        return [*comments, begin, r"\toprule", line(self.columns), r"\midrule", *body, r"\bottomrule", end]


def _on_one_line(text: str) -> str:
    """Return a text without line breaks: what follows one is no longer part of a comment, or of a row."""
    return " ".join(text.splitlines())
