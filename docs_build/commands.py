"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer


def every_command() -> str:
    """Return a section for each command, in Markdown."""
    from rotting.cli import app

    root = typer.main.get_command(app)
    return "".join(_section(path, command) for path, command in _commands("rotting", root))


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Give every command that does something, with its full name."""
    inside = getattr(command, "commands", None)
    if not inside:
        yield path, command
    for name, child in (inside or {}).items():
        if not child.hidden:
            yield from _commands(f"{path} {name}", child)


def _section(path: str, command: Any) -> str:
    given = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option" and not param.hidden]
    usage = " ".join([path, *((param.metavar or param.name).upper() for param in given), "[OPTIONS]"])
    help_text = " ".join((command.help or "").replace("\b", " ").split())
    rows = [_row(param, (param.metavar or param.name).upper()) for param in given]
    rows += [_row(param, ", ".join([*param.opts, *param.secondary_opts])) for param in options]
    table = "| argument or option | what it does |\n|---|---|\n" + "".join(rows) if rows else ""
    return f"\n## {path}\n\n{help_text}\n\n```text\n{usage}\n```\n\n{table}"


def _row(param: Any, names: str) -> str:
    text = " ".join((getattr(param, "help", None) or "").split()).replace("|", "\\|").replace("<", "&lt;")
    default = param.default if not callable(param.default) else None
    if param.param_type_name == "option" and default not in (None, False, True, (), []):
        text += f" (default: `{default}`)"
    return f"| `{names}` | {text} |\n"
