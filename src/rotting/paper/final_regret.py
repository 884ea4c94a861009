"""What the experiments beyond the paper share: one number per run and policy, as rows and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rotting._output.style import COLOURS, tidy
from rotting.paper.experiment import Row
from rotting.simulation.summary import QUANTILES

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

Numbers = dict[str, np.ndarray]  # of each run, by policy


def final_regret(dataset: xarray.Dataset) -> Numbers:
    """Return the regret at T of each run, by policy."""
    final = dataset["regret"].isel(round=-1)
    return {str(label): np.asarray(final.sel(policy=label).values) for label in dataset["policy"].values}


def final_reward(dataset: xarray.Dataset) -> Numbers:
    """Return the expected reward until T of each run, by policy."""
    oracle = dataset["oracle_reward"].isel(round=-1).values
    return {label: oracle - regret for label, regret in final_regret(dataset).items()}


def summary_row(values: np.ndarray) -> Row:
    """Return the mean and the 10 and 90 % quantiles."""
    low, high = np.quantile(values, QUANTILES)
    return {"mean": float(values.mean()), "quantile_10": float(low), "quantile_90": float(high)}


def draw_ranking(axes: Axes, numbers: Numbers, best_is_large: bool) -> None:
    """Draw one line per policy, the best on top: a dot for the mean, a bar for 10 % to 90 % of the runs."""
    order = sorted(numbers, key=lambda label: numbers[label].mean(), reverse=not best_is_large)
    for index, label in enumerate(order):
        low, high = np.quantile(numbers[label], QUANTILES)
        axes.plot([low, high], [index, index], color="0.6", linewidth=2.5, solid_capstyle="butt")
        axes.plot(numbers[label].mean(), index, "o", color=COLOURS[0], markersize=5)
    axes.set_yticks(range(len(order)), order, fontsize="small")
    tidy(axes)
