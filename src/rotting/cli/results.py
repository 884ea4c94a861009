"""`rotting results`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rotting.cli.options import InputError
from rotting.cli.output import checked_plot, write_figure
from rotting.cli.sweep import progress_of
from rotting.cli.tables import add_row, make_console, make_table, print_summaries

if TYPE_CHECKING:
    import xarray

    from rotting.simulation.summary import PolicySummary
    from rotting.sweeps.plan import Plan
    from rotting.sweeps.ranking import Best

# Longer rankings are cut, unless all is asked for.
SHOWN = 10


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
    """Say how far a sweep is, which policy is best, and with which parameters; draw it."""
    wanted = {"--curves": curves, "--heatmap": heatmap, "--against": against and against[1]}
    files = [checked_plot(file, option) for option, file in wanted.items() if file is not None]
    if len(set(map(Path.resolve, files))) < len(files):
        raise InputError(f"several figures are to go into the same file {str(files[0])!r}; expected different ones")
    from rotting.sweeps import figures, open_results, ranking
    from rotting.sweeps.folder import Folder
    from rotting.sweeps.progress import Tally

    opened = Folder.at(folder)
    tally = Tally(opened.plan)
    for block in opened.blocks():
        tally.add(block)
    typer.echo(f"{folder}: {progress_of(tally)}, seed {opened.plan.seed}, rotting {opened.plan.version}")
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
        parameter, file = against
        write_figure(file, figures.against(final, parameter))


def _print_rankings(final: xarray.DataArray, plan: Plan, limit: int | None) -> None:
    from rotting.sweeps import ranking

    for index, label in enumerate(plan.problem_labels):
        runs = int(ranking.finished(final, index).sum())
        title = f"{label}: {plan.problems[index].horizon} rounds, {runs} of {plan.runs} runs"
        _print_ranking(title, ranking.rank(final, index), limit, runs)
    if len(plan.problems) > 1:
        title = "All problems: regret in units of the average policy's"
        _print_ranking(title, ranking.rank_overall(final), limit, plan.runs)


def _print_ranking(title: str, rows: list[PolicySummary], limit: int | None, runs: int) -> None:
    typer.echo()
    if not rows:
        typer.echo(f"{title}: no run is finished by every policy yet")
        return
    print_summaries(title, rows[:limit], runs)
    if limit is not None and len(rows) > limit:
        typer.echo(f"{len(rows) - limit} more: --all shows them.")


def _print_best(found: list[Best]) -> None:
    numbers = ("tried", "mean regret", "above best")
    table = make_table("problem", "best of its kind", *numbers, numbers=numbers)
    for best in found:
        row = best.summary
        above = "best" if row.best else f"{row.difference:,.4g}"
        add_row(table, best.problem, row.policy, str(best.settings), f"{row.mean:,.4g}", above, bold=row.best)
    console = make_console()
    console.print("\nBest parameters on each problem")
    console.print(table)
