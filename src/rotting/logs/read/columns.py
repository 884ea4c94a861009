"""Which column is which: as given, or guessed from the names, as far as the values fit."""

from __future__ import annotations

import dataclasses
import difflib

from rotting.errors import quoted
from rotting.logs.read.moments import find_time
from rotting.logs.read.names import REWARDS, called, is_called, mentions, plain_words, shared_names
from rotting.logs.read.numbers import are_numbers
from rotting.logs.read.options import LogError as LogError
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.tables import Source

NO_IMPRESSIONS = "none"
# The last word of names such as clicked_at, which hold times.
MOMENTS = {"at", "time", "date", "timestamp", "ts"}
NO_SUMS = ("ratio", "part", "spend")
# Different values that identifiers have at least, in the rows that are looked at.
LEAST_UNITS = 10


@dataclasses.dataclass(frozen=True)
class Columns:
    """The columns that are used; `guessed` names the roles whose columns were not given."""

    arm: str
    reward: str
    time: str | None = None
    unit: str | None = None
    guessed: tuple[str, ...] = ()
    possible_unit: str | None = None  # looks like a unit, but was not given as one
    impressions: str | None = None  # how many exposures a row stands for; None where every row is one
    possible_impressions: str | None = None  # may be that, but its name does not say so for sure
    every_row: bool = False  # whether it was said that every row is one exposure

    @property
    def aggregated(self) -> bool:
        """Whether rows stand for many exposures each, and hold sums of rewards."""
        return self.impressions is not None

    @property
    def used(self) -> set[str | None]:
        """The columns that have a role."""
        return {self.arm, self.reward, self.time, self.unit, self.impressions}

    def __str__(self) -> str:
        roles = ("arm", "reward", "time", "unit", *(("impressions",) if self.aggregated else ()))
        return ", ".join(
            f"{role}: {getattr(self, role) or 'none'}{' (guessed)' if role in self.guessed else ''}" for role in roles
        )


def choose_columns(source: Source, options: ReadOptions, known: dict[str, str]) -> tuple[Source, Columns]:
    """Return the columns to use, and the log with a time that was put together, if it was.

    `known` are columns of tables that were made from the log. A unit is never assumed, since counting exposures per
    user is another question: a column that looks like one is only mentioned. The text "none" as `impressions` says
    that every row is one exposure, whatever columns there are.
    """
    roles = ("impressions", "arm", "reward", "time", "unit")
    given = {role: getattr(options, role) for role in roles} | known
    every_row = given["impressions"] == NO_IMPRESSIONS and NO_IMPRESSIONS not in source.columns
    if every_row:
        del given["impressions"]
    chosen = {role: existing(role, column, source.columns) for role, column in given.items() if column is not None}
    asked = set(chosen)
    for role in roles[every_row:3]:
        free = [column for column in source.columns if column not in chosen.values()]
        guess = None if role in chosen else next(iter(_candidates(role, free, source)), None)
        if guess is not None:
            chosen[role] = guess
    _check(chosen, options, source)
    source = source if "time" in chosen else find_time(source, chosen)
    rest = [column for column in source.columns if column not in chosen.values()]
    perhaps = [column for column in rest if not mentions(column, *NO_SUMS, "unit") and "id" not in plain_words(column)]
    counts = (
        ()
        if every_row or "impressions" in chosen
        else called(perhaps, "impressions") or called(perhaps, "perhaps", "reach")
    )
    # Texts such as Low and High tell no users apart.
    units = [] if "unit" in chosen else [each for each in called(rest, "unit") if source.distinct(each) >= LEAST_UNITS]
    if "reward" not in asked and (others := _alike(chosen["reward"], rest)):
        listed = ", ".join(map(repr, others[:4]))
        said = f"Column {chosen['reward']!r} was taken for the reward; {listed} could be meant as well: choose one."
        source = source.saying(said)
    columns = Columns(
        **chosen,
        guessed=tuple(role for role in roles if role in chosen and role not in asked),
        possible_unit=next(iter(units), None),
        possible_impressions=next(iter(counts), None),
        every_row=every_row,
    )
    return source, columns


