"""Files that commands write, checked before the work begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from rotting._core.files import temporary_name
from rotting.cli.options import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Content = TypeVar("Content")
PLOT_FORMATS = (".png", ".pdf", ".svg")


def checked_plot(path: Path, option: str = "--plot") -> Path:
    """Return the path if a figure can be written there."""
    if path.suffix.lower() not in PLOT_FORMATS:
        raise InputError(f"{option} {str(path)!r} ends in {path.suffix!r}; expected {', '.join(PLOT_FORMATS)}")
    return checked_output(option, path)


def checked_output(option: str, path: Path) -> Path:
    """Return the path if a file can be written there, or refuse it now rather than after the simulation."""
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


def write_json(path: Path, content: object) -> None:
    """Write plain data as JSON, and say so; "-" is standard output, and nothing else is said there."""
    from rotting._output import files

    if str(path) == "-":
        typer.echo(files.to_json(content))
        return
    _write(files.write_json, path, content)


def write_figure(path: Path, figure: Figure) -> None:
    """Write a figure in the format of its suffix, and say so."""
    from rotting._output import files

    _write(files.write_figure, path, figure)


def _write(write: Callable[[Path, Content], None], path: Path, content: Content) -> None:
    try:
        write(path, content)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
    typer.echo(f"Wrote {path}")
