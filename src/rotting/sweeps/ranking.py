"""What the results of a sweep say: which policy is best on each problem and over all, and with which parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rotting.errors import BadValue
from rotting.policies import parse_policy
from rotting.simulation.summary import PolicySummary, final_regret, finished, summaries
from rotting.sweeps.results import of_problem

if TYPE_CHECKING:
    import xarray

    from rotting.policies import Policy

# Differences of policies that are rounding only, as a share of their regret.
_SAME = 1e-9


@dataclass(frozen=True)
class Best:
    """The best setting of one kind of policy on one problem."""

    problem: str
    kind: str
    settings: int  # how many were tried
    summary: PolicySummary  # its difference is to the best policy of any kind


def by_problem(dataset: xarray.Dataset) -> list[xarray.Dataset]:
    """Return the results on each problem at its last round, as `rotting.simulate` gives them, read once for all."""
    problems = range(dataset.sizes["problem"])
    return [of_problem(dataset, place)[["regret"]].isel(round=[-1]).compute() for place in problems]


def rank(final: xarray.Dataset) -> list[PolicySummary]:
    """Return the policies on one problem, the best first; empty as long as no run is finished by all."""
    return _rank(final, final_regret(finished(final)))


def rank_overall(finals: Sequence[xarray.Dataset]) -> tuple[list[PolicySummary], list[str]]:
    """Return the policies over all problems, the best first, and the problems that say nothing about them.

    On each problem the policy with the lowest mean regret scores 0, and the average policy 1; scores are averaged over
    problems run by run. Only runs that are finished everywhere count. Where all policies have the same regret, a
    problem is left out.
    """
    regret = np.stack([final_regret(final) for final in finals])
    regret = regret[:, :, np.isfinite(regret).all(axis=(0, 1))]
    if not regret.size:
        return [], []
    lowest, above = spread(regret.mean(axis=2))
    left_out = [final.attrs["problem"] for final, scale in zip(finals, above, strict=True) if np.isnan(scale)]
    return _rank(finals[0], scores(regret, lowest, above)), left_out


def _rank(final: xarray.Dataset, regret: np.ndarray) -> list[PolicySummary]:
    rows = summaries(final["policy"].values.tolist(), regret) if regret.size else []
    return sorted(rows, key=lambda row: (row.mean, not row.best))


def spread(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest mean regret on each problem, and by how much the average policy's is above it.

    What is above is a difference between policies, so it does not depend on how good the oracle is. It is NaN where
    all policies have the same regret, so that the problem says nothing.

    Parameters
    ----------
    means
        Mean regret [problem, policy].
    """
    lowest = means.min(axis=1)
    above = means.mean(axis=1) - lowest
    return lowest, np.where(above > _SAME * np.abs(means).max(axis=1), above, np.nan)


def scores(regret: np.ndarray, lowest: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Return [policy, run]: regret[problem, policy, run] on the scale of `spread`, averaged over problems.

    Problems that say nothing are left out; if all are, every score is 0.
    """
    says = np.isfinite(above)
    scaled = (regret[says] - lowest[says, None, None]) / above[says, None, None]
    return scaled.mean(axis=0) if says.any() else np.zeros(regret.shape[1:])


def best_settings(finals: Sequence[xarray.Dataset]) -> list[Best]:
    """Return, for each problem and each kind of policy, the setting with the lowest mean regret."""
    kinds = [type(policy).__name__ for policy in policies_of(finals[0])]
    kind_of = dict(zip(finals[0]["policy"].values.tolist(), kinds, strict=True))
    found = []
    for final in finals:
        first: dict[str, PolicySummary] = {}
        for row in rank(final):
            first.setdefault(kind_of[row.policy], row)
        found += [Best(final.attrs["problem"], kind, kinds.count(kind), row) for kind, row in first.items()]
    return found


def policies_of(final: xarray.Dataset) -> list[Policy]:
    """Return the policies of a sweep, parameters and all."""
    return [parse_policy(text) for text in final.attrs["policies"].splitlines()]


def against(policies: Sequence[Policy], parameter: str) -> dict[str, list[tuple[float, int]]]:
    """Return, for each kind of policy with that parameter, (value, index among the policies), by value.

    Policies of a kind that differ in other parameters, too, are kinds of their own.
    """
    lines: dict[str, list[tuple[float, int]]] = {}
    for index, policy in enumerate(policies):
        value = getattr(policy, parameter, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            lines.setdefault(_without(policy, parameter), []).append((float(value), index))
    lines = {name: sorted(points) for name, points in lines.items() if len(points) > 1}
    if not lines:
        raise BadValue(f"no policy of this sweep has several values of {parameter!r}")
    return lines


def _without(policy: Policy, parameter: str) -> str:
    """Return the policy's short text without one parameter."""
    name, _, rest = str(policy).partition("(")
    shown = [part for part in rest[:-1].split(", ") if part and part.partition("=")[0] != parameter]
    return f"{name}({', '.join(shown)})"
