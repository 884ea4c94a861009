"""Pages escape what they are given and carry their pictures with them."""

import re

import pytest

from rotting._output import pages, style

NASTY = "<script>alert(\"x\")</script> & 'y'"


def test_everything_given_as_text_is_escaped():
    figure = style.new_figure(2, 2)
    for text in (
        pages.page(NASTY, ""),
        pages.figure(figure, NASTY, NASTY),
        pages.table([NASTY], [[NASTY]]),
    ):
        assert "<script" not in text
        assert 'alert("' not in text
        assert "&lt;script&gt;" in text


def test_a_page_asks_nobody_for_anything():
    text = pages.page("title", pages.figure(style.new_figure(2, 2), "nothing"))
    sources = re.findall(r'(?:src|href)="([^"]{0,40})', text)
    assert len(sources) == 2
    assert all(source.startswith("data:") for source in sources)
    assert "url(" not in text


def test_a_row_of_another_length_is_still_a_row():
    assert pages.table(["a", "b"], [], numbers={1}).count("<tr>") == 1
    assert pages.table(["a"], [["1"], ["2"]], numbers={0}).count('class="number"') == 3


@pytest.mark.parametrize("caption", ["", "below"])
def test_a_caption_only_where_there_is_one(caption):
    assert ("<figcaption>" in pages.figure(style.new_figure(2, 2), "alt", caption)) == bool(caption)
