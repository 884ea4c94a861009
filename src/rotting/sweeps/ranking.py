"""What the results of a sweep say: who is best on each problem and over all, and with which parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.parsing import parse_policy
from rotting.simulation.summary import PolicySummary, summarise
from rotting.sweeps.results import of_problem

if TYPE_CHECKING:
    import xarray

    from rotting.policies import Policy


@dataclass(frozen=True)
class Best:
    """The best setting of one kind of policy on one problem."""

    problem: str
    kind: str
    settings: int  # how many were tried
    summary: PolicySummary  # its difference is to the best policy of any kind


def policies_of(dataset: xarray.Dataset) -> list[Policy]:
    """Return the policies of a dataset, parameters and all."""
    return [parse_policy(text) for text in dataset.attrs["policies"].splitlines()]


def finished(dataset: xarray.Dataset) -> xarray.Dataset:
    """Return the results on one problem, those runs that every policy has finished."""
    final = dataset["regret"].isel(round=-1).transpose("policy", "run").values
    return dataset.isel(run=np.isfinite(final).all(axis=0))


def rank(dataset: xarray.Dataset, problem: int) -> list[PolicySummary]:
    """Return the policies on one problem, the best first; empty as long as no run is finished by all."""
    one = finished(of_problem(dataset, problem))
    return sorted(summarise(one), key=lambda row: (row.mean, not row.best)) if one.sizes["run"] else []


def rank_overall(dataset: xarray.Dataset) -> list[PolicySummary]:
    """Return the policies over all problems, the best first.

    Regret is taken in units of a problem's mean over all policies, and averaged over problems run by run: 1 is the
    average policy. Only runs that are finished everywhere count.
    """
    last = (dataset["rounds"] > 0).sum("round") - 1
    final = dataset["regret"].isel(round=last).transpose("problem", "policy", "run").values
    final = final[:, :, np.isfinite(final).all(axis=(0, 1))]
    if not final.shape[2]:
        return []
    means = np.abs(final.mean(axis=(1, 2)))
    relative = (final / np.where(means > 0, means, 1.0)[:, None, None]).mean(axis=0)
    one = dataset[["policy"]].assign(regret=(("policy", "run", "round"), relative[:, :, None]))
    return sorted(summarise(one), key=lambda row: (row.mean, not row.best))


def best_settings(dataset: xarray.Dataset) -> list[Best]:
    """Return, for each problem and each kind of policy, the setting with the lowest mean regret."""
    kinds = dict(zip(dataset["policy"].values.tolist(), map(_kind, policies_of(dataset)), strict=True))
    tried = list(kinds.values())
    found = []
    for place, problem in enumerate(dataset["problem"].values.tolist()):
        first: dict[str, PolicySummary] = {}
        for row in rank(dataset, place):
            first.setdefault(kinds[row.policy], row)
        found += [Best(problem, kind, tried.count(kind), row) for kind, row in first.items()]
    return found


def against(dataset: xarray.Dataset, parameter: str) -> dict[str, list[tuple[float, int]]]:
    """Return, for each kind of policy with that parameter, (value, place in the dataset), by value.

    Policies of a kind that differ in other parameters, too, are kinds of their own.
    """
    lines: dict[str, list[tuple[float, int]]] = {}
    for place, policy in enumerate(policies_of(dataset)):
        value = getattr(policy, parameter, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            lines.setdefault(_without(policy, parameter), []).append((float(value), place))
    lines = {name: sorted(points) for name, points in lines.items() if len(points) > 1}
    if not lines:
        raise ValueError(f"no policy of this sweep has several values of {parameter!r}")
    return lines


def _kind(policy: Any) -> str:
    return type(policy).__name__


def _without(policy: Policy, parameter: str) -> str:
    """Return the policy's short text without one parameter."""
    name, _, rest = str(policy).partition("(")
    shown = [part for part in rest[:-1].split(", ") if part and part.partition("=")[0] != parameter]
    return f"{name}({', '.join(shown)})"
