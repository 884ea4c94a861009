"""`rotting tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rotting.cli.options import MAX_COUNT, Device, Form, InputError, Runs, Seed, Threads, parsed, whole_option
from rotting.cli.tables import print_sheet

if TYPE_CHECKING:
    pass


def tune(
    policy: Annotated[str, typer.Argument(help='Such as FEWA or "FEWA(sigma=0.5)".', show_default=False)],
    problem: Annotated[list[str], typer.Option(help="What to tune on; may be given several times.")],
    grid: Annotated[
        list[str] | None,
        typer.Option(help='Values to try, such as "alpha=0.03,0.06,0.1"; may be given several times.'),
    ] = None,
    runs: Runs = 200,
    horizon: Annotated[
        int | None,
        typer.Option(
            **whole_option("--horizon", 1, MAX_COUNT), show_default="each problem's own", help="Rounds per run."
        ),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    device: Device = "cpu",
    form: Form = "text",
) -> None:
    """Find good parameters for a policy: the better half of the candidates plays on, until few are left."""
    from rotting.policies import parse_policy
    from rotting.problems import parse_problem
    from rotting.simulation.fit import check_fit
    from rotting.sweeps.tuning import default_grid, expand, tuning_sheet
    from rotting.sweeps.tuning import tune as search

    start = parsed("policy", parse_policy, policy)
    played = [parsed("--problem", parse_problem, text) for text in problem]
    values = _grid(grid) if grid else default_grid(start)
    for candidate in expand(start, values):
        for each in played:
            check_fit(candidate, each, horizon)
    found = search(start, played, values, runs, seed, horizon, threads, device=device)
    print_sheet(tuning_sheet(found), form)


def _grid(texts: list[str]) -> dict[str, list[object]]:
    """Return the values to try, by parameter; each parameter may be given once."""
    values: dict[str, list[object]] = {}
    for text in texts:
        name, tried = _grid_values(text)
        if name in values:
            raise InputError(f"--grid {text!r}: {name} is given twice; expected all its values in one --grid")
        values[name] = tried
    return values


def _grid_values(text: str) -> tuple[str, list[object]]:
    """Return the name and the values of "alpha=0.03,0.06"."""
    import ast

    name, _, values = text.partition("=")
    expected = "expected a parameter and its values, such as alpha=0.03,0.06,0.1"
    if not name.strip().isidentifier() or not values.strip():
        raise InputError(f"--grid {text!r}: {expected}")
    try:
        return name.strip(), ast.literal_eval(f"[{values}]")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise InputError(f"--grid {text!r}: {values!r} cannot be read as values; {expected}") from None
