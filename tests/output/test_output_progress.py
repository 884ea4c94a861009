"""The progress bar: on a terminal, elsewhere, and notes that stay."""

import io

import pytest
from rich import console

from rotting._output.progress import progress_bar


@pytest.fixture
def screen(monkeypatch):
    """A terminal that remembers."""
    shown, original = io.StringIO(), console.Console
    monkeypatch.setattr(
        console,
        "Console",
        lambda **named: original(file=shown, force_terminal=True, width=120, **(named | {"stderr": False})),
    )
    return shown


def test_a_bar_on_a_terminal(screen):
    with progress_bar() as bar:
        assert bar.shown
        bar.stage("fitting", steps=4)
        bar.advance()
        bar.describe("drawing")
        bar.note("a note [with] brackets")
    assert "a note [with] brackets" in screen.getvalue()
    assert "drawing" in screen.getvalue()


@pytest.mark.parametrize("wanted", [None, False])
def test_silence_elsewhere_but_for_notes(capsys, wanted):
    with progress_bar(wanted) as bar:
        assert not bar.shown
        bar.stage("fitting", steps=4)
        bar.advance(2)
        bar.describe("drawing")
        bar.note("a note")
    assert capsys.readouterr() == ("", "a note\n")
