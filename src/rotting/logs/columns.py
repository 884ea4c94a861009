"""Which column is which: as given, or guessed from the names."""

from __future__ import annotations

import dataclasses
import difflib
import re

from rotting.errors import BadValue, quoted

# The likeliest names first.
USUAL_NAMES = {
    "arm": "arm item_id item creative_id creative ad_id ad_name ad template_id template variant banner_id banner "
    "article_id product_id content_id asset_id asset video_id video keyword campaign_id campaign_name campaign "
    "exercise_id message_id option action choice",
    "reward": "reward click clicked clicks link_clicks is_click conversion conversions converted purchase purchases "
    "purchased sales results revenue conv_value opened opens open rating score success correct value label outcome",
    "time": "timestamp time datetime event_time ts date created_at shown_at at day hour reporting_starts start_date "
    "round step",
    "unit": "user_id user unit_id unit visitor_id customer_id session_id device_id member_id uid",
    "impressions": "impressions impr displays exposures",
    "probability": "probability propensity",
}
# Names that may mean the number of exposures of a row, or something else: asked for, and never guessed.
_PERHAPS = "impression views viewed sends sent delivered deliveries shown shows trials"
PERHAPS_IMPRESSIONS = frozenset(_PERHAPS.split())
# Words of columns that are no sums of rewards: rates, prices and what was paid.
_OTHERS = "rate ctr cvr cpc cpm cpa roas cost spend spent amount per avg average share through"
_NO_REWARD = frozenset(_OTHERS.split())
NO_IMPRESSIONS = "none"
# A column that is added where a log has several files: which of them a row is from.
FILE = "number of the file"


class LogError(BadValue):
    """A log cannot be diagnosed: what is wrong with it, in one sentence that says what to do."""


@dataclasses.dataclass(frozen=True)
class Columns:
    """The columns that are used; `guessed` names the roles whose columns were not given."""

    arm: str
    reward: str
    time: str | None
    unit: str | None
    guessed: tuple[str, ...] = ()
    possible_unit: str | None = None  # looks like a unit, but was not given as one
    impressions: str | None = None  # how many exposures a row stands for; None where every row is one
    possible_impressions: str | None = None  # may be that, but its name does not say so for sure

    @property
    def aggregated(self) -> bool:
        """Whether rows stand for many exposures each, and hold sums of rewards."""
        return self.impressions is not None

    def __str__(self) -> str:
        columns = {"arm": self.arm, "reward": self.reward, "time": self.time, "unit": self.unit}
        if self.aggregated:
            columns["impressions"] = self.impressions
        return ", ".join(
            f"{role}: {'none' if column is None else column}{' (guessed)' if role in self.guessed else ''}"
            for role, column in columns.items()
        )


def choose_columns(
    columns: list[str],
    arm: str | None,
    reward: str | None,
    time: str | None,
    unit: str | None,
    impressions: str | None = None,
) -> Columns:
    """Return the columns to use.

    A unit is never assumed, since counting exposures per user is another question. A column that looks like one is
    only mentioned. The text "none" as `impressions` says that every row is one exposure, whatever columns there are.

    >>> print(choose_columns(["ts", "creative", "Click"], None, None, None, None))
    arm: creative (guessed), reward: Click (guessed), time: ts (guessed), unit: none
    """
    given = {"arm": arm, "reward": reward, "time": time, "unit": unit, "impressions": impressions}
    every_row = impressions == NO_IMPRESSIONS and NO_IMPRESSIONS not in columns
    if every_row:
        del given["impressions"]
    chosen = {role: _existing(role, column, columns) for role, column in given.items() if column is not None}
    guessed = []
    for role in ("arm", "reward", "time") if every_row else ("impressions", "arm", "reward", "time"):
        free = [column for column in columns if column not in chosen.values()]
        if role not in chosen and (guess := _guess(role, free)) is not None:
            chosen[role] = guess
            guessed.append(role)
    for role in ("arm", "reward"):
        if role not in chosen:
            listed = _listed(columns)
            raise LogError(f"no column looks like the {role}; the log has {listed}", hint=f"name it with {{{role}}}")
    used = list(chosen.values())
    for column in used:
        if used.count(column) > 1:
            raise LogError(f"column {quoted(column)} cannot be two things at once", expected="different columns")
    rest = [column for column in columns if column not in used]
    possible_unit = None if "unit" in chosen else _guess("unit", rest)
    if "impressions" in chosen and "unit" in chosen:
        problem = "cannot be counted per unit, since each row stands for many exposures"
        raise LogError(problem, name="unit", value=unit, hint="leave out {unit}")
    known = every_row or "impressions" in chosen
    perhaps = None if known else next((column for column in rest if _may_count(column)), None)
    return Columns(
        chosen["arm"],
        chosen["reward"],
        chosen.get("time"),
        chosen.get("unit"),
        tuple(guessed),
        possible_unit,
        chosen.get("impressions"),
        perhaps,
    )


def probability_column(columns: list[str], given: str | None) -> str | None:
    """Return the column of the probability with which an arm was chosen, or None."""
    return _guess("probability", columns) if given is None else _existing("probability", given, columns)


def _existing(role: str, given: str, columns: list[str]) -> str:
    """Return the column that was asked for, or raise an error with the nearest names."""
    if given in columns:
        return given
    by_lower_case = {column.lower(): column for column in columns}
    near = difflib.get_close_matches(str(given).lower(), by_lower_case, n=3, cutoff=0.5)
    meant = " or ".join(quoted(by_lower_case[name]) for name in near)
    hint = f"did you mean {meant}?" if near else f"the log has {_listed(columns)}"
    raise LogError("is not a column of the log", name=role, value=given, hint=hint)


def _guess(role: str, columns: list[str]) -> str | None:
    """Return the column whose name is the likeliest for a role: by the whole name, or else by a word of it."""
    names = USUAL_NAMES[role].split()
    if role in ("reward", "impressions"):
        columns = [column for column in columns if not _words(column) & _NO_REWARD and "%" not in column]
    for name in names:
        for column in columns:
            if "_".join(_split(column)) == name:
                return column
    if role == "impressions":
        return next((column for column in columns if _split(column)[:1] in (["impressions"], ["impr"])), None)
    for name in names:
        for column in columns:
            if name in _words(column):
                return column
    return None


def names_rate(column: str) -> bool:
    """Say whether a column's name is that of a rate.

    >>> names_rate("CTR (all)"), names_rate("Clicks (all)")
    (True, False)
    """
    return bool(_words(column) & {"rate", "ctr", "cvr"})


def _may_count(column: str) -> bool:
    """Say whether a column may hold numbers of exposures, by its name; identifiers do not.

    >>> _may_count("Views"), _may_count("impression_id")
    (True, False)
    """
    words = _words(column)
    return bool(words & PERHAPS_IMPRESSIONS) and not words & {"id", "uuid", "key"}


def _split(column: str) -> list[str]:
    return [word for word in re.split(r"[^a-z0-9]+", column.lower()) if word]


def _words(column: str) -> set[str]:
    return set(_split(column))


def _listed(columns: list[str]) -> str:
    shown = columns[:12]
    return ", ".join(map(quoted, shown)) + (", ..." if len(columns) > len(shown) else "")
