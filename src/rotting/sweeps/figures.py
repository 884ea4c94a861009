"""The figures of a sweep: regret over time, final regret against a parameter, policies x problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rotting.sweeps import panels, ranking
from rotting.sweeps.errors import SweepError
from rotting.sweeps.results import of_problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

# More cannot be distinguished.
MAX_LINES, MAX_PANELS = 12, 12


def curves(dataset: xarray.Dataset, final: xarray.DataArray) -> Figure:
    """Return regret over time, a panel per problem, of the policies that are best over all (or the first ones)."""
    labels = final["policy"].values.tolist()
    shown = {row.policy for row in ranking.rank_overall(final)[:MAX_LINES]} or set(labels[:MAX_LINES])
    kept = [index for index, label in enumerate(labels) if label in shown]
    problems = _drawable(final)
    figure = panels.regret_panels(
        [
            of_problem(dataset, index).isel(policy=kept, run=ranking.finished(final, index)).compute()
            for index in problems
        ]
    )
    _say_what_is_shown(figure, final, len(problems), len(kept))
    return figure


def against(final: xarray.DataArray, parameter: str) -> Figure:
    """Return final regret against a parameter, a panel per problem, a line per kind of policy that has it."""
    lines = ranking.against(final, parameter)
    drawn = []
    for problem in _drawable(final):
        regret = final.values[problem][:, ranking.finished(final, problem)]
        in_panel = {
            name: (np.array([value for value, _ in points]), regret[[index for _, index in points]])
            for name, points in lines.items()
        }
        title = f"{final['problem'].values[problem]} ({ranking.oracles_of(final)[problem]})"
        drawn.append((title, in_panel))
    figure = panels.parameter_panels(drawn, parameter)
    _say_what_is_shown(figure, final, len(drawn), final.sizes["policy"])
    return figure


def heatmap(final: xarray.DataArray) -> Figure:
    """Return policies x problems: mean final regret on the scale of rankings, 0 for the best policy of a problem."""
    found = np.full((final.sizes["policy"], final.sizes["problem"]), np.nan)
    for index in range(final.sizes["problem"]):
        regret = final.values[index][:, ranking.finished(final, index)]
        if regret.size:
            means = regret.mean(axis=1)
            lowest, above = ranking.spread(means[None])
            found[:, index] = (means - lowest) / above
    labels = zip(final["problem"].values.tolist(), ranking.oracles_of(final), strict=True)
    return panels.heat_map(
        found,
        final["policy"].values.tolist(),
        [f"{label} ({oracle})" for label, oracle in labels],
        "Final regret: 0 is the best policy on a problem, 1 the average one",
        "0: the best, 1: the average",
    )


def _drawable(final: xarray.DataArray) -> list[int]:
    """Return the problems that something can be said about, the first ones if there are many."""
    found = [index for index in range(final.sizes["problem"]) if ranking.finished(final, index).any()]
    if not found:
        raise SweepError("there is nothing to draw: no run is finished by every policy on any problem yet")
    return found[:MAX_PANELS]


def _say_what_is_shown(figure: Figure, final: xarray.DataArray, problems: int, policies: int) -> None:
    """Say above a figure that it does not show everything, if so."""
    said = []
    if policies < final.sizes["policy"]:
        said.append(f"the best {policies} of {final.sizes['policy']} policies")
    if problems < final.sizes["problem"]:
        said.append(f"the first {problems} of {final.sizes['problem']} problems")
    if said:
        figure.suptitle("Shown: " + ", ".join(said), fontsize="small", x=0.01, ha="left")
