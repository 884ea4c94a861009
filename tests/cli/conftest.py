from typing import NamedTuple

import pytest

from rotting import cli


class Outcome(NamedTuple):
    """What a command leaves: its exit code, its output and its complaints."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    """Return a function that runs a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            cli.main(arguments)
        return Outcome(stopped.value.code or 0, *capsys.readouterr())

    return run
