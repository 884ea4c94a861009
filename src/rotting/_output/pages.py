"""HTML pages that need nothing but themselves: no network, no scripts, readable on a phone and on paper."""

from __future__ import annotations

import base64
import io
from collections.abc import Collection, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Figures keep a white background in dark mode: their colours were chosen for it.
STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --soft: #5c5c5c; --page: #fff; --line: #ddd; --tint: #f4f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --soft: #a8a8a8; --page: #16181b; --line: #3a3d42; --tint: #202429; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 60rem; color: var(--ink); background: var(--page);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 0.5rem; }
p, ul, ol { max-width: 44rem; }
.lead { font-size: 1.2rem; line-height: 1.45; border-left: 4px solid #0072B2; padding-left: 1rem; margin: 1.2rem 0; }
.soft, figcaption { color: var(--soft); font-size: 0.9rem; }
figure { margin: 1.2rem 0; }
figure img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
/* On a phone a wide figure scrolls sideways: shrunk to fit, it could not be read. */
@media (max-width: 40rem) { figure { overflow-x: auto; } figure img { max-width: none; width: 46rem; } }
figcaption { margin-top: 0.4rem; max-width: 44rem; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.3rem 0.9rem 0.3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; white-space: nowrap; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
pre { background: var(--tint); padding: 0.8rem; overflow-x: auto; border-radius: 4px; font-size: 0.85rem; }
a { color: inherit; }
"""


def page(title: str, body: str) -> str:
    """Return a whole HTML document in the style of the package.

    Parameters
    ----------
    title
        What the browser's tab says; escaped here.
    body
        HTML that is already safe, made with the helpers below or with `html.escape`.

    Examples
    --------
    >>> page("A < B", "<p>Hello</p>").splitlines()[5]
    '<title>A &lt; B</title>'
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n"
        # Without an icon of its own a page makes browsers request one.
        f'<link rel="icon" href="data:,">\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n'
    )


def figure(figure: Figure, alt: str, caption: str = "") -> str:
    """Return a matplotlib figure as a picture inside the page.

    Parameters
    ----------
    figure
        What to show.
    alt
        What it shows, for those who cannot see it.
    caption
        What stands below it.
    """
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return picture(file.getvalue(), alt, caption)


def picture(png: bytes, alt: str, caption: str = "") -> str:
    """Return a picture inside the page, as `figure` does."""
    source = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
    below = f"\n<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure>\n<img src="{source}" alt="{escape(alt)}">{below}\n</figure>'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """Return a table that scrolls by itself where it is wider than the page.

    Parameters
    ----------
    columns
        The heads.
    rows
        The cells, as texts.
    numbers
        Which columns hold numbers, counted from 0: these stand to the right.

    Examples
    --------
    >>> print(table(["arm", "clicks"], [["<a>", "12"]], numbers={1}))
    <div class="scroll"><table>
    <thead><tr><th>arm</th><th class="number">clicks</th></tr></thead>
    <tbody>
    <tr><td>&lt;a&gt;</td><td class="number">12</td></tr>
    </tbody></table></div>
    """

    def row(cells: Sequence[str], tag: str) -> str:
        kinds = [' class="number"' if index in numbers else "" for index in range(len(cells))]
        inside = (f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(inside)}</tr>"

    body = "\n".join(row(cells, "td") for cells in rows)
    head = row(columns, "th")
    return f'<div class="scroll"><table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table></div>'
