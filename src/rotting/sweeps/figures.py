"""The figures of a sweep: regret over time, final regret against a parameter, policies x problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rotting import plots
from rotting.sweeps import ranking
from rotting.sweeps.errors import SweepError
from rotting.sweeps.results import of_problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

# More would be told apart by nobody.
MOST_LINES, MOST_PANELS = 12, 12


def curves(dataset: xarray.Dataset) -> Figure:
    """Return regret over time, a panel per problem, of the policies that are best over all."""
    rows = ranking.rank_overall(dataset)
    shown = [row.policy for row in rows[:MOST_LINES]] or dataset["policy"].values.tolist()[:MOST_LINES]
    kept = [label for label in dataset["policy"].values.tolist() if label in shown]
    panels = [ranking.finished(one) for one in _problems(dataset)]
    return plots.regret_panels([one.sel(policy=kept) for one in panels if one.sizes["run"]])


def against(dataset: xarray.Dataset, parameter: str) -> Figure:
    """Return final regret against a parameter, a panel per problem, a line per kind of policy that has it."""
    lines = ranking.against(dataset, parameter)
    panels = []
    for one in _problems(dataset):
        final = ranking.finished(one)["regret"].isel(round=-1).transpose("policy", "run").values
        if final.shape[1]:
            drawn = {
                name: (np.array([value for value, _ in points]), final[[place for _, place in points]])
                for name, points in lines.items()
            }
            panels.append((str(one.attrs["problem"]), drawn))
    if not panels:
        raise SweepError("no run is finished by every policy yet")
    return plots.parameter_panels(panels, parameter)


def heatmap(dataset: xarray.Dataset) -> Figure:
    """Return policies x problems: mean final regret over that of the problem's best policy."""
    ratios = np.full((dataset.sizes["policy"], dataset.sizes["problem"]), np.nan)
    for place in range(dataset.sizes["problem"]):
        rows = {row.policy: row.mean for row in ranking.rank(dataset, place)}
        means = np.array([rows.get(label, np.nan) for label in dataset["policy"].values.tolist()])
        smallest = np.nanmin(means[means > 0], initial=np.inf)
        ratios[:, place] = np.maximum(means / smallest, 1.0)
    return plots.heat_map(
        ratios,
        dataset["policy"].values.tolist(),
        dataset["problem"].values.tolist(),
        "Final regret over that of the best policy",
        "times the best",
    )


def _problems(dataset: xarray.Dataset) -> list[xarray.Dataset]:
    """Return the results problem by problem, the first ones if there are many."""
    return [of_problem(dataset, place) for place in range(min(dataset.sizes["problem"], MOST_PANELS))]
