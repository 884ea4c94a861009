"""`rotting problems`."""

from __future__ import annotations

import inspect

from rotting.cli.policies import first_line, parameter_text
from rotting.cli.tables import add_row, make_console, make_table


def problems() -> None:
    """List the named problems and their parameters."""
    from rotting.problems import NAMED

    table = make_table("problem", "parameters", "what it is")
    for name, function in NAMED.items():
        shown = ", ".join(map(parameter_text, inspect.signature(function).parameters.values()))
        add_row(table, name, shown, first_line(function))
    make_console().print(table)
