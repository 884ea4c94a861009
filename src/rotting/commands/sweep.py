"""`rotting sweep`, `rotting results`, `rotting tune`."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
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
    checked_plot,
    make_console,
    make_table,
    parsed,
    print_summaries,
    whole_option,
    write_figure,
)

if TYPE_CHECKING:
    import xarray

    from rotting.simulation.summary import PolicySummary
    from rotting.sweeps.plan import Plan
    from rotting.sweeps.progress import Tally
    from rotting.sweeps.tuning import Tuning

# Longer rankings are cut, unless all is asked for.
SHOWN = 10


def sweep(
    plan: Annotated[Path | None, typer.Argument(help="The plan, a TOML file.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to keep results in.", show_default=False)] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help='The address of a Dask scheduler, or "local" to start one here.', show_default=False),
    ] = None,
    threads: Threads = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Delete the results of another plan in the folder.")
    ] = False,
    example: Annotated[bool, typer.Option("--example", help="Print a plan to start from.")] = False,
) -> None:
    """Play every policy of a plan on every problem, and keep the results.

    It can be stopped, even killed, at any time: the same command goes on where it was.
    """
    with _complaints():
        from rotting.sweeps.plan_file import EXAMPLE, read_plan

        if example:
            typer.echo(EXAMPLE, nl=False)
            return
        if plan is None or out is None:
            raise InputError("expected a plan and --out FOLDER; rotting sweep --example prints a plan to start from")
        try:
            text = plan.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{str(plan)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        planned = read_plan(text, str(plan))
        from rotting.sweeps.running import carry_out

        tally = carry_out(planned, out, cluster, threads, False if quiet else None, overwrite)
    if not quiet:
        typer.echo(f"Finished: {_times(tally)} in {out}; see rotting results {out}")


def results(
    folder: Annotated[Path, typer.Argument(help="What the sweep was given as --out.", show_default=False)],
    every: Annotated[bool, typer.Option("--all", help=f"Show all policies, not only the best {SHOWN}.")] = False,
    curves: Annotated[Path | None, typer.Option(help="Draw regret over time into this file.")] = None,
    heatmap: Annotated[Path | None, typer.Option(help="Draw policies x problems into this file.")] = None,
    against: Annotated[
        tuple[str, Path] | None,
        typer.Option(help="Draw final regret against a parameter into a file.", metavar="PARAMETER FILE"),
    ] = None,
) -> None:
    """Say how far a sweep is, who is best, and with which parameters; draw it."""
    wanted = {"--curves": curves, "--heatmap": heatmap, "--against": against and against[1]}
    files = [checked_plot(file, option) for option, file in wanted.items() if file is not None]
    if len(set(map(Path.resolve, files))) < len(files):
        raise InputError(f"several figures are to go into the same file {str(files[0])!r}; expected different ones")
    with _complaints():
        from rotting.sweeps import figures, open_results, ranking
        from rotting.sweeps.folder import Folder
        from rotting.sweeps.progress import Tally

        opened = Folder.at(folder)
        tally = Tally(opened.plan)
        for block in opened.blocks():
            tally.add(block)
        typer.echo(f"{folder}: {_times(tally)}, seed {opened.plan.seed}, rotting {opened.plan.version}")
        if tally.runs == 0:
            return
        dataset = open_results(folder)
        final = ranking.final_regret(dataset)
        _print_rankings(final, opened.plan, None if every else SHOWN)
        if best := ranking.best_settings(final):
            _print_best(best)
        if curves is not None:
            write_figure(curves, figures.curves(dataset, final))
        if heatmap is not None:
            write_figure(heatmap, figures.heatmap(final))
        if against is not None:
            try:
                figure = figures.against(final, against[0])
            except ValueError as error:
                raise InputError(f"--against {against[0]}: {error}") from None
            write_figure(against[1], figure)


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
        typer.Option(**whole_option("--horizon", 1, MOST), show_default="each problem's own", help="Rounds per run."),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:
    """Find good parameters for a policy: the better half of the candidates plays on, until few are left."""
    from rotting.parsing import parse_policy, parse_problem
    from rotting.sweeps.plan import check_fit
    from rotting.sweeps.tuning import default_grid, expand
    from rotting.sweeps.tuning import tune as search

    start = parsed("policy", parse_policy, policy)
    grounds = [parsed("--problem", parse_problem, text) for text in problem]
    try:
        values = dict(map(_grid_values, grid)) if grid else default_grid(start)
        for candidate in expand(start, values):
            for ground in grounds:
                check_fit(candidate, ground)
    except (TypeError, ValueError) as error:
        raise InputError(str(error)) from None
    _print_tuning(search(start, grounds, values, runs, seed, horizon, threads))


# What the user asked for.


@contextlib.contextmanager
def _complaints() -> Iterator[None]:
    """Turn what the user can put right into one line."""
    from rotting.sweeps.errors import SweepError

    try:
        yield
    except SweepError as error:
        raise InputError(str(error)) from None


def _grid_values(text: str) -> tuple[str, list[Any]]:
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


# Tables.


def _times(tally: Tally) -> str:
    plan = tally.plan
    return (
        f"{tally.cells} of {plan.cells} cells ({len(plan.policies)} policies x {len(plan.problems)} problems), "
        f"{tally.runs} of {plan.total_runs} runs"
    )


def _print_rankings(final: xarray.DataArray, plan: Plan, most: int | None) -> None:
    from rotting.sweeps import ranking

    for place, label in enumerate(plan.problem_labels):
        runs = int(ranking.finished(final, place).sum())
        title = f"{label}: {plan.problems[place].horizon} rounds, {runs} of {plan.runs} runs"
        _print_ranking(title, ranking.rank(final, place), most, runs)
    if len(plan.problems) > 1:
        title = "All problems: regret in units of the average policy's"
        _print_ranking(title, ranking.rank_overall(final), most, plan.runs)


def _print_ranking(title: str, rows: list[PolicySummary], most: int | None, runs: int) -> None:
    typer.echo()
    if not rows:
        typer.echo(f"{title}: no run is finished by every policy yet")
        return
    print_summaries(title, rows[:most], runs)
    if most is not None and len(rows) > most:
        typer.echo(f"{len(rows) - most} more: --all shows them.")


def _print_best(found: list[Any]) -> None:
    numbers = ("tried", "mean regret", "above best")
    table = make_table("problem", "best of its kind", *numbers, numbers=numbers)
    for best in found:
        row = best.summary
        above = "best" if row.best else f"{row.difference:,.4g}"
        add_row(table, best.problem, row.policy, str(best.settings), f"{row.mean:,.4g}", above, bold=row.best)
    console = make_console()
    console.print("\nBest parameters on each problem")
    console.print(table)


def _print_tuning(found: Tuning) -> None:
    names = [str(problem) for problem in found.problems]
    numbers = ("runs", *(f"regret on {name}" for name in names), "score")
    table = make_table("policy", *numbers, numbers=numbers)
    for trial in found.trials:
        regrets = [f"{regret:,.4g}" for regret in trial.regret]
        cells = (str(trial.policy), str(trial.runs), *regrets, f"{trial.score:.3f}")
        add_row(table, *cells, bold=trial is found.trials[0])
    console = make_console()
    console.print(table)
    console.print("Score: regret over what all candidates had on average, mean over problems.", soft_wrap=True)
    console.print(f"Best: {found.best!r}", markup=False, soft_wrap=True)
    if found.lead_low is not None and not math.isnan(found.lead_low):
        tie = " (a tie)" if found.lead_low <= 0 else ""
        console.print(
            f"The runner-up's score is {found.lead_low:+.3f} to {found.lead_high:+.3f} above (95 %, paired){tie}.",
            soft_wrap=True,
        )
    console.print(f"Warning: {found.warning}", soft_wrap=True)
