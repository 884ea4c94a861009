"""Files that commands write, checked before the work begins."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rotting._core.files import replacing, temporary_name
from rotting.cli.options import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLOT_FORMATS = (".png", ".pdf", ".svg")


def checked_plot(path: Path, option: str = "--plot") -> Path:
    """Return the path if a figure can be written there."""
    if path.suffix.lower() not in PLOT_FORMATS:
        raise InputError(f"{option} {str(path)!r} ends in {path.suffix!r}; expected {', '.join(PLOT_FORMATS)}")
    return checked_output(option, path)


def checked_output(option: str, path: Path) -> Path:
    """Return the path if a file can be written there, or complain now rather than after the simulation."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{option} {str(path)!r} is not a file; expected the name of a file")
        if not path.parent.is_dir():
            raise InputError(f"{option} {str(path)!r}: there is no folder {str(path.parent)!r}; make it first")
        trial = temporary_name(path)
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise InputError(f"{option} {str(path)!r} cannot be written: {error.strerror or error}") from None
    return path


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield a temporary name whose file takes the place of `path` in the end, and say so."""
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
    typer.echo(f"Wrote {path}")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write an object, atomically."""
    import json

    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure in the format of its suffix, atomically."""
    with writing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower())
