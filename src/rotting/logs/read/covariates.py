"""What else may change what an arm earns: position, slate, segments, campaign; spend, reach and frequency.

A changing mix of them looks like wear-out. Positions, slates and segments become strata; the others are only told.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Sequence

from rotting.logs.read.columns import NO_SUMS, Columns, existing
from rotting.logs.read.names import REWARDS, called, is_called, mentions
from rotting.logs.read.numbers import Numbers, are_numbers, numbers_of
from rotting.logs.read.options import LogError
from rotting.logs.read.sources import Source
from rotting.logs.read.tables import Table, in_sql, list_in_sql

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
    numbers = [each for each in beside if are_numbers(source.sample[each])]
    sums = [each for each in numbers if not mentions(each, "ratio", "part", "counted")]
    found = {role: called(numbers, role, whole=True) for role in (*NUMBERED, "frequency", "propensity")}
    found |= {role: called(sums, role) for role in ("spend", "reach")}
    if probability is not None:
        found["propensity"] = [existing("probability", probability, source.columns)]
    chosen = {names[0]: role for role, names in found.items() if names}
    few = [each for each in beside if each not in {*chosen, columns.possible_unit} and source.varies(each)]
    chosen |= dict.fromkeys(called(few, "campaign", whole=True)[:1], "campaign")
    known = [each for each in few if mentions(each, "segment") and not mentions(each, *_NEVER)]
    texts = [each for each in few if each not in numbers and not _says_other(each)]
    likely = list(dict.fromkeys([*known, *texts]))[: 2 * MOST_COLUMNS]
    segments = [each for each in likely if FEWEST <= source.distinct(each) <= MOST][:MOST_COLUMNS]
    return [Covariate(name, role) for name, role in (chosen | dict.fromkeys(segments, "segment")).items()]


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
    label, names = "''", [""]
    for number, each in sorted(enumerate(covariates), key=lambda pair: -pair[1].matters):
        if each.matters >= MATTERS or (each.role in NUMBERED and each.varies):
            wider = f"concat_ws(' | ', {', '.join(f'beside_{each}' for each in [*chosen, number])})"
            found = [
                row[0] for row in rows.find(f"SELECT DISTINCT {wider} AS label FROM log ORDER BY 1 LIMIT {MOST + 1}")
            ]
            if len(found) <= MOST:
                chosen, label, names = [*chosen, number], wider, found
    coded = rows.select(f"SELECT *, list_position([{list_in_sql(names)}], {label}) - 1 AS segment FROM log")
    return coded, tuple(covariates[number].name for number in chosen), tuple(names if chosen else ())


def _importance(rows: Table, column: str, aggregated: bool) -> float:
    """Return how much more the values of a column differ than by chance, per degree of freedom, within arms and times.

    Aggregated rewards are numbers of successes, each of which has the square 1. Part of each cell's mean is the value
    itself.
    """
    [[found]] = rows.find(
        f"""
        WITH bounds AS (SELECT min(time) AS first, max(time) AS last, max(place) AS rows FROM log),
        sums AS (SELECT hash(arm, floor(coalesce((time - first) / nullif(last - first, 0), place / nullif(rows, 0), 0)
            * {SLICES})) AS cell, {column} AS segment, sum(impressions)::DOUBLE AS count, sum(reward) AS total,
            sum({"reward" if aggregated else "reward * reward"}) AS squares FROM log, bounds GROUP BY ALL),
        cells AS (SELECT *, sum(count) OVER own AS shown, sum(total) OVER own / sum(count) OVER own AS mean FROM sums
            WINDOW own AS (PARTITION BY cell)),
        noise AS (SELECT (sum(squares) - sum(mean * total)) / greatest(sum(count) - count(DISTINCT cell), 1) AS spread
            FROM cells),
        values AS (SELECT sum(total - count * mean) AS excess, sum(count * (1 - count / shown)) AS own FROM cells
            GROUP BY segment)
        SELECT sum(excess * excess / greatest(own * spread, 1e-300)) / nullif(count(*) - 1, 0) FROM values, noise
        WHERE spread > 0
        """
    )
    return float(found or 0.0)
