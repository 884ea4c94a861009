"""The command line: parses, calls the library, prints.

Whatever is slow to import (the compiler, xarray, matplotlib) is imported inside the commands, so that `rotting --help`
answers at once.

| module | what |
|---|---|
| `bandit` | `rotting bandit decide`, `reward`, `arms`, `report`, `verify`, `export` |
| `bandit_settings` | `rotting bandit init` and `change`: the settings of a bandit, as options |
| `bandit_upkeep` | `rotting bandit history`, `compact`, `delete`, `segments`: a bandit's life after the first day |
| `compare` | `rotting compare` |
| `design` | `rotting design` |
| `diagnose` | `rotting diagnose` |
| `evaluate` | `rotting evaluate` |
| `options` | what commands ask the user for: shared options, and errors about what was given |
| `output` | files that commands write, checked before the work begins |
| `paper` | `rotting paper` |
| `policies` | `rotting policies` |
| `problems` | `rotting problems` |
| `results` | `rotting results` |
| `serve` | `rotting serve URL`, and `rotting serve keys` |
| `sweep` | `rotting sweep` |
| `tables` | tables on the terminal, and as Markdown or LaTeX for papers |
| `tune` | `rotting tune` |
| `warm_up` | `rotting warm-up` |
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from rotting import __version__
from rotting.cli import (
    bandit,
    bandit_settings,
    bandit_upkeep,
    compare,
    design,
    diagnose,
    evaluate,
    paper,
    policies,
    problems,
    results,
    serve,
    sweep,
    tune,
    warm_up,
)
from rotting.cli.options import with_imports
from rotting.errors import Option, RottingError

BAD_INPUT, INTERRUPTED = 2, 130

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Bandits for things that wear out as you show them.",
)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 if all went well, 2 after bad input, 130 after Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warned  # type: ignore[assignment]
            code = typer.main.get_command(app)(given or ["--help"], prog_name="rotting", standalone_mode=False)
    except RottingError as error:
        code = _refuse(error.text(_options_of(given)))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        # Typer's own errors have this method, whichever click they come from. All else is a bug: show its traceback.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        hint = f"; see {context.command_path} --help" if context else ""
        code = _refuse(error.format_message().rstrip(".") + hint)
    if code == INTERRUPTED:
        print("Interrupted.", file=sys.stderr)
    sys.exit(code or 0)


def _options_of(given: Sequence[str]) -> Option:
    """Return how the command that was given calls the library's arguments: `--drop-duplicates` for drop_duplicates."""
    command = typer.main.get_command(app)
    for word in given:
        command = getattr(command, "commands", {}).get(word, command)
    command = getattr(command, "commands", {}).get(getattr(command, "default_command", None), command)
    options = {param.name: max(param.opts, key=len) for param in command.params if param.param_type_name == "option"}
    return options.get


def _refuse(message: str) -> int:
    print("Error:", " ".join(message.split()), file=sys.stderr)
    return BAD_INPUT


def _warned(message: Warning | str, category: type[Warning], filename: str, lineno: int, *more: Any) -> None:
    """Print a warning of ours as one line; others as Python does."""
    if category.__module__.partition(".")[0] == "rotting":
        print(f"Warning: {message}", file=sys.stderr)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rotting {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Hold the options that come before a command."""


for command in (
    policies.policies,
    problems.problems,
    compare.compare,
    sweep.sweep,
    results.results,
    tune.tune,
    diagnose.diagnose,
    evaluate.evaluate,
    design.design,
    paper.paper,
    warm_up.warm_up,
):
    app.command()(command)
for upkeep in (
    bandit_settings.init,
    bandit_settings.change,
    bandit_upkeep.history,
    bandit_upkeep.compact,
    bandit_upkeep.delete,
    bandit_upkeep.segments,
):
    bandit.app.command()(upkeep)
app.add_typer(bandit.app, name="bandit")
app.add_typer(serve.app, name="serve")


def _let_all_import(group: typer.Typer) -> None:
    """Give --import to every command, those of groups included."""
    for command in group.registered_commands:
        assert command.callback is not None
        command.callback = with_imports(command.callback)
    for below in group.registered_groups:
        assert below.typer_instance is not None
        _let_all_import(below.typer_instance)


_let_all_import(app)
