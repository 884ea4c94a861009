"""Small programs of tests, run here or in a process of their own."""

import contextlib
import io
import os
import subprocess
import sys
import warnings


def printed_here(code: str) -> str:
    """Run Python code in this process and return what it prints; what it does with warnings ends with it."""
    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(said):
        exec(code, {"__name__": "__main__"})
    return said.getvalue()


def printed_elsewhere(code: str, *arguments: str, **environment: object) -> str:
    """Run Python code in a new process and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
