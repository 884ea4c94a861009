"""What pages are made of. Nothing is inline, neither style nor script: the Content-Security-Policy forbids both."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from urllib.parse import quote

from rotting._output.pages import STYLE


class Html(str):
    """Text that is HTML already. All other text is escaped where it enters a page."""

    __slots__ = ()


def text(content: object) -> str:
    """Return something as HTML: escaped, unless it is HTML.

    >>> text("a < b"), text(Html("<b>"))
    ('a &lt; b', '<b>')
    """
    return content if isinstance(content, Html) else escape(str(content))


def page(title: str, body: str, *, live: bool = False, leave: bool = False) -> bytes:
    """Return a whole page. `live`: it is kept up to date; `leave` adds a button that forgets the key."""
    out = '<form method="post" action="/logout"><button class="quiet">Log out</button></form>' if leave else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n"
        '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/static/style.css">\n'
        '<script src="/static/live.js" defer></script>\n</head>\n'
        f'<body>\n<header><nav aria-label="Main"><a href="/">Bandits</a> <a href="/reference">Reference</a></nav>{out}'
        f'</header>\n<main id="main"{" data-live" * live}>\n{body}\n</main>\n</body>\n</html>\n'
    ).encode()


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]], numbers: str = "") -> Html:
    """Return a table whose first cells name their rows; cells may be `Html`. It scrolls where it is too wide.

    `numbers` has a letter for each column, n where it holds numbers.
    """
    kinds = [' class="number"' if letter == "n" else "" for letter in numbers.ljust(len(columns))]
    heads = "".join(f'<th scope="col"{kind}>{text(name)}</th>' for name, kind in zip(columns, kinds, strict=True))
    body = ""
    for first, *others in rows:
        rest = zip(columns[1:], kinds[1:], others, strict=True)
        cells = "".join(f'<td data-label="{escape(name)}"{kind}>{text(cell)}</td>' for name, kind, cell in rest)
        body += f'<tr><th scope="row"{kinds[0]}>{text(first)}</th>{cells}</tr>\n'
    return Html(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>\n'
        f'<caption class="hidden">{escape(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}'
        "</tbody></table></div>"
    )


def details(identifier: str, inside: str) -> str:
    """Return a table that is folded away until somebody wants it."""
    return f'<details id="{identifier}"><summary>The same as a table</summary>{inside}</details>'


def link(where: str, content: object) -> Html:
    """Return a link."""
    return Html(f'<a href="{escape(where)}">{text(content)}</a>')


def bandit_path(name: str, rest: str = "") -> str:
    """Return the address of a bandit's page.

    >>> bandit_path("a/b", "/arms")
    '/bandits/a%2Fb/arms'
    """
    return f"/bandits/{quote(name, safe='')}{rest}"


@cache
def static(name: str) -> bytes:
    """Return the style of all pages, that of the package's reports and what only these have, or their script."""
    content = (files("rotting.serve.page") / name).read_text(encoding="utf-8")
    return (STYLE + content if name == "style.css" else content).encode()
