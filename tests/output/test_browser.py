"""The browser notices what it is there to notice: a check that cannot fail would be worthless."""

import pytest

from browser import open_page
from rotting._output import pages, style


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a page and returns its path."""

    def written(html):
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        return path

    return written


def test_a_good_page(written):
    wide = pages.table([f"column {place}" for place in range(30)], [["a long cell"] * 30])
    body = f"<h1>Hello</h1>{pages.figure(style.new_figure(9, 4), 'nothing')}{wide}<pre>{'x' * 200}</pre>"
    opinion = open_page(written(pages.page("good", body)))
    assert opinion[:4] == ([], [], [], False)
    assert "Hello" in opinion.text


def test_faults_are_noticed(written):
    body = (
        '<script>console.error("a complaint"); undefinedFunction()</script>'
        '<img src="data:image/png;base64,AAAA" alt="a broken picture">'
        '<img src="missing.png" alt="a missing picture"><div style="width: 900px">wide</div>'
    )
    opinion = open_page(written(pages.page("bad", body)))
    said = " ".join(opinion.complaints)
    assert "a complaint" in said
    assert "undefinedFunction" in said
    assert opinion.broken_images == ["a broken picture", "a missing picture"]
    assert any(address.endswith("missing.png") for address in opinion.requests)
    assert opinion.scrolls_sideways
