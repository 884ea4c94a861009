"""What else may change what an arm earns: position, slate, segments, campaign; spend, reach and frequency.

A changing mix of them looks like wear-out. Positions, slates and segments become strata; the others are only told.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from rotting.logs.read.columns import NO_SUMS, Columns, existing
from rotting.logs.read.names import REWARDS, called, is_called, mentions
from rotting.logs.read.numbers import Numbers, are_numbers, numbers_of
from rotting.logs.read.options import LogError
from rotting.logs.read.sources import Source
from rotting.logs.read.tables import Table, in_sql

# A column with this many values may hold segments; so many such columns are looked at.
FEWEST, MOST = 2, 30
MOST_COLUMNS = 4
NUMBERED, AMOUNTS = ("position", "slate"), ("spend", "reach", "frequency", "propensity")
# Larger positions and slates are put together by half octaves.
LARGEST_ALONE = 20
# Slices of time by which columns are compared, and the chi-squared per degree of freedom above which one matters.
SLICES, MATTERS = 16, 4.0
# What happened after an arm was shown must not be adjusted for; and these say other things.
_NEVER = (*REWARDS, "outcome", "perhaps", "impressions", "time", "recorded", "reported", "unit", *NO_SUMS)


@dataclasses.dataclass(frozen=True)
class Covariate:
    """A column beside those of the log itself: what it is, and whether some arm has more than one of its values.

    `role` is "position", "slate", "segment" or "campaign", which can be strata, or "spend", "reach", "frequency" or
    "propensity", which are told.
    """

    name: str
    role: str
    varies: bool = False
    matters: float = 0.0  # how much more its values differ than by chance, per degree of freedom, within arms and times

    @property
    def can_be_stratum(self) -> bool:
        """Whether exposures can be told apart by its values."""
        return self.role not in AMOUNTS


def find_covariates(source: Source, columns: Columns, probability: str | None) -> list[Covariate]:
    """Return the columns that may matter beside those that are used, by their names and values."""
    beside = [each for each in source.columns if each not in columns.used]
    rest = [each for each in beside if source.varies(each)]
    given = {} if probability is None else {"propensity": existing("probability", probability, source.columns)}
    found = [Covariate(column, role) for role, column in given.items()]
    for role in (each for each in (*NUMBERED, *AMOUNTS) if each not in given):
        named = called(
            [each for each in beside if are_numbers(source.sample[each])], role, whole=role not in ("spend", "reach")
        )
        likely = [
            each for each in named if role not in ("spend", "reach") or not mentions(each, "ratio", "part", "counted")
        ]
        found += [Covariate(column, role) for column in likely[:1]]
    names = {each.name for each in found}
    few = [each for each in rest if each not in names and each != columns.possible_unit]
    found += [Covariate(column, "campaign") for column in called(few, "campaign", whole=True)[:1]]
    known = [each for each in few if mentions(each, "segment") and not mentions(each, *_NEVER)]
    texts = [each for each in few if not are_numbers(source.sample[each]) and not _says_other(each)]
    chosen = [
        column
        for column in dict.fromkeys([*known, *texts][: 2 * MOST_COLUMNS])
        if FEWEST <= source.distinct(column) <= MOST
    ]
    return found + [Covariate(column, "segment") for column in chosen[:MOST_COLUMNS]]


def _says_other(column: str) -> bool:
    return mentions(column, *_NEVER) or is_called(column, "campaign", "arm", "event", "currency", "zone")


def fields_of(source: Source, covariates: Iterable[Covariate], numbers: Numbers) -> dict[Covariate, str]:
    """Return SQL for the values of covariates; amounts that cannot be read for sure are left out."""
    fields = {}
    for each in covariates:
        with contextlib.suppress(LogError):
            if each.can_be_stratum:
                fields[each] = _stratum(each)
            else:
                own = numbers_of(source, {each.role: each.name}, numbers.mark)
                fields[each] = own.sql(each.name, source.rows.kinds[each.name])
    return fields


def _stratum(covariate: Covariate) -> str:
    """Return SQL for the texts of strata; large positions and slates are put together."""
    column = in_sql(covariate.name)
    text = f"coalesce(trim({column}::VARCHAR), '')"
    if covariate.role not in NUMBERED:
        return text
    number = f"round(try_cast(replace({column}::VARCHAR, ',', '.') AS DOUBLE))"
    large = f"'from ' || ceil(2 ** (floor(2 * log2({number})) / 2))::BIGINT"
    return f"CASE WHEN {number} > {LARGEST_ALONE} THEN {large} ELSE coalesce({number}::BIGINT::VARCHAR, {text}) END"


def weighed(rows: Table, covariates: Iterable[Covariate], aggregated: bool) -> list[Covariate]:
    """Return covariates with what the rows say about them; each is a column `beside_...` of the rows."""
    listed = list(covariates)
    if not listed:
        return []
    bounds = ", ".join(f"min(beside_{i}) != max(beside_{i}) AS own_{i}" for i in range(len(listed)))
    any_own = ", ".join(f"bool_or(own_{i})" for i in range(len(listed)))
    [varies] = rows.find(f"SELECT {any_own} FROM (SELECT {bounds} FROM log GROUP BY arm)")
    return [
        dataclasses.replace(
            each,
            varies=bool(moves),
            matters=_importance(rows, f"beside_{number}", aggregated) if moves and each.can_be_stratum else 0.0,
        )
        for number, (each, moves) in enumerate(zip(listed, varies, strict=True))
    ]


def strata_of(rows: Table, covariates: Sequence[Covariate]) -> tuple[Table, tuple[str, ...], tuple[str, ...]]:
    """Return the rows with a column `segment`, a number for each stratum; the columns that make strata; their names.

    Strata are made of positions and slates, and of what matters most, as long as there are not too many of them.
    """
    chosen: list[int] = []
    values: list[str] = []
    for number in sorted(range(len(covariates)), key=lambda number: -covariates[number].matters):
        needed = covariates[number].role in NUMBERED and covariates[number].varies
        if needed or covariates[number].matters >= MATTERS:
            label = f"concat_ws(' | ', {', '.join(f'beside_{each}' for each in [*chosen, number])})"
            found = [
                row[0]
                for row in rows.find(f"SELECT DISTINCT {label} AS label FROM log ORDER BY label LIMIT {MOST + 1}")
            ]
            if len(found) <= MOST:
                chosen, values = [*chosen, number], found
    if not chosen:
        return rows.select("SELECT *, 0::BIGINT AS segment FROM log"), (), ()
    label = f"concat_ws(' | ', {', '.join(f'beside_{each}' for each in chosen)})"
    code = rows.mapped(label, {value: float(number) for number, value in enumerate(values)})
    named = rows.select(f"SELECT *, {code}::BIGINT AS segment FROM log")
    return named, tuple(covariates[number].name for number in chosen), tuple(values)


def _importance(rows: Table, column: str, aggregated: bool) -> float:
    """Return how much more the values of a column differ than by chance, per degree of freedom, within arms and times.

    Aggregated rewards are numbers of successes, each of which has the square 1.
    """
    sums = rows.arrays(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last, max(place) AS rows FROM log)
        SELECT hash(arm, floor(coalesce((time - first) / nullif(last - first, 0), place / nullif(rows, 0), 0)
            * {SLICES})) AS cell, coalesce({column}, '') AS segment, sum(impressions)::DOUBLE AS count,
            sum(reward) AS total, sum({"reward" if aggregated else "reward * reward"}) AS squares
        FROM log, bounds GROUP BY ALL
        """
    )
    _, cell = np.unique(sums["cell"], return_inverse=True)
    names, segment = np.unique(sums["segment"].astype(str), return_inverse=True)
    count, total, squares = sums["count"], sums["total"], sums["squares"]
    rows_of = np.bincount(cell, count)
    mean = np.bincount(cell, total) / rows_of
    spread = float(squares.sum() - (rows_of * mean**2).sum()) / max(float(rows_of.sum() - len(rows_of)), 1.0)
    if spread <= 0 or len(names) < FEWEST:
        return 0.0
    excess = np.bincount(segment, total - count * mean[cell])
    # Part of each cell's mean is the segment itself.
    share = np.bincount(segment, count * (1 - count / rows_of[cell]))
    return float((excess**2 / np.maximum(share * spread, 1e-300)).sum() / (len(names) - 1))
