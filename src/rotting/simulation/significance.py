"""Which differences between policies are more than chance: paired tests, corrected for how many they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from rotting.errors import BadValue
from rotting.simulation.paired import LEVEL, paired
from rotting.simulation.summary import final_regret, finished

if TYPE_CHECKING:
    import numpy as np
    import xarray


@dataclass(frozen=True)
class Difference:
    """Two policies on one problem, run by run.

    With a single run, all but the difference is None.
    """

    problem: str
    policy: str  # the one with the larger mean regret, or the one that is compared with a baseline
    other: str
    difference: float  # mean regret of `policy` minus that of `other`
    low: float | None  # its 95 % interval, for this difference alone
    high: float | None
    p: float | None  # of the paired t test, two-sided, for this difference alone
    adjusted: float | None  # p after Holm's correction over all differences that were made with it
    oracle: str = ""  # what regret is measured against

    @property
    def is_significant(self) -> bool:
        """Whether it is more than chance at the 5 % level, all differences considered."""
        return self.adjusted is not None and self.adjusted <= 1 - LEVEL


def significance(results: xarray.Dataset | Sequence[xarray.Dataset], baseline: str | None = None) -> list[Difference]:
    """Compare the final regrets of policies, each pair of them, run by run; the most certain differences come first.

    Runs are independent, and in one run all policies meet the same noise: the mean difference over its standard error
    is Student's t, nearly so for runs of any shape if there are a few dozen. Of many tests some succeed by chance, so p
    values are corrected by Holm's method: the chance that any of those at most 0.05 is false is at most 5 %, whatever
    their dependence.

    Parameters
    ----------
    results
        What `rotting.simulate` returned, or several of them: those of a sweep, problem by problem.
    baseline
        The label of a policy that the others are compared with, or its name alone, chosen beforehand (default: all
        pairs). Fewer comparisons need less correction.

    References
    ----------
    Holm (1979), "A simple sequentially rejective multiple test procedure".

    Examples
    --------
    >>> import rotting
    >>> policies = [rotting.Uniform(), rotting.UCB1(), rotting.Oracle()]
    >>> result = rotting.simulate(policies, rotting.problems.two_arm(L=2), horizon=200, runs=20)
    >>> for row in significance(result):
    ...     print(f"{row.policy} - {row.other}: {row.difference:.0f}, {row.is_significant}")
    Uniform() - Oracle(): 98, True
    Uniform() - UCB1(sigma=1): 91, True
    UCB1(sigma=1) - Oracle(): 7, True
    """
    listed: list[xarray.Dataset] = [results] if hasattr(results, "data_vars") else list(results)  # type: ignore[list-item]
    for dataset in listed:
        enough_to_compare(dataset["policy"].values.tolist())
    pairs = [pair for dataset in listed for pair in _pairs(dataset, baseline)]
    tests = paired(difference for *_, difference in pairs)
    found = [
        Difference(problem, policy, other, *test, oracle)
        for (problem, policy, other, oracle, _), test in zip(pairs, tests, strict=True)
    ]
    return sorted(found, key=lambda row: (row.adjusted or 0.0, row.p or 0.0, -abs(row.difference)))


def enough_to_compare(labels: Sequence[object]) -> None:
    """Refuse to compare a policy with nothing."""
    if len(labels) < 2:
        raise BadValue("a single policy differs from no other", expected="two policies or more")


def label_among(labels: Sequence[str], given: str, name: str) -> str:
    """Return the label of the policy that is called so, in full or by its name alone.

    Parameters
    ----------
    labels
        Those there are.
    given, name
        What was given, and as which argument.

    Examples
    --------
    >>> label_among(["UCB1(sigma=1)", "FEWA(alpha=0.06)"], "UCB1", "baseline")
    'UCB1(sigma=1)'
    """
    fitting = [label for label in labels if given in (label, label.partition("(")[0])]
    if len(fitting) != 1 and given not in labels:
        problem = "fits several of the policies" if fitting else "is not one of the policies"
        raise BadValue(problem, name=name, value=given, expected=f"one of {', '.join(labels)}")
    return given if given in labels else fitting[0]


def _pairs(dataset: xarray.Dataset, baseline: str | None) -> Iterator[tuple[str, str, str, str, np.ndarray]]:
    """Yield the problem, two policies, the oracle, and the differences in the runs that every policy has finished."""
    regret = final_regret(finished(dataset))
    if not regret.size:
        return
    labels = [str(label) for label in dataset["policy"].values]
    problem, oracle = (str(dataset.attrs.get(name, "")) for name in ("problem", "oracle"))
    order = sorted(range(len(labels)), key=lambda place: -regret[place].mean())
    chosen = list(combinations(order, 2))
    if baseline is not None:
        base = labels.index(label_among(labels, baseline, "baseline"))
        chosen = [(place, base) for place in order if place != base]
    for policy, other in chosen:
        yield problem, labels[policy], labels[other], oracle, regret[policy] - regret[other]
