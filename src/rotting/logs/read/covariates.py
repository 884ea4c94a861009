"""The columns beside those that are used: what else may change what an arm earns, and what contradicts the log.

Position, slate, segments, campaign; spend, reach and frequency; currencies, time zones. A changing mix of
them looks like wear-out. Positions, slates and segments become strata; the others are only told.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Sequence

from rotting.errors import quoted
from rotting.logs.read.columns import NO_SUMS, Columns, existing, is_money
from rotting.logs.read.names import REWARDS, called, is_called, mentions, plain_words
from rotting.logs.read.numbers import Numbers, are_numbers, numbers_of
from rotting.logs.read.options import LogError
from rotting.logs.read.rules import Rule, abiding
from rotting.logs.read.tables import Source, in_sql, list_in_sql, text_in_sql

# A column with this many values may hold segments; so many such columns are looked at.
FEWEST, MOST = 2, 30
MOST_COLUMNS = 4
NUMBERED, AMOUNTS = ("position", "slate"), ("spend", "reach", "frequency", "propensity")
# Larger positions and slates are put together by half octaves.
LARGEST_ALONE = 20
# Slices of time by which columns are compared, and the chi-squared per degree of freedom above which one matters.
SLICES, MATTERS = 16, 4.0
_ZONES = (
    "Column {beside} names {zones} time zones, which were not looked at: unless times are in UTC, rows may be out of "
    "order by hours."
)
_SHARED_NAMES = (
    "Arms of one name in several {beside} were taken together ({arms:,} of them): if they are not the same, choose a "
    "column of identifiers as the arm."
)
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
    place: str = ""  # the column of the rows that holds its values
    varies: bool = False
    matters: float = 0.0  # how much more its values differ than by chance, per degree of freedom, within arms and times

    @property
    def can_be_stratum(self) -> bool:
        """Whether exposures can be told apart by its values."""
        return self.role not in AMOUNTS


def find_covariates(
    source: Source, columns: Columns, probability: str | None, numbers: Numbers
) -> dict[Covariate, str]:
    """Return the columns that may matter beside those that are used, by their names and values; and SQL for each.

    Amounts that cannot be read for sure are left out.
    """
    beside = [each for each in source.columns if each not in columns.used]
    numeric = [each for each in beside if are_numbers(source.sample[each])]
    sums = [each for each in numeric if not mentions(each, "ratio", "part", "counted")]
    found = {role: called(numeric, role, whole=True) for role in (*NUMBERED, "frequency", "propensity")}
    found |= {role: called(sums, role) for role in ("spend", "reach")}
    if probability is not None:
        found["propensity"] = [existing("probability", probability, source.columns)]
    chosen = {names[0]: role for role, names in found.items() if names}
    few = [each for each in beside if each not in {*chosen, columns.possible_unit} and source.varies(each)]
    chosen |= dict.fromkeys(called(few, "campaign", whole=True)[:1], "campaign")
    known = [each for each in few if mentions(each, "segment") and not mentions(each, *_NEVER)]
    names = [each for each in few if not is_called(each, "campaign", "arm", "event", "currency", "zone")]
    texts = [each for each in names if each not in numeric and not mentions(each, *_NEVER)]
    likely = list(dict.fromkeys([*known, *texts]))[: 2 * MOST_COLUMNS]
    segments = [each for each in likely if FEWEST <= source.distinct(each) <= MOST][:MOST_COLUMNS]
    fields: dict[Covariate, str] = {}
    for name, role in (chosen | dict.fromkeys(segments, "segment")).items():
        each = Covariate(name, role, f"beside_{len(fields)}")
        with contextlib.suppress(LogError):
            if each.can_be_stratum:
                fields[each] = _stratum(each)
            else:
                amount = numbers_of(source, {role: name}, numbers.mark).sql(name, source.kinds[name])
                fields[each] = f"{amount} / 1e6" if "micros" in plain_words(name) else amount
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


def weighed(rows: Source, covariates: Sequence[Covariate], aggregated: bool) -> list[Covariate]:
    """Return covariates with what the rows say about them."""
    if not covariates:
        return []
    bounds = ", ".join(f"min({each.place}) != max({each.place}) AS {each.place}" for each in covariates)
    any_own = ", ".join(f"bool_or({each.place})" for each in covariates)
    [varies] = rows.find(f"SELECT {any_own} FROM (SELECT {bounds} FROM log GROUP BY arm)")
    return [
        dataclasses.replace(
            each,
            varies=bool(moves),
            matters=_importance(rows, each.place, aggregated) if moves and each.can_be_stratum else 0.0,
        )
        for each, moves in zip(covariates, varies, strict=True)
    ]


def strata_of(rows: Source, covariates: Sequence[Covariate]) -> tuple[Source, tuple[str, ...], tuple[str, ...]]:
    """Return the rows with a column `segment`, a number for each stratum; the columns that make strata; their names.

    Strata are made of positions and slates, and of what matters most, as long as there are not too many of them.
    """
    chosen: list[Covariate] = []
    label, names = "''", [""]
    for each in sorted(covariates, key=lambda each: -each.matters):
        if each.matters >= MATTERS or (each.role in NUMBERED and each.varies):
            wider = f"concat_ws(' | ', {', '.join(one.place for one in [*chosen, each])})"
            found = rows.find(f"SELECT DISTINCT {wider} AS label FROM log ORDER BY 1 LIMIT {MOST + 1}")
            if len(found) <= MOST:
                chosen, label, names = [*chosen, each], wider, [row[0] for row in found]
    coded = rows.select(f"SELECT *, list_position([{list_in_sql(names)}], {label}) - 1 AS segment FROM log")
    return coded, tuple(each.name for each in chosen), tuple(names if chosen else ())


def _importance(rows: Source, column: str, aggregated: bool) -> float:
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


def look_beside(source: Source, columns: Columns) -> Source:
    """Refuse what the other columns contradict, and say what must be said."""
    _refuse_repeated(source, columns)
    _refuse_currencies(source, columns)
    rules = []
    for column in source.columns:
        name, beside = text_in_sql(column), in_sql(column)
        if column in columns.used:
            continue
        if is_called(column, "zone") and columns.time is not None:
            text = f"nullif(trim({beside}::VARCHAR), '')"
            zones = f"SELECT {name} AS beside, count(DISTINCT {text}) AS zones FROM log HAVING zones > 1"
            rules.append(Rule(zones, _ZONES, refused=False))
        if is_called(column, "campaign") and "arm" in columns.guessed:
            shared = f"SELECT {in_sql(columns.arm)} AS arm FROM log GROUP BY arm HAVING count(DISTINCT {beside}) > 1"
            arms = f"SELECT {name} AS beside, count(arm) AS arms FROM ({shared}) HAVING arms > 0"
            rules.append(Rule(arms, _SHARED_NAMES, refused=False))
    return abiding(source, rules, {})


def dimensions(source: Source, columns: Columns) -> list[str]:
    """Return the columns that say what a row of sums is about, beside its arm and time: names, and no numbers."""
    if not columns.aggregated:
        return []
    rest = [column for column in source.columns if column not in columns.used]
    names = ("id", "ids", "code", "key", "uuid", "zip", "hour")
    return [
        column
        for column in rest
        if set(plain_words(column)) & set(names) or not all(are_numbers([text]) for text in source.sample[column])
    ]


def _refuse_repeated(source: Source, columns: Columns) -> None:
    """Refuse a column that is not the only one of its name: which of them is meant is unknown."""
    for column in sorted(filter(None, columns.used)):
        name = re.sub(r"_[0-9]+$", "", column)
        if name.strip().lower() in source.repeated:
            problem, expected = f"several columns are called {quoted(name)}", "a name of its own for each"
            raise LogError(problem, owner=source.name, expected=expected, hint="rename or remove one")


def _refuse_currencies(source: Source, columns: Columns) -> None:
    """Refuse amounts in several currencies, where a column beside them names it."""
    for column in source.columns if is_money(columns.reward) else ():
        texts = source.sample[column]
        # "Spend in account currency" holds amounts.
        named = mentions(column, "currency") and not are_numbers(texts)
        if column in (columns.arm, columns.reward) or not (named or _are_codes(texts)):
            continue
        found = source.values(column)
        if len(found) > 1 and (named or _are_codes(found)):
            listed = ", ".join(map(quoted, found[:4]))
            problem = f"is in different currencies (column {quoted(column)}: {listed})"
            hint = "convert the amounts first, or leave the rows of one currency"
            raise LogError(problem, owner=f"reward column {columns.reward!r}", expected="one currency", hint=hint)


def _are_codes(texts: list[str]) -> bool:
    """Say whether texts are codes of currencies, which tell such a column whatever it is called."""
    return bool(texts) and all(is_called(text, "code of a currency") for text in texts)
