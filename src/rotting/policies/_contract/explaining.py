"""Explanations: what leads a policy to its next decision, arm by arm, as data and as a table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rotting.policies._contract.kernel import decide


@dataclasses.dataclass(frozen=True)
class FilterVerdict:
    """What FEWA's filter did with one arm. Means and threshold are those of the window that removed it."""

    arm: int
    pulls: int
    survived: bool
    window: int | None = None
    mean: float | None = None
    best_mean: float | None = None
    threshold: float | None = None


@dataclasses.dataclass(frozen=True)
class IndexVerdict:
    """The index of one arm and the window that gives it (None for an arm without pulls, which comes first)."""

    arm: int
    pulls: int
    index: float | None = None
    window: int | None = None


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Why an agent's next decision is what it is.

    `arms` holds one verdict per arm, `decision` the arm to be pulled, `t` the round. `str()` gives a table and
    `to_dict()` plain data.
    """

    policy: str
    t: int
    decision: int
    arms: Sequence[FilterVerdict | IndexVerdict]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain dictionaries and lists."""
        return dataclasses.asdict(self) | {"arms": [dataclasses.asdict(verdict) for verdict in self.arms]}

    def __str__(self) -> str:
        heading, titles, rows = self._table()
        widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
        new = "" if self.arms[self.decision].pulls else ", which has not been pulled yet"
        lines = [heading + new]
        for place, row in enumerate([titles, *rows], start=-1):
            mark = "> " if place == self.decision else "  "
            lines.append(mark + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from rotting._output.notebooks import card

        heading, titles, rows = self._table()
        marked = [["pull" if place == self.decision else "", *row] for place, row in enumerate(rows)]
        return card(heading, ["", *titles], marked, titles)

    def _table(self) -> tuple[str, list[str], list[list[str]]]:
        """Return a heading, titles and rows."""
        names = [field.name for field in dataclasses.fields(self.arms[0])]
        rows = [[_cell(getattr(verdict, name)) for name in names] for verdict in self.arms]
        titles = [name.replace("_", " ") for name in names]
        return f"{self.policy}, round {self.t}: pull arm {self.decision}", titles, rows


def explain_filter(policy: Any, state: Any, t: int, window_sum: Callable[[int, int], float]) -> Explanation:
    """Return what FEWA's filter does with every arm in round t; `window_sum(arm, h)` is what it compares."""
    # Deciding leaves behind which arms passed and which window dropped each other; nothing is filtered while an arm
    # has not been pulled.
    decision = int(decide(state, t, np.uint64(0)))
    filtered = bool(np.all(state.pulls > 0))
    theta = policy.sigma * math.sqrt(8 * max(0.0, policy.alpha * math.log(t) - math.log(policy.delta0)))
    dropped = state.dropped.copy()
    dropped[state.active[: state.left[0]]] = 0
    verdicts = []
    for arm, n in enumerate(state.pulls.tolist()):
        h = int(dropped[arm]) if filtered else 0
        if h == 0:
            verdicts.append(FilterVerdict(arm, n, survived=True))
            continue
        present = np.flatnonzero((dropped == 0) | (dropped >= h)).tolist()
        best = float(max(window_sum(other, h) for other in present))
        verdicts.append(FilterVerdict(arm, n, False, h, float(window_sum(arm, h)) / h, best / h, theta / math.sqrt(h)))
    return Explanation(str(policy), t, decision, tuple(verdicts))


def explain_index(policy: Any, state: Any, t: int, index_and_window: Callable[..., tuple[float, int]]) -> Explanation:
    """Return every arm's index and window in round t; `index_and_window(state, arm, t)` computes them for one."""
    decision = int(decide(state, t, np.uint64(0)))
    verdicts = []
    for arm, n in enumerate(state.pulls.tolist()):
        if n == 0:
            verdicts.append(IndexVerdict(arm, n))
            continue
        index, window = index_and_window(state, arm, t)
        verdicts.append(IndexVerdict(arm, n, float(index), int(window)))
    return Explanation(str(policy), t, decision, tuple(verdicts))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
