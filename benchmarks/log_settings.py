"""All settings that the diagnosis is measured on: null settings, power settings; names, generators, what is known.

`python benchmarks/diagnose.py` plays them. A null setting's `kind` is "can" where its log can tell that nothing wears
out (any call is a false alarm), and "cannot" where no log of its columns could: then the sentence of each call must
name the cause, one of `causes`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import any_generators
import log_generators
import null_generators
import numpy as np
import other_generators
import pandas
import worn_generators


@dataclasses.dataclass(frozen=True)
class Setting:
    """Logs of one kind. `generate` returns the frame and which of its arms wear out (None where none does)."""

    name: str
    generate: Callable[[np.random.Generator], tuple[pandas.DataFrame, dict[str, bool] | None]]
    kind: str  # "can" or "cannot" tell; "worn" of power settings
    unit: str | None = None
    causes: tuple[str, ...] = ()  # words of which a call's sentence must hold one, where the log cannot tell
    equal: bool = False  # all arms are equal and constant: nobody can gain anything

    @property
    def says(self) -> str:
        """What is so, in the generator's words."""
        text = getattr(self.generate, "__doc__", None) or self.name
        return " ".join(text.split("\n\n")[0].split())


def framed(function: Callable[[np.random.Generator], Any]) -> Callable[[np.random.Generator], tuple]:
    """Return a generator of frames as a setting wants it."""

    def generate(rng: np.random.Generator) -> tuple[pandas.DataFrame, None]:
        made = function(rng)
        return (made[0] if isinstance(made, tuple) else made), None

    generate.__doc__ = function.__doc__
    return generate


def null(function: Callable[[np.random.Generator], Any], kind: str = "can", causes: tuple[str, ...] = ()) -> Setting:
    name = function.__name__
    unit = "user_id" if name in PER_USER else None
    return Setting(name, framed(function), kind, unit, causes, name in EQUAL)


PER_USER = {"leaving_users", "novelty_of_users", "user_novelty", "closed_cohort", "churn"}
# Where all arms that are on offer are equal and constant: nobody can gain anything.
EQUAL = {"constant", "revenue", "adaptive", "epsilon_greedy", "rare_equal", "pareto_revenue", "generations"}
# Where the log cannot tell, and words for the cause that a call must name there.
CANNOT = {
    "site_trend_together": ("calendar", "site"),
    "budget": ("budget", "spend", "audience", "reach"),
    "position": ("position", "place", "page"),
    "slate": ("slate", "position", "place", "page"),
    "better_newcomers": ("newer", "launch", "exchangeable", "as good"),
}
OF_0_2 = tuple(
    null(function, "cannot" if function.__name__ in CANNOT else "can", CANNOT.get(function.__name__, ()))
    for function in (
        *log_generators.NOTHING_WEARS,
        log_generators.leaving_users,
        log_generators.novelty_of_users,
        other_generators.weekends_and_trend,
        other_generators.resting_arms_and_trend,
        other_generators.waves,
        other_generators.site_that_drops,
        other_generators.unequal_constants,
        other_generators.numbers_and_trend,
        other_generators.daily_counts,
        any_generators.any_site,
        any_generators.any_clock,
    )
)
OF_REVIEWERS = tuple(
    null(function, "cannot" if function.__name__ in CANNOT else "can", CANNOT.get(function.__name__, ()))
    for function in (
        null_generators.budget,
        null_generators.position,
        null_generators.position_in_a_column,
        null_generators.slate,
        null_generators.slate_in_a_column,
        null_generators.replaced,
        null_generators.overdispersed,
        null_generators.thin_archive,
        null_generators.thin_archive_5000,
        null_generators.better_newcomers,
        null_generators.user_novelty,
        null_generators.closed_cohort,
        null_generators.churn,
        null_generators.rare_equal,
        null_generators.pareto_revenue,
        null_generators.wandering,
        null_generators.bots,
        null_generators.generations,
        null_generators.mixed_audience,
    )
)
NULLS = OF_0_2 + OF_REVIEWERS


def worn(function: Callable[[np.random.Generator], Any], unit: str | None = None) -> Setting:
    return Setting(function.__name__, function, "worn", unit)


POWER = (
    worn(worn_generators.one_of_five),
    *(
        worn(worn_generators.all_of(function), "user_id" if function.__name__ in ("per_user", "tiring_users") else None)
        for function in (
            worn_generators.campaign,
            worn_generators.staggered,
            worn_generators.staggered_eight,
            worn_generators.thompson_on_worn_arms,
            worn_generators.per_user,
            log_generators.tiring_users,
            log_generators.wearing,
            log_generators.slow_linear,
            log_generators.worn_revenue,
            log_generators.rare_clicks,
        )
    ),
    *(
        worn(function)
        for function in (
            other_generators.daily_counts_that_wear_out,
            other_generators.some_wear_out,
            other_generators.one_wears_out,
            other_generators.some_wear_out_beside_a_trend,
            other_generators.resting_arms_wear_out,
            other_generators.power_laws,
            any_generators.any_quiet_arms,
            any_generators.any_wear,
        )
    ),
)
