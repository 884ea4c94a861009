"""Which column is which: as the user says, or guessed from the names."""

from __future__ import annotations

import dataclasses
import difflib
import re

# The likeliest names first.
USUAL_NAMES = {
    "arm": "arm item_id item creative_id creative ad_id ad template_id template variant banner_id banner article_id "
    "product_id content_id campaign_id exercise_id message_id option action choice",
    "reward": "reward click clicked clicks is_click conversion converted purchase purchased revenue opened open rating "
    "score success correct value label outcome",
    "time": "timestamp time datetime event_time ts date created_at shown_at at day round step",
    "unit": "user_id user unit_id unit visitor_id customer_id session_id device_id member_id uid",
}


class LogError(ValueError):
    """What is wrong with a log, in one sentence that says what to do."""


@dataclasses.dataclass(frozen=True)
class Columns:
    """The columns that are used; `guessed` names the roles that nobody stated."""

    arm: str
    reward: str
    time: str | None
    unit: str | None
    guessed: tuple[str, ...] = ()
    possible_unit: str | None = None  # looks like one, but was not asked for

    def __str__(self) -> str:
        def told(role: str) -> str:
            value = getattr(self, role)
            if value is None:
                return f"{role}: none"
            return f"{role}: {value}" + (" (guessed)" if role in self.guessed else "")

        return ", ".join(told(role) for role in ("arm", "reward", "time", "unit"))


def choose_columns(
    columns: list[str], arm: str | None, reward: str | None, time: str | None, unit: str | None
) -> Columns:
    """Return the columns to use.

    A unit is never assumed: counting exposures per user is another question. One that looks like it is only mentioned.

    >>> print(choose_columns(["ts", "creative", "Click"], None, None, None, None))
    arm: creative (guessed), reward: Click (guessed), time: ts (guessed), unit: none
    """
    chosen = {role: _known(role, given, columns) for role, given in _given(arm, reward, time, unit).items()}
    guessed = []
    for role in ("arm", "reward", "time"):
        if chosen[role] is None:
            free = [column for column in columns if column not in chosen.values()]
            if (guess := _guess(role, free)) is not None:
                chosen[role] = guess
                guessed.append(role)
    for role in ("arm", "reward"):
        if chosen[role] is None:
            raise LogError(f"no column looks like the {role}; the log has {_listed(columns)}: name it with --{role}")
    used = [column for column in chosen.values() if column is not None]
    for column in used:
        if used.count(column) > 1:
            raise LogError(f"column {column!r} cannot be two things at once; expected different columns")
    rest = [column for column in columns if column not in used]
    possible = _guess("unit", rest) if chosen["unit"] is None else None
    assert chosen["arm"] is not None
    assert chosen["reward"] is not None
    return Columns(chosen["arm"], chosen["reward"], chosen["time"], chosen["unit"], tuple(guessed), possible)


def _given(arm: str | None, reward: str | None, time: str | None, unit: str | None) -> dict[str, str | None]:
    return {"arm": arm, "reward": reward, "time": time, "unit": unit}


def _known(role: str, given: str | None, columns: list[str]) -> str | None:
    """Return the column that was asked for, or complain with the nearest names."""
    if given is None or given in columns:
        return given
    given = str(given)
    by_lower_case = {column.lower(): column for column in columns}
    near = [by_lower_case[name] for name in difflib.get_close_matches(given.lower(), by_lower_case, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"the log has {_listed(columns)}"
    raise LogError(f"--{role} {given!r}: the log has no such column; {hint}")


def _guess(role: str, columns: list[str]) -> str | None:
    """Return the column whose name is the likeliest for a role: the whole name, or else a word of it."""
    names = USUAL_NAMES[role].split()
    for name in names:
        for column in columns:
            if column.lower() == name:
                return column
    for name in names:
        for column in columns:
            if name in re.split(r"[^a-z0-9]+", column.lower()):
                return column
    return None


def _listed(columns: list[str]) -> str:
    shown = columns[:12]
    return ", ".join(map(repr, shown)) + (", ..." if len(columns) > len(shown) else "")
