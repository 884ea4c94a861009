"""The command line: parses, calls the library, prints.

Whatever is slow to import (the compiler, xarray, matplotlib) is imported inside the commands, so that `rotting --help`
answers at once.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from rotting import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table

    from rotting.policies import Policy
    from rotting.problems import Problem
    from rotting.simulation.summary import PolicySummary

PLOT_FORMATS = (".png", ".pdf", ".svg")
BAD_INPUT, INTERRUPTED = 2, 130
# Nobody can mean more, and NumPy could not even be asked for the room.
MOST, MOST_THREADS = 10**9, 1024
# Where nobody looks at a screen, long rows are better than broken ones.
WIDE = 1000

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Bandits for things that wear out as you show them.",
)


class InputError(Exception):
    """What the user can put right: shown as one line, never as a traceback."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 if all went well, 2 after bad input, 130 after Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = typer.main.get_command(app)(given or ["--help"], prog_name="rotting", standalone_mode=False)
    except InputError as error:
        code = _refuse(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        # Typer's own complaints look like this, whichever click they come from. All else is a bug: let it be seen.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        hint = f"; see {context.command_path} --help" if context else ""
        code = _refuse(error.format_message().rstrip(".") + hint)
    if code == INTERRUPTED:
        print("Interrupted.", file=sys.stderr)
    sys.exit(code or 0)


def _refuse(message: str) -> int:
    print("Error:", " ".join(message.split()), file=sys.stderr)
    return BAD_INPUT


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


def _whole(option: str, minimum: int, maximum: int | None = None) -> Any:
    """Return a whole-number option. Typer's own would not name the value that it refuses."""
    expected = f"a whole number >= {minimum}" + ("" if maximum is None else f" and <= {maximum}")

    def parse(text: str) -> int:
        with contextlib.suppress(ValueError):
            number = int(text)
            if number >= minimum and (maximum is None or number <= maximum):
                return number
        raise InputError(f"{option} {text!r}: expected {expected}")

    return {"parser": parse, "metavar": "N"}


Runs = Annotated[int, typer.Option(**_whole("--runs", 1, MOST), help="Independent runs of each policy.")]
Seed = Annotated[int, typer.Option(**_whole("--seed", 0), help="Same seed, same regret.")]
Threads = Annotated[
    int | None,
    typer.Option(
        **_whole("--threads", 1, MOST_THREADS),
        show_default="one per processor",
        help="Runs played at once. Regret does not depend on it; times are best measured with 1.",
    ),
]
Horizon = Annotated[
    int | None,
    typer.Option(**_whole("--horizon", 1, MOST), show_default="the problem's own", help="Rounds per run."),
]


@app.command()
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
    table = _table("policy", "parameters", "what it does")
    for each in shipped.values():
        shown = ", ".join(map(_parameter, dataclasses.fields(each)))
        _add(table, each.__name__, shown, _first_line(each))
    _console().print(table)


@app.command()
def problems() -> None:
    """List the named problems and their parameters."""
    from rotting.problems import NAMED

    table = _table("problem", "parameters", "what it is")
    for name, function in NAMED.items():
        shown = ", ".join(map(_parameter, inspect.signature(function).parameters.values()))
        _add(table, name, shown, _first_line(function))
    _console().print(table)


@app.command()
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
    plot = None if plot is None else _checked_plot(plot)
    json = None if json is None else _checked_output("--json", json)
    if plot is not None and json is not None and os.path.realpath(plot) == os.path.realpath(json):
        raise InputError(f"--plot and --json are the same file {str(plot)!r}; expected two")
    from rotting.parsing import parse_policy, parse_problem
    from rotting.simulation import simulate
    from rotting.simulation.summary import summarise

    contestants = [_parsed("policy", parse_policy, text) for text in policies]
    ground = _parsed("--problem", parse_problem, problem)
    _check_fit(contestants, ground, horizon)
    with _enough_memory(runs):
        dataset = simulate(contestants, ground, horizon, runs=runs, seed=seed, threads=threads)
    summaries = summarise(dataset)
    _print_summaries(_title(dataset.attrs, runs), summaries, runs)
    if json is not None:
        rows = [dataclasses.asdict(row) for row in summaries]
        _write_json(json, {"settings": {**dataset.attrs, "runs": runs}, "policies": rows})
    if plot is not None:
        from rotting.plots import regret_figure

        _write_figure(plot, regret_figure(dataset))


@app.command()
def paper(
    out: Annotated[Path, typer.Option(help="The folder to write to; made if need be.")] = Path("results/paper"),
    runs: Runs = 500,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:
    """Run the paper's 10-arm experiment: a figure (ten_arm.png) and a table (ten_arm.csv)."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {str(out)!r} cannot be made a folder: {error.strerror}") from None
    picture, table = (_checked_output("--out", out / name) for name in ("ten_arm.png", "ten_arm.csv"))
    from rotting.paper import ten_arm
    from rotting.simulation.summary import summarise

    with _enough_memory(runs):
        dataset = ten_arm.play(runs=runs, seed=seed, threads=threads)
    _print_summaries(_title(dataset.attrs, runs), summarise(dataset), runs)
    _write_csv(table, ten_arm.table(dataset))
    _write_figure(picture, ten_arm.figure(dataset))


# What the user asked for.


def _parsed(where: str, parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        value = repr(text if len(text) <= 60 else text[:57] + "...")
        named = str(error).startswith(where.strip("-"))
        raise InputError(str(error) if named else f"{where} {value}: {error}") from None


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


@contextlib.contextmanager
def _enough_memory(runs: int) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise InputError(f"--runs {runs} need more memory than there is; expected fewer") from None


# Tables.


def _console() -> Console:
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDE)


def _table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        # Folded, not cut with an ellipsis, on a terminal that is too narrow.
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    return table


def _add(table: Table, *cells: str, bold: bool = False) -> None:
    """Add a row of texts as they are: a bracket in them is not markup."""
    from rich.text import Text

    table.add_row(*map(Text, cells), style="bold" if bold else None)


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


def _title(settings: dict[str, Any], runs: int) -> str:
    times = "1 run" if runs == 1 else f"{runs} runs"
    return f"{settings['problem']}: {settings['horizon']} rounds, {times}, seed {settings['seed']}"


def _print_summaries(title: str, summaries: list[PolicySummary], runs: int) -> None:
    """Print a comparison, the best policy first."""
    console = _console()
    show = _number_format(summaries)
    plus_minus = "+/-" if console.options.ascii_only else "\u00b1"

    def with_interval(mean: float, high: float | None) -> str:
        return show(mean) if high is None else f"{show(mean)} {plus_minus} {show(high - mean)}"

    numbers = ("mean regret", "10 %", "90 %", "above best", "ns/decision")
    table = _table("policy", *numbers, numbers=numbers)
    for row in sorted(summaries, key=lambda row: (row.mean, not row.best)):
        _add(
            table,
            row.policy,
            with_interval(row.mean, row.mean_high),
            show(row.quantile_10),
            show(row.quantile_90),
            "best" if row.best else with_interval(row.difference, row.difference_high),
            f"{row.nanoseconds_per_decision:,.0f}",
            bold=row.best,
        )
    console.print(title, markup=False, soft_wrap=True)
    console.print(table)
    if runs == 1:
        console.print("One run gives no intervals; use --runs 2 or more.", soft_wrap=True)
    else:
        console.print(f"{plus_minus}: 95 % intervals over runs; 10 % and 90 %: quantiles of the runs.", soft_wrap=True)


def _number_format(summaries: list[PolicySummary]) -> Callable[[float], str]:
    """Return a format with as many decimals as give the smallest mean three digits."""
    largest = max(abs(row.mean) for row in summaries)
    smallest = min((abs(row.mean) for row in summaries if abs(row.mean) > 1e-9 * largest), default=1.0)
    decimals = min(max(2 - math.floor(math.log10(smallest)), 0), 6)
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}"


# Files.


def _checked_plot(path: Path) -> Path:
    if path.suffix.lower() not in PLOT_FORMATS:
        raise InputError(f"--plot {str(path)!r} ends in {path.suffix!r}; expected {', '.join(PLOT_FORMATS)}")
    return _checked_output("--plot", path)


def _checked_output(option: str, path: Path) -> Path:
    """Return the path if a file can be written there, or complain now rather than after the simulation."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{option} {str(path)!r} is not a file; expected the name of a file")
        if not path.parent.is_dir():
            raise InputError(f"{option} {str(path)!r}: there is no folder {str(path.parent)!r}; make it first")
        _beside(path).touch()
        _beside(path).unlink()
    except OSError as error:
        raise InputError(f"{option} {str(path)!r} cannot be written: {error.strerror or error}") from None
    return path


def _beside(path: Path) -> Path:
    """Return a temporary name in the folder where the file really is: a link to it stays a link."""
    target = Path(os.path.realpath(path))
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name whose file takes the place of `path` in the end: nobody ever sees half of it."""
    temporary = _beside(path)
    try:
        yield temporary
        os.replace(temporary, os.path.realpath(path))
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    typer.echo(f"Wrote {path}")


def _write_json(path: Path, content: dict[str, Any]) -> None:
    import json

    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    with _replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    import csv

    with _replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _write_figure(path: Path, figure: Figure) -> None:
    with _replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower())
