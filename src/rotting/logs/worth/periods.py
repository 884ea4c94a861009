"""Two periods of a log compared: what arms earned before one date, and from another on."""

from __future__ import annotations

import dataclasses
import datetime
import math
from typing import TYPE_CHECKING

from rotting.logs.read.clocks import FIRST_DATE
from rotting.logs.read.columns import Columns, LogError
from rotting.logs.worth.estimates import NINETY, Estimate

if TYPE_CHECKING:
    from rotting.logs.read.tables import Source

ALL_ARMS = "all arms"
LEAST_ROWS = 2


@dataclasses.dataclass(frozen=True)
class Earned:
    """What an arm earned in a period."""

    exposures: int
    mean: float | None  # None without exposures
    error: float  # standard error of the mean


@dataclasses.dataclass(frozen=True)
class Change:
    """An arm in both periods; the change of its mean reward has a 90 % interval, or is None where it was not shown."""

    arm: str
    before: Earned
    after: Earned
    change: Estimate | None


@dataclasses.dataclass(frozen=True)
class Comparison:
    """All arms before one moment, and from another on; the first row is that of all arms together."""

    before: str
    after: str
    changes: tuple[Change, ...]


def compare_periods(rows: Source, columns: Columns, before: str | None, after: str | None) -> Comparison | None:
    """Return the rows of a log before one moment compared with those from another on (default: the same)."""
    if not (before or after):
        return None
    ends, begins = str(before or after), str(after or before)
    if columns.time is None:
        raise LogError("cannot be told without times", name="before" if before else "after", value=ends)
    [[first, last]] = rows.find("SELECT min(time), max(time) FROM log")
    dates = first >= FIRST_DATE
    limits = [moment_of(ends, "before", dates), moment_of(begins, "after", dates)]
    if limits[0] > limits[1]:
        raise LogError("the periods overlap", name="before", value=ends, expected=f"no later than {begins}")
    for name, value, empty in (("before", ends, limits[0] <= first), ("after", begins, limits[1] > last)):
        if empty:
            raise LogError("leaves no row in its period", name=name, value=value, expected="a time within the log")
    n = "impressions::DOUBLE" if columns.aggregated else "1::DOUBLE"
    wanted = (f"sum({n})", "sum(reward)", "sum(reward * reward)", f"sum(reward * {n})", f"sum({n} * {n})", "count(*)")
    periods = ("time < $1", "time >= $2")
    sums = ", ".join(f"coalesce({each} FILTER ({period}), 0)" for period in periods for each in wanted)
    found = rows.find(
        f"SELECT coalesce(arm, $3), {sums} FROM log GROUP BY GROUPING SETS ((), (arm, id)) ORDER BY id NULLS FIRST",
        *limits,
        ALL_ARMS,
    )
    return Comparison(ends, begins, tuple(_change(row[0], _earned(*row[1:7]), _earned(*row[7:])) for row in found))


def moment_of(text: str, name: str, dates: bool) -> float:
    """Return a time of the log's clock: a date, or a number where the log has numbers."""
    try:
        if not dates:
            return float(text)
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        expected = "a date such as 2024-01-31, or 2024-01-31T18:00" if dates else "a number, as in the column of times"
        raise LogError("is not a time of this log", name=name, value=text, expected=expected) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _earned(shown: float, total: float, squares: float, mixed: float, weights: float, rows: int) -> Earned:
    """Return a mean with its standard error, from sums over rows of n exposures that earned r: the ratio of sums.

    Its squared error is sum (r - mean n)^2 / (sum n)^2, whether rows are exposures or days.
    """
    if not shown:
        return Earned(0, None, 0.0)
    mean = total / shown
    spread = max(squares - 2 * mean * mixed + mean**2 * weights, 0.0)
    correction = rows / (rows - 1) if rows >= LEAST_ROWS else math.inf
    return Earned(int(shown), mean, math.sqrt(spread * correction) / shown if spread else 0.0)


def _change(arm: str, before: Earned, after: Earned) -> Change:
    if before.mean is None or after.mean is None:
        return Change(arm, before, after, None)
    change, error = after.mean - before.mean, NINETY * math.hypot(before.error, after.error)
    return Change(arm, before, after, Estimate(change, change - error, change + error))
