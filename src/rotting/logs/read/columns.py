"""Which column is which: as given, or guessed from the names."""

from __future__ import annotations

import dataclasses
import difflib
import re

from rotting.errors import BadValue, quoted

# The likeliest names first.
USUAL_NAMES = {
    "arm": "arm item_id item creative_id creative_name creative ad_id ad_name ad template_id template variant "
    "variation treatment banner_id banner article_id product_id content_id asset_id asset video_id video keyword "
    "anzeige annonce anuncio annuncio advertentie sku asin pin exercise_id message_id subject option action choice",
    "reward": "reward click clicked clicks link_clicks is_click klicks clics conversion conversions converted purchase "
    "purchases purchased sales results revenue conv_value opened opens open rating score success correct value label "
    "outcome",
    "time": "timestamp time datetime event_time ts date created_at shown_at at day hour reporting_starts date_start "
    "start_date datum jour fecha week month round step",
    "unit": "user_id user unit_id unit visitor_id customer_id session_id device_id member_id uid",
    "impressions": "impressions impr displays exposures impressionen impresiones impressioni",
    "probability": "probability propensity",
}
# Taken for the arm only where there is nothing finer: campaigns hold many ads.
COARSE_ARMS = "campaign_id campaign_name campaign"
# Rewards that are numbers of something, and no amounts of money.
_COUNTED = "click clicked clicks klicks clics conversion conversions converted purchases opened opens open installs"
COUNTED = frozenset(_COUNTED.split())
# Names that may mean the number of exposures of a row, or something else: asked for, and never guessed.
_PERHAPS = "impression views viewed sends sent delivered deliveries shown shows trials visitors recipients reach"
PERHAPS_IMPRESSIONS = frozenset(_PERHAPS.split())
# Words of columns that are no sums of rewards: rates, prices, what was paid, and what did not happen.
_OTHERS = "rate ctr cvr cpc cpm cpa roas cost spend spent amount per avg average share through not non without"
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
    every_row: bool = False  # whether it was said that every row is one exposure
    other_rewards: tuple[str, ...] = ()  # that could be meant as well as the one that was guessed

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
    if words_of(chosen.get("impressions", "")) & {"thousand", "thousands", "000", "k", "millions"}:
        problem = f"column {quoted(chosen['impressions'])} seems to hold thousands of exposures"
        raise LogError(
            problem, expected="numbers of exposures", hint="multiply them, or name a column with {impressions}"
        )
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
        every_row,
        _alike(chosen["reward"], rest) if "reward" in guessed else (),
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
    if role in ("reward", "impressions"):
        columns = [column for column in columns if not words_of(column) & _NO_REWARD and "%" not in column]
    found = _named_so(USUAL_NAMES[role].split(), columns, by_word=role != "impressions")
    if found is None and role == "arm":
        found = _named_so(COARSE_ARMS.split(), columns, by_word=True)
    if found is None and role == "impressions":
        found = next((column for column in columns if split_name(column)[:1] in (["impressions"], ["impr"])), None)
    return found


def _named_so(names: list[str], columns: list[str], by_word: bool) -> str | None:
    """Return the first column that has one of these names, the likeliest first."""
    for name in names:
        for column in columns:
            # Inside a structure, "metrics.clicks", the last part is the name.
            if name in ("_".join(split_name(column)), "_".join(split_name(column.rpartition(".")[2]))):
                return column
    for name in names if by_word else ():
        for column in columns:
            if name in words_of(column):
                return column
    return None


def _alike(reward: str, others: list[str]) -> tuple[str, ...]:
    """Return the columns that count the same thing as the reward, in another way.

    >>> _alike("Unique clicks", ["Clicks (all)", "Cost per click", "Day"])
    ('Clicks (all)',)
    """
    if "_".join(split_name(reward)) in USUAL_NAMES["reward"].split():
        return ()
    meant = words_of(reward) & COUNTED
    return tuple(column for column in others if words_of(column) & meant and not words_of(column) & _NO_REWARD)


def names_rate(column: str) -> bool:
    """Say whether a column's name is that of a rate.

    >>> names_rate("CTR (all)"), names_rate("Clicks (all)")
    (True, False)
    """
    return bool(words_of(column) & {"rate", "ctr", "cvr"})


def _may_count(column: str) -> bool:
    """Say whether a column may hold numbers of exposures, by its name; identifiers do not.

    >>> _may_count("Views"), _may_count("impression_id")
    (True, False)
    """
    words = words_of(column)
    return bool(words & PERHAPS_IMPRESSIONS) and not words & {"id", "uuid", "key"}


def is_money(reward: str) -> bool:
    """Say whether a reward may be an amount of money, by its name.

    >>> is_money("Revenue"), is_money("Link clicks")
    (True, False)
    """
    return not words_of(reward) & COUNTED or bool(words_of(reward) & {"value", "revenue", "amount"})


def split_name(column: str) -> list[str]:
    """Return the words of a column's name, in small letters and in order."""
    return [word for word in re.split(r"[^a-z0-9]+", column.lower()) if word]


def words_of(column: str) -> set[str]:
    """Return the words of a column's name."""
    return set(split_name(column))


def in_sql(column: str) -> str:
    """Return a column's name as SQL writes it: there are no parameters for names.

    >>> in_sql('an "ad" so')
    '"an ""ad"" so"'
    """
    return '"' + column.replace('"', '""') + '"'


def _listed(columns: list[str]) -> str:
    shown = columns[:12]
    return ", ".join(map(quoted, shown)) + (", ..." if len(columns) > len(shown) else "")
