"""`rotting policies`."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Annotated

import typer

from rotting.cli.options import InputError
from rotting.cli.tables import add_row, make_console, make_table

if TYPE_CHECKING:
    from rotting.policies import Policy


def policies(
    name: Annotated[str | None, typer.Argument(help="Describe only this policy, in full.", show_default=False)] = None,
) -> None:
    """List the policies and their parameters."""
    from rotting._core.imported import is_loaded
    from rotting.policies import POLICIES, Policy

    every = POLICIES | {name: policy for name, policy in Policy.known.items() if is_loaded(policy)}
    if name is not None:
        typer.echo(_description(_named(name, every)))
        return
    table = make_table("policy", "parameters", "what it does")
    for each in every.values():
        shown = ", ".join(map(parameter_text, dataclasses.fields(each)))
        add_row(table, each.__name__, shown, first_line(each))
    make_console().print(table)


def _named(name: str, every: dict[str, type[Policy]]) -> type[Policy]:
    by_lower_case = {known.lower(): policy for known, policy in every.items()}
    if name.lower() not in by_lower_case:
        raise InputError(f"policy {name!r} does not exist; expected one of {', '.join(every)}")
    return by_lower_case[name.lower()]


def parameter_text(described: dataclasses.Field[object] | inspect.Parameter) -> str:
    """Return `name=default` for a dataclass field or a function's parameter, or the name alone."""
    if described.default is dataclasses.MISSING or described.default is inspect.Parameter.empty:
        return str(described.name)
    return f"{described.name}={described.default!r}"


def first_line(described: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(described) or "").partition("\n")[0]


def _description(policy: type[Policy]) -> str:
    """Return a policy's docstring and what its parameters mean and accept."""
    from rotting._core.parameters import accepted

    fields = dataclasses.fields(policy)
    lines = [inspect.getdoc(policy) or "", *(["", "Parameters", "----------"] if fields else [])]
    for field in fields:
        rules = field.metadata
        lines.append(parameter_text(field))
        lines.append(f"    {rules['doc']}")
        if not rules["raw"]:
            lines.append(f"    expected {accepted(rules)}")
    return "\n".join(lines)
