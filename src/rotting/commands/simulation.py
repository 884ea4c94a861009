"""`rotting policies`, `rotting problems`, `rotting compare`."""

from __future__ import annotations

import dataclasses
import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rotting.terminal import (
    MOST,
    InputError,
    Runs,
    Seed,
    Threads,
    add_row,
    checked_output,
    checked_plot,
    enough_memory,
    make_console,
    make_table,
    parsed,
    print_summaries,
    title_of,
    whole_option,
    write_figure,
    write_json,
)

if TYPE_CHECKING:
    from rotting.policies import Policy
    from rotting.problems import Problem

Horizon = Annotated[
    int | None,
    typer.Option(**whole_option("--horizon", 1, MOST), show_default="the problem's own", help="Rounds per run."),
]


def policies(
    name: Annotated[str | None, typer.Argument(help="Describe only this policy, in full.", show_default=False)] = None,
) -> None:
    """List the policies and their parameters."""
    from rotting import policies as room

    every = [getattr(room, exported) for exported in room.__all__]
    shipped = {each.__name__: each for each in every if issubclass(each, room.Policy) and each is not room.Policy}
    if name is not None:
        typer.echo(_description(_named(name, shipped)))
        return
    table = make_table("policy", "parameters", "what it does")
    for each in shipped.values():
        shown = ", ".join(map(_parameter, dataclasses.fields(each)))
        add_row(table, each.__name__, shown, _first_line(each))
    make_console().print(table)


def problems() -> None:
    """List the named problems and their parameters."""
    from rotting.problems import NAMED

    table = make_table("problem", "parameters", "what it is")
    for name, function in NAMED.items():
        shown = ", ".join(map(_parameter, inspect.signature(function).parameters.values()))
        add_row(table, name, shown, _first_line(function))
    make_console().print(table)


def compare(
    policies: Annotated[
        list[str], typer.Argument(help='Such as "FEWA(alpha=0.06)"; see: rotting policies.', show_default=False)
    ],
    problem: Annotated[str, typer.Option(help="What to play on; see: rotting problems.")] = "ten_arm()",
    runs: Runs = 100,
    horizon: Horizon = None,
    seed: Seed = 0,
    threads: Threads = None,
    plot: Annotated[Path | None, typer.Option(help="Draw regret over time into this .png, .pdf or .svg file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the settings and the results into this file.")] = None,
) -> None:
    """Compare policies on a problem: their regret, and their time per decision.

    Every policy meets the same noise in the same run, so the difference to the best is known better than each mean.
    """
    plot = None if plot is None else checked_plot(plot)
    json = None if json is None else checked_output("--json", json)
    if plot is not None and json is not None and os.path.realpath(plot) == os.path.realpath(json):
        raise InputError(f"--plot and --json are the same file {str(plot)!r}; expected two")
    from rotting.parsing import parse_policy, parse_problem
    from rotting.simulation import simulate
    from rotting.simulation.summary import summarise

    contestants = [parsed("policy", parse_policy, text) for text in policies]
    ground = parsed("--problem", parse_problem, problem)
    _check_fit(contestants, ground, horizon)
    with enough_memory(runs):
        dataset = simulate(contestants, ground, horizon, runs=runs, seed=seed, threads=threads)
    summaries = summarise(dataset)
    print_summaries(title_of(dataset.attrs, runs), summaries, runs)
    if json is not None:
        rows = [dataclasses.asdict(row) for row in summaries]
        write_json(json, {"settings": {**dataset.attrs, "runs": runs}, "policies": rows})
    if plot is not None:
        from rotting.plots import regret_figure

        write_figure(plot, regret_figure(dataset))


# What the user asked for.


def _named(name: str, shipped: dict[str, type[Policy]]) -> type[Policy]:
    by_lower_case = {known.lower(): policy for known, policy in shipped.items()}
    if name.lower() not in by_lower_case:
        raise InputError(f"policy {name!r} does not exist; expected one of {', '.join(shipped)}")
    return by_lower_case[name.lower()]


def _check_fit(contestants: list[Policy], ground: Problem, horizon: int | None) -> None:
    """Complain about policies that cannot play this problem, before any time is spent on it."""
    rounds = ground.horizon if horizon is None else horizon
    if isinstance(rounds, bool) or not isinstance(rounds, int):
        raise InputError(f"--problem {ground.name}: horizon={rounds!r}; expected a whole number >= 1")
    for policy in contestants:
        try:
            policy.informed(ground, rounds).initial_state(ground.n_arms)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise InputError(f"policy {policy} cannot play {ground}: {error}") from None


def _parameter(described: Any) -> str:
    """Return `name=default` for a dataclass field or a function's parameter, or the name alone."""
    if described.default is dataclasses.MISSING or described.default is inspect.Parameter.empty:
        return str(described.name)
    return f"{described.name}={described.default!r}"


def _first_line(described: Any) -> str:
    return (inspect.getdoc(described) or "").partition("\n")[0]


def _description(policy: type[Policy]) -> str:
    """Return a policy's docstring and what its parameters mean and accept."""
    from rotting.parameters import expectation

    fields = dataclasses.fields(policy)
    lines = [inspect.getdoc(policy) or "", *(["", "Parameters", "----------"] if fields else [])]
    for field in fields:
        rules = field.metadata
        lines.append(_parameter(field))
        lines.append(f"    {rules['doc']}")
        if rules["choices"] is not None:
            lines.append(f"    expected one of {', '.join(map(repr, rules['choices']))}")
        elif not rules["raw"]:
            lines.append(f"    {expectation(rules)}{' or None' if rules['optional'] else ''}")
    return "\n".join(lines)
