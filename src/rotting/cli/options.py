"""What commands ask the user for: shared options, and errors about what was given."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, TypedDict, TypeVar

import typer

from rotting.errors import NOT_GIVEN, ParseError, RottingError, shown

# Larger counts are mistakes; NumPy would fail on their arrays with an error of its own.
MAX_COUNT, MAX_THREADS = 10**9, 1024
Parsed = TypeVar("Parsed")


class InputError(RottingError):
    """What the user can put right: shown as one line, never as a traceback."""


class OptionSettings(TypedDict):
    """What `typer.Option` takes besides help and defaults."""

    parser: Callable[[str], int]
    metavar: str


def whole_option(option: str, minimum: int, maximum: int | None = None) -> OptionSettings:
    """Return the settings of a whole-number option.

    Typer's own would not name the value that it refuses; `rotting._core.validation` would import NumPy, for which
    `rotting --help` must not wait.
    """
    expected = f"a whole number >= {minimum}" + ("" if maximum is None else f" and <= {maximum}")

    def parse(text: str) -> int:
        with contextlib.suppress(ValueError):
            number = int(text)
            if number >= minimum and (maximum is None or number <= maximum):
                return number
        raise InputError(f"{option} {text!r}: expected {expected}")

    return {"parser": parse, "metavar": "N"}


Runs = Annotated[int, typer.Option(**whole_option("--runs", 1, MAX_COUNT), help="Independent runs of each policy.")]
Seed = Annotated[int, typer.Option(**whole_option("--seed", 0), help="The same seed gives the same result.")]
Threads = Annotated[
    int | None,
    typer.Option(
        **whole_option("--threads", 1, MAX_THREADS),
        show_default="one per processor",
        help="Runs played at once. Regret does not depend on it; times are best measured with 1.",
    ),
]


def _device(text: str) -> str:
    if text not in ("cpu", "cuda"):
        raise InputError(f"--device {text!r}: expected 'cpu' or 'cuda'")
    return text


Device = Annotated[
    str, typer.Option(parser=_device, metavar="NAME", help="Where runs are played: cpu, or cuda for an NVIDIA GPU.")
]


def _form(text: str) -> str:
    if text not in ("text", "markdown", "latex"):
        raise InputError(f"--format {text!r}: expected 'text', 'markdown' or 'latex'")
    return text


Form = Annotated[
    str,
    typer.Option("--format", parser=_form, metavar="NAME", help="How tables are written: text, markdown or latex."),
]
Significance = Annotated[
    bool, typer.Option("--significance", help="Say which differences between policies are more than chance.")
]
Baseline = Annotated[
    str | None,
    typer.Option(help="Compare the others with this policy only, instead of all pairs.", metavar="POLICY"),
]


def with_imports(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with one option more, --import, for classes of the user's own."""
    option = Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="A Python file or module with policies, dynamics, curves or noise of your own; may be repeated.",
        ),
    ]

    @functools.wraps(command)
    def run(*arguments: object, imports: list[str] | None = None, **named: object) -> None:
        if imports:
            import rotting.policies
            import rotting.problems  # noqa: F401 (all names of the package, before anything could take them)
            from rotting._core.imported import load

            for each in imports:
                load(each)
        command(*arguments, **named)

    return with_options(run, command, {"imports": option})


def with_options(
    run: Callable[..., None], command: Callable[..., None], added: dict[str, object], replaced: str = ""
) -> Callable[..., None]:
    """Return `run` with the options of a command and more, which it takes by name and which need not be given.

    They take the place of the command's parameter `replaced`.
    """
    own = inspect.signature(command, eval_str=True)
    kept = [
        each
        for each in own.parameters.values()
        if each.kind is not inspect.Parameter.VAR_KEYWORD and each.name != replaced
    ]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in added.items()
    ]
    run.__signature__ = own.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
    run.__annotations__ = {name: own for name, own in command.__annotations__.items() if name != replaced} | added
    return run


def parsed(where: str, parse: Callable[[str], Parsed], text: str) -> Parsed:
    """Return what `parse` makes of a text.

    An error about a parameter of what the text names also says which text that was; one about the whole text does so
    already.
    """
    try:
        return parse(text)
    except ParseError as error:
        about_the_text = error.owner is None and error.name is None and error.value is not NOT_GIVEN
        raise error if about_the_text else error.within(f"{where} {shown(text)}") from None


@contextlib.contextmanager
def enough_memory(runs: int) -> Iterator[None]:
    """Blame a lack of memory on --runs."""
    try:
        yield
    except MemoryError:
        raise InputError(f"--runs {runs} need more memory than there is; expected fewer") from None
