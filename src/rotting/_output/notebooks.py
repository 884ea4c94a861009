"""What notebooks show of our objects: small pieces of HTML, without styles of their own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

from rotting._output.pages import table


def card(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = (), text: str = ""
) -> str:
    """Return a title, a table and a line below it; everything is escaped here.

    Parameters
    ----------
    numbers
        The columns that hold numbers.
    text
        What stands below the table.

    Examples
    --------
    >>> print(card("A < B", ["arm"], [["red"]]))
    <p><strong>A &lt; B</strong></p>
    <div class="scroll"><table>
    <thead><tr><th>arm</th></tr></thead>
    <tbody>
    <tr><td>red</td></tr>
    </tbody></table></div>
    """
    places = {place for place, name in enumerate(columns) if name in numbers}
    below = f"\n<p>{escape(text)}</p>" if text else ""
    return f"<p><strong>{escape(title)}</strong></p>\n{table(columns, rows, places)}{below}"


def number(value: float | None) -> str:
    """Return a number with four digits, or nothing.

    >>> number(0.123456), number(None)
    ('0.1235', '')
    """
    return "" if value is None else f"{value:.4g}"
