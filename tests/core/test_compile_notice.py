"""Who waits for the compiler is told why; nobody else hears of it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from rotting._core import compile_notice
from rotting._core.compile_notice import CompileNotice, notice


@pytest.fixture
def somebody(monkeypatch):
    """Let somebody wait, impatiently."""
    monkeypatch.setattr(compile_notice, "somebody_waits", lambda: True)
    monkeypatch.setattr(compile_notice, "PATIENCE", 0.05)


def compile_for(listener, seconds):
    """Pretend to compile a function, and one below it."""
    listener.on_start(None)
    listener.on_start(None)
    time.sleep(seconds)
    listener.on_end(None)
    listener.on_end(None)


def test_it_is_said_once(somebody, capsys):
    listener = CompileNotice("wait a moment")
    compile_for(listener, 0.3)
    compile_for(listener, 0.3)
    assert capsys.readouterr().err == "wait a moment\n"


def test_what_is_quick_is_not_mentioned(somebody, capsys):
    compile_for(CompileNotice("wait a moment"), 0.0)
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_without_a_terminal_nothing_is_said(monkeypatch, capsys):
    monkeypatch.setattr(compile_notice, "PATIENCE", 0.05)
    compile_for(CompileNotice("wait a moment"), 0.3)
    assert capsys.readouterr().err == ""


def test_a_notebook_counts_as_somebody(monkeypatch):
    assert not compile_notice.somebody_waits()
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert compile_notice.somebody_waits()


def test_it_says_how_to_keep_what_is_compiled():
    assert "once" in notice(Path("/home/me"), kept=True)
    lost = notice(Path("/home/me"), kept=False)
    assert "/home/me cannot be written" in lost
    assert "NUMBA_CACHE_DIR" in lost


def test_every_entry_is_listened_to():
    code = (
        "from numba.core import event\nimport rotting.policies._contract.kernel\n"
        "print([type(listener).__name__ for listener in event._registered['numba:compile']])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['CompileNotice']\n"
