"""What commands ask the user for: shared options, and complaints about what was given."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from rotting.errors import RottingError

# Nobody can mean more, and NumPy could not even be asked for the room.
MOST, MOST_THREADS = 10**9, 1024


class InputError(RottingError):
    """What the user can put right: shown as one line, never as a traceback."""


def whole_option(option: str, minimum: int, maximum: int | None = None) -> Any:
    """Return a whole-number option. Typer's own would not name the value that it refuses."""
    expected = f"a whole number >= {minimum}" + ("" if maximum is None else f" and <= {maximum}")

    def parse(text: str) -> int:
        with contextlib.suppress(ValueError):
            number = int(text)
            if number >= minimum and (maximum is None or number <= maximum):
                return number
        raise InputError(f"{option} {text!r}: expected {expected}")

    return {"parser": parse, "metavar": "N"}


Runs = Annotated[int, typer.Option(**whole_option("--runs", 1, MOST), help="Independent runs of each policy.")]
Seed = Annotated[int, typer.Option(**whole_option("--seed", 0), help="Same seed, same regret.")]
Threads = Annotated[
    int | None,
    typer.Option(
        **whole_option("--threads", 1, MOST_THREADS),
        show_default="one per processor",
        help="Runs played at once. Regret does not depend on it; times are best measured with 1.",
    ),
]


def parsed(where: str, parse: Callable[[str], Any], text: str) -> Any:
    """Return what `parse` makes of a text, or complain about the text."""
    try:
        return parse(text)
    except ValueError as error:
        value = repr(text if len(text) <= 60 else text[:57] + "...")
        named = str(error).startswith(where.strip("-"))
        raise InputError(str(error) if named else f"{where} {value}: {error}") from None


@contextlib.contextmanager
def enough_memory(runs: int) -> Iterator[None]:
    """Turn a lack of memory into a complaint about --runs."""
    try:
        yield
    except MemoryError:
        raise InputError(f"--runs {runs} need more memory than there is; expected fewer") from None
