"""What the results of a sweep say: which policy is best on each problem and over all, and with which parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rotting.errors import BadValue
from rotting.policies import parse_policy
from rotting.simulation.summary import PolicySummary, summaries

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


def final_regret(dataset: xarray.Dataset) -> xarray.DataArray:
    """Return regret[problem, policy, run] at each problem's last round, read once for all that follows."""
    last = (dataset["rounds"] > 0).sum("round") - 1
    final = dataset["regret"].isel(round=last).transpose("problem", "policy", "run")
    return final.assign_attrs(policies=dataset.attrs["policies"]).compute()


def policies_of(final: xarray.DataArray) -> list[Policy]:
    """Return the policies of a sweep, parameters and all."""
    return [parse_policy(text) for text in final.attrs["policies"].splitlines()]


def finished(final: xarray.DataArray, problem: int) -> np.ndarray:
    """Say of each run whether every policy has finished it on a problem."""
    return np.asarray(np.isfinite(final.values[problem]).all(axis=0))


def rank(final: xarray.DataArray, problem: int) -> list[PolicySummary]:
    """Return the policies on one problem, the best first; empty as long as no run is finished by all."""
    return _rank(final, final.values[problem][:, finished(final, problem)])


def rank_overall(final: xarray.DataArray) -> list[PolicySummary]:
    """Return the policies over all problems, the best first.

    On each problem the policy with the lowest mean regret scores 0, and the average policy 1; scores are averaged over
    problems run by run. Only runs that are finished everywhere count.
    """
    values = _finished_everywhere(final)
    return _rank(final, scores(values, *spread(values.mean(axis=2)))) if values.size else []


def _finished_everywhere(final: xarray.DataArray) -> np.ndarray:
    return np.asarray(final.values[:, :, np.isfinite(final.values).all(axis=(0, 1))])


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


def left_out(final: xarray.DataArray) -> list[str]:
    """Return the problems that `rank_overall` leaves out, as all policies have the same regret there."""
    values = _finished_everywhere(final)
    if not values.size:
        return []
    return final["problem"].values[np.isnan(spread(values.mean(axis=2))[1])].tolist()  # type: ignore[no-any-return]


def oracles_of(final: xarray.DataArray) -> list[str]:
    """Return what regret is measured against on each problem."""
    return [str(each) for each in final["oracle"].values.tolist()]


def by_problem(final: xarray.DataArray) -> list[xarray.Dataset]:
    """Return what `rotting.simulation.significance` compares: final regret, problem by problem."""
    return [
        final.isel(problem=index)
        .drop_vars(["problem", "oracle"])
        .expand_dims(round=[0])
        .to_dataset(name="regret")
        .assign_attrs(problem=label, oracle=oracles_of(final)[index])
        for index, label in enumerate(final["problem"].values.tolist())
    ]


def _rank(final: xarray.DataArray, values: np.ndarray) -> list[PolicySummary]:
    """Return policies, the best first, given regret[policy, run]."""
    rows = summaries(final["policy"].values.tolist(), values) if values.size else []
    return sorted(rows, key=lambda row: (row.mean, not row.best))


def best_settings(final: xarray.DataArray) -> list[Best]:
    """Return, for each problem and each kind of policy, the setting with the lowest mean regret."""
    labels, kinds = final["policy"].values.tolist(), [type(policy).__name__ for policy in policies_of(final)]
    kind_of = dict(zip(labels, kinds, strict=True))
    found = []
    for index, problem in enumerate(final["problem"].values.tolist()):
        first: dict[str, PolicySummary] = {}
        for row in rank(final, index):
            first.setdefault(kind_of[row.policy], row)
        found += [Best(problem, kind, kinds.count(kind), row) for kind, row in first.items()]
    return found


def against(final: xarray.DataArray, parameter: str) -> dict[str, list[tuple[float, int]]]:
    """Return, for each kind of policy with that parameter, (value, index among the policies), by value.

    Policies of a kind that differ in other parameters, too, are kinds of their own.
    """
    lines: dict[str, list[tuple[float, int]]] = {}
    for index, policy in enumerate(policies_of(final)):
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
