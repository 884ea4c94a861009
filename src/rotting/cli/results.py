"""`rotting results`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rotting.cli.options import Baseline, Form, InputError, Significance
from rotting.cli.output import checked_plot, write_figure
from rotting.cli.sweep import progress_of
from rotting.cli.tables import print_differences, print_sheet

if TYPE_CHECKING:
    import xarray

    from rotting.simulation.summary import PolicySummary
    from rotting.sweeps.ranking import Best

# Longer rankings are cut, unless all is asked for.
SHOWN = 10


def results(
    folder: Annotated[Path, typer.Argument(help="What the sweep was given as --out.", show_default=False)],
    every: Annotated[bool, typer.Option("--all", help=f"Show all policies, not only the best {SHOWN}.")] = False,
    problem: Annotated[
        list[str] | None,
        typer.Option(help='Only this problem, by its name or a pattern such as "two_arm*"; may be repeated.'),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help='Only this policy, by its name or a pattern such as "FEWA(alpha=0.0*"; may be repeated.'),
    ] = None,
    significance: Significance = False,
    baseline: Baseline = None,
    form: Form = "text",
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
    from rotting.simulation.significance import enough_to_compare
    from rotting.simulation.significance import significance as differences
    from rotting.sweeps import figures, open_results, ranking
    from rotting.sweeps.results import chosen

    if not _say_progress(folder, form):
        return
    dataset = chosen(open_results(folder), problem or (), policy or ())
    if significance or baseline is not None:
        enough_to_compare(dataset["policy"].values.tolist())
    finals = ranking.by_problem(dataset)
    limit = None if every else SHOWN
    _print_rankings(finals, limit, form)
    if best := ranking.best_settings(finals):
        _print_best(best, form)
    if significance or baseline is not None:
        typer.echo()
        print_differences(differences(finals, baseline), form, limit)
    if curves is not None:
        write_figure(curves, figures.curves(dataset, finals))
    if heatmap is not None:
        write_figure(heatmap, figures.heatmap(finals))
    if against is not None:
        parameter, file = against
        write_figure(file, figures.against(finals, parameter))


def _say_progress(folder: Path, form: str) -> bool:
    """Say how far a sweep is, beside the tables if those are for a paper; return whether there is anything yet."""
    from rotting.sweeps.folder import Folder
    from rotting.sweeps.progress import Tally

    opened = Folder.at(folder)
    tally = Tally(opened.plan)
    for block in opened.blocks():
        tally.add(block)
    said = f"{folder}: {progress_of(tally)}, seed {opened.plan.seed}, rotting {opened.plan.version}"
    typer.echo(said, err=form != "text")
    return tally.runs > 0


def _print_rankings(finals: list[xarray.Dataset], limit: int | None, form: str) -> None:
    from rotting.simulation.summary import finished
    from rotting.sweeps import ranking

    oracles = {final.attrs["problem"]: final.attrs["oracle"] for final in finals}
    for final in finals:
        label, runs = final.attrs["problem"], finished(final).sizes["run"]
        title = f"{label}: {final.attrs['horizon']} rounds, {runs} of {final.sizes['run']} runs"
        _print_ranking(title, ranking.rank(final), limit, form, {label: oracles[label]})
    if len(finals) > 1:
        title = "All problems: 0 is the best policy on each of them, 1 the average one"
        rows, without = ranking.rank_overall(finals)
        kept = {label: oracle for label, oracle in oracles.items() if label not in without}
        if without:
            title += f" (without {', '.join(without)}, where all have the same regret)"
        _print_ranking(title, rows, limit, form, kept)


def _print_ranking(
    title: str, rows: list[PolicySummary], limit: int | None, form: str, oracles: dict[str, str]
) -> None:
    typer.echo()
    if not rows:
        typer.echo(f"{title}: no run is finished by every policy yet", err=form != "text")
        return
    from rotting.simulation.tables import summary_sheet

    print_sheet(summary_sheet(title, rows[:limit], oracles), form)
    if limit is not None and len(rows) > limit:
        typer.echo(f"{len(rows) - limit} more: --all shows them.", err=form != "text")


def _print_best(found: list[Best], form: str) -> None:
    from rotting._output.sheets import Sheet

    numbers = ("tried", "mean regret", "above best")
    sheet = Sheet("Best parameters on each problem", ("problem", "best of its kind", *numbers), numbers)
    for best in found:
        row = best.summary
        above = "best" if row.best else f"{row.difference:,.4g}"
        sheet.add(best.problem, row.policy, str(best.settings), f"{row.mean:,.4g}", above, bold=row.behind is False)
    typer.echo()
    print_sheet(sheet, form)
