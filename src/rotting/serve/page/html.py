"""What pages are made of. Nothing is inline, neither style nor script: the Content-Security-Policy forbids both."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
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


def page(title: str, body: str, *, stream: str | None = None, leave: bool = False) -> bytes:
    """Return a whole page. `stream` is where it hears of changes; `leave` adds a button that forgets the key."""
    live = "" if stream is None else f' data-stream="{escape(stream)}"'
    out = '<form method="post" action="/logout"><button class="quiet">Log out</button></form>' if leave else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n"
        '<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/static/style.css">\n'
        '<script src="/static/live.js" defer></script>\n</head>\n'
        f'<body>\n<header><nav aria-label="Main"><a href="/">Bandits</a> <a href="/reference">Reference</a></nav>{out}'
        f'</header>\n<main id="main"{live}>\n{body}\n</main>\n</body>\n</html>\n'
    ).encode()


def table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]], numbers: Collection[int] = ()
) -> Html:
    """Return a table whose first cells name their rows; cells may be `Html`. It scrolls where it is too wide."""

    def cell(place: int, content: object) -> str:
        kind = ' class="number"' if place in numbers else ""
        tag = 'th scope="row"' if place == 0 else "td"
        return f"<{tag}{kind}>{text(content)}</{tag[:2]}>"

    heads = "".join(
        f'<th scope="col"{" class=number" if place in numbers else ""}>{text(column)}</th>'
        for place, column in enumerate(columns)
    )
    body = "\n".join(f"<tr>{''.join(cell(place, each) for place, each in enumerate(row))}</tr>" for row in rows)
    return Html(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>\n'
        f'<caption class="hidden">{escape(caption)}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n'
        "</tbody></table></div>"
    )


def details(identifier: str, summary: str, inside: str) -> Html:
    """Return something that is folded away until somebody wants it."""
    return Html(f'<details id="{identifier}"><summary>{text(summary)}</summary>{inside}</details>')


def link(where: str, content: object) -> Html:
    """Return a link."""
    return Html(f'<a href="{escape(where)}">{text(content)}</a>')


def bandit_path(name: str, rest: str = "") -> str:
    """Return the address of a bandit's page.

    >>> bandit_path("a/b", "/stream")
    '/bandits/a%2Fb/stream'
    """
    return f"/bandits/{quote(name, safe='')}{rest}"


def style() -> bytes:
    """Return the style of all pages: that of the package's reports, and what only these pages have."""
    return (STYLE + _read("style.css")).encode()


def script() -> bytes:
    """Return the one script."""
    return _read("live.js").encode()


def _read(name: str) -> str:
    from importlib.resources import files

    return (files("rotting.serve.page") / name).read_text(encoding="utf-8")
