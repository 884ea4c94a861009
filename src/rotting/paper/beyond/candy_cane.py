"""Beyond the paper: the Candy Cane Contest, played alone, by every policy of the package."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from rotting.paper.claims import DIFFERS, FAILS, HOLDS, Claims, Finding, mean_of, within
from rotting.paper.experiment import Block, Experiment, Results, Row, draw_ranking, final_reward, summary_row
from rotting.policies import AUCB, CTO, CTOSIM, DCTOUCB, POLICIES, UCBTASW, UCBTP, LinUCRL, Oracle, Policy
from rotting.policies._contract.suited import KINDS
from rotting.problems import Exponential, candy_cane

PROBLEM = candy_cane()
KEY, ORACLE = "kaggle", "the oracle"
RATE = -math.log(0.97)  # of the decay
CURVES = tuple(Exponential(level / 101, RATE) for level in range(1, 101, 3))
# What some policies cannot do without, or are told of the decay.
TOLD: dict[type[Policy], dict[str, Any]] = {
    AUCB: {"trend": Exponential(1.0, RATE)},
    **{kind: {"curves": CURVES} for kind in (CTO, CTOSIM, DCTOUCB)},
    LinUCRL: {"window": 1, "degree": 1},
    UCBTASW: {"variation": 1000.0},
    UCBTP: {"rho": 0.03},
}


def policies() -> dict[str, Policy]:
    """Return every policy that is not made for other arms, told sigma; the oracle cannot be told the levels."""
    return {
        label: kind(**({"sigma": 0.5} if "sigma" in kind.__dataclass_fields__ else {}), **TOLD.get(kind, {}))
        for label, kind in POLICIES.items()
        if kind is not Oracle and (kind.made_for is None or KINDS[kind.made_for](PROBLEM, PROBLEM.horizon) is None)
    }


def rewards(results: Results) -> dict[str, np.ndarray]:
    """Return the expected reward of each run, of the oracle and then of the policies, the best first."""
    oracle = np.asarray(results[KEY]["oracle_reward"].isel(round=-1).values)
    return {ORACLE: oracle, **dict(sorted(final_reward(results[KEY]).items(), key=lambda item: -item[1].mean()))}


def _totals(results: Results) -> list[Row]:
    return [{"policy": label, **summary_row(each)} for label, each in rewards(results).items()]


def _draw(axes: Axes, results: Results) -> None:
    draw_ranking(axes, rewards(results), "candy canes of 2000 pulls, expected", best_is_large=True)


claim = Claims("candy-cane")


def _about(name: str, words: str, measure: str, label: str, known: float) -> None:
    """Claim that a mean is a known one, within three standard errors."""

    def check(results: Results) -> Finding:
        values = rewards(results)[label]
        found = mean_of(values)
        if found.low is None:
            return Finding(found, "one run tells nothing.", DIFFERS)
        errors = (found.value - known) / (float(values.std(ddof=1)) / math.sqrt(len(values)))
        why = f"{errors:+.1f} standard errors from {known:g}."
        return Finding(found, why, HOLDS if abs(errors) <= 3 else FAILS)

    claim(name, words, f"{measure} ({known:g} within three standard errors)", within(), f"{known:g}")(check)


_about(
    "candy-oracle",
    "whoever knows the levels collects about 917 candy canes of 2000",
    "mean of the oracle's expected reward",
    ORACLE,
    917.0,
)
_about(
    "candy-uniform",
    "pulling arms at random collects about 754 candy canes of 2000",
    "mean of Uniform's expected reward",
    "Uniform",
    753.8,
)


@claim(
    "level-filter-best",
    "knowing the decay is worth more than any choice of policy without it",
    "expected reward of LevelFilter less that of the best policy that is told nothing of the decay (above 0)",
    within(least=0.0),
)
def _filter_best(results: Results) -> Finding:
    found = rewards(results)
    told = {ORACLE, "LevelFilter", *(kind.__name__ for kind in TOLD)}
    best = next(label for label in found if label not in told)
    why = f"LevelFilter {found['LevelFilter'].mean():.0f}, {best} {found[best].mean():.0f}."
    return Finding(mean_of(found["LevelFilter"] - found[best]), why)


EXPERIMENT = Experiment(
    name="candy-cane",
    section="Beyond the paper: the Candy Cane Contest",
    alt="Expected reward of every policy of the package in the Candy Cane Contest",
    caption="Kaggle's Santa 2020 for one player: 100 machines, each pull takes 3 % of its level. Parameters are the "
    "defaults, with sigma = 0.5; LevelFilter, AUCB, CTO, CTOSIM and DCTOUCB are told the decay, UCBTP and UCBTASW "
    "something like it.",
    size=(8.0, 8.0),
    panels={"The Candy Cane Contest, alone": _draw},
    tables={"candy_cane": _totals},
    runs=200,
    blocks=[Block(KEY, policies(), PROBLEM)],
    claims=claim,
)
