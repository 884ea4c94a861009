"""The tables of docs/logs.md about which arms are called, from diagnose.json.

python benchmarks/log_tables.py   # prints them; a test checks that the page holds every line
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("diagnose.json")
NOTHING_WEARS = {
    "table": {
        "constant": "constant",
        "hours_14": "hour-of-day over 14 days",
        "revenue": "revenue with 98 % zeros",
        "late_rewards": "conversions that arrive late, log cut off today, launched together",
        "late_rewards_staggered": "the same, launched one after the other",
        "test_clicks": "40 test clicks at launch",
        "bot_spikes": "three bot spikes of 40 clicks",
        "site_trend": "site-wide fall to a half, launched at different times, levels differing by 15 %",
        "site_trend_together": "the same, launched together (no log can tell, and that is said)",
        "segment_drift": "audience mix drifting for the site, with the segment in a column",
        "segment_drift_of_two": "the same for two arms",
        "autocorrelated": "autocorrelated rewards of an arm",
        "weekdays": "day-of-week over 28 days",
        "weekdays_10": "day-of-week over 10 days",
        "hours": "hour-of-day over 36 hours",
        "adaptive": "collected by Thompson sampling on equal arms",
        "epsilon_greedy": "collected by epsilon-greedy on equal arms",
        "leaving_users": "per user: users who like it more leave sooner",
        "novelty_of_users": "per user: every user is keen at first, on anything",
    },
    "others": {
        "weekends_and_trend": "second family: weekends and a site that falls",
        "resting_arms_and_trend": "second family: arms that rest while the site falls",
        "waves": "second family: a site in waves",
        "site_that_drops": "second family: a site that drops at once",
        "unequal_constants": "second family: unequal arms, nothing falls",
        "numbers_and_trend": "second family: numbers instead of clicks, the site falls",
        "daily_counts": "second family: an export by day, the site falls",
    },
    "anything": {
        "any_site": "third family: any change of the site by 20 to 70 %, any launches, paces, levels and sizes",
        "any_clock": "third family: hours and weekdays at any pace, over 2 to 30 days",
    },
}
WEARS = {
    "table": {
        "wearing": "10 % to 4 %, launched one after the other at a steady pace, levels differing by 20 %",
        "slow_linear": "slow linear wear of 25 %, steady pace",
        "worn_revenue": "revenue that wears out, steady pace",
        "rare_clicks": "1 % click rate, steady pace",
        "tiring_users": "users who tire (per user)",
    },
    "others": {
        "daily_counts_that_wear_out": "second family: an export by day",
        "some_wear_out": "second family: three of six wear out towards a floor",
        "one_wears_out": "second family: one of six",
        "some_wear_out_beside_a_trend": "second family: three of six, beside a site that falls",
        "resting_arms_wear_out": "second family: arms that rest",
        "power_laws": "second family: power laws",
    },
    "anything": {
        "any_quiet_arms": "third family: half of the arms, hardly any noise",
        "any_wear": "third family: all arms lose 30 to 80 %, at any pace, level and size",
    },
}
DRIVERS = ("12 arms, 5000 exposures", "8 arms, 2000 exposures")


def lines(results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield "| truth: nothing wears out | logs | arms called | logs with a call |"
    yield "|---|---|---|---|"
    for part, names in NOTHING_WEARS.items():
        for name, text in names.items():
            row = results[part][name]
            arms, logs = false_calls(row)
            yield f"| {text} | {row['logs']} | {_percent(arms)} | {_percent(logs)} |"
    yield "| truth: wear-out | logs | arms called of those that wear out | of the others |"
    yield "|---|---|---|---|"
    power = results["power"]
    yield f"| click rates fall from 10 % to 4 % (`make_log`) | {power['logs']} | {_percent(power['power'])} | |"
    for part, names in WEARS.items():
        for name, text in names.items():
            row = results[part][name]
            called, false = (row["arms_called"], None) if part == "table" else (row["power"], row["false_calls"])
            others = "" if false is None else f"{_percent(false)} "
            yield f"| {text} | {row['logs']} | {_percent(called)} | {others}|"
    yield "| what drives the fall: named right (wrong) | logs each | exposure | age | calendar |"
    yield "|---|---|---|---|---|"
    for size in DRIVERS:
        found = [results["driver"][f"{size}, {name}"] for name in ("exposure", "age", "calendar")]
        cells = " | ".join(f"{_percent(each['right'])} ({_percent(each['wrong'])})" for each in found)
        yield f"| {size} | {results['driver']['logs_each']} | {cells} |"
    yield "| what a test could reach that knows the true curve | levels alike | differ by 15 % | unknown |"
    yield "|---|---|---|---|"
    for name, text in {"power": "10 % to 4 % (`make_log`)", **WEARS["table"]}.items():
        if name in results["oracle"]:
            cells = " | ".join(map(_percent, results["oracle"][name].values()))
            yield f"| {text} | {cells} |"


def false_calls(row: dict[str, Any]) -> tuple[float, float]:
    """Return the shares of arms, and of logs, that are called though nothing wears out."""
    if "arms_called" in row:
        return row["arms_called"], row["logs_with_a_call"]
    return row["false_calls"], row["logs_with_a_false_call"]


def _percent(share: float) -> str:
    """Return a share as the page writes it: 83 %."""
    return f"{100 * share:.0f} %"


if __name__ == "__main__":
    print("\n".join(lines(json.loads(RESULTS.read_text()))))