def _candidates(role: str, free: list[str], source: Source) -> list[str]:
    """Return the columns that may have a role, the likeliest first; those that never change come last."""
    if role == "impressions":
        sums = [column for column in free if not mentions(column, *NO_SUMS) and "%" not in column]
        found = sorted(called(sums, role, whole=True), key=len)
        if len(found) > 1 and "(" in found[0]:
            problem = (
                f"several columns may hold how many exposures a row stands for ({', '.join(map(quoted, found[:4]))})"
            )
            raise LogError(problem, hint="name one with {impressions}, or write a row for each arm")
        return found
    if role == "reward":
        sums = [each for each in free if not mentions(each, *NO_SUMS, "in words") and "%" not in each]
        sums = [each for each in sums if not {*plain_words(each)[-1:]} & MOMENTS]
        found = [column for column in called(sums, *REWARDS) if are_numbers(source.sample[column])]
    else:
        sums = [each for each in free if mentions(each, "perhaps") and are_numbers(source.sample[each])]
        sums += [each for each in free if mentions(each, "thing", "counted", *NO_SUMS)]
        things = [each for each in free if is_called(each, "arm") or each not in sums]
        found = called(things, "arm") or called(free, "campaign")
    return sorted(found, key=lambda column: len(found) > 1 and not source.varies(column))


def _check(chosen: dict[str, str], options: ReadOptions, source: Source) -> None:
    """Refuse a choice that lacks an arm or a reward, or that contradicts itself."""
    for role in ("arm", "reward"):
        if role not in chosen:
            problem = f"no column looks like the {role}; the log has {_listed(source.columns)}"
            raise LogError(problem, hint=f"name it with {{{role}}}")
    used = list(chosen.values())
    for column in used:
        if used.count(column) > 1:
            raise LogError(f"column {quoted(column)} cannot be two things at once", expected="different columns")
    if "impressions" in chosen and "unit" in chosen:
        problem = "cannot be counted per unit, since each row stands for many exposures"
        raise LogError(problem, name="unit", value=options.unit, hint="leave out {unit}")
    if set(plain_words(chosen.get("impressions", ""))) & {"thousand", "thousands", "000", "k", "millions"}:
        problem = f"column {quoted(chosen['impressions'])} seems to hold thousands of exposures"
        hint = "multiply them, or name a column with {impressions}"
        raise LogError(problem, expected="numbers of exposures", hint=hint)


def existing(role: str, given: str, columns: list[str]) -> str:
    """Return the column that was asked for, or raise an error with the nearest names."""
    if given in columns:
        return given
    by_lower_case = {column.lower(): column for column in columns}
    near = difflib.get_close_matches(str(given).lower(), by_lower_case, n=3, cutoff=0.5)
    meant = " or ".join(quoted(by_lower_case[name]) for name in near)
    hint = f"did you mean {meant}?" if near else f"the log has {_listed(columns)}"
    raise LogError("is not a column of the log", name=role, value=given, hint=hint)


def _alike(reward: str, others: list[str]) -> list[str]:
    """Return the columns that count the same thing as the reward, in another way.

    >>> _alike("Unique clicks", ["Clicks (all)", "Cost per click", "Day"])
    ['Clicks (all)']
    """
    sums = [column for column in others if not mentions(column, *NO_SUMS)]
    return [column for column in sums if shared_names(reward, column, "counted")]


def is_money(reward: str) -> bool:
    """Say whether a reward may be an amount of money, by its name.

    >>> is_money("Revenue"), is_money("Link clicks"), is_money("Valor de conversión")
    (True, False, True)
    """
    return mentions(reward, "amount") or not mentions(reward, "counted")


def _listed(columns: list[str]) -> str:
    shown = columns[:12]
    return ", ".join(map(quoted, shown)) + (", ..." if len(columns) > len(shown) else "")
