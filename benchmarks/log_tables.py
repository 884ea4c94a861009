"""The tables of docs/logs.md about how right the diagnosis is, from diagnose.json.

python benchmarks/log_tables.py           # prints them
python benchmarks/log_tables.py --write   # writes them into the page; a test checks that it holds every line
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from log_settings import NULLS, POWER

RESULTS = Path(__file__).with_name("diagnose.json")
PAGE = Path(__file__).parents[1] / "docs" / "logs.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def lines(results: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of all tables."""
    yield from nulls(results["nulls"])
    yield ""
    yield from power(results["power"])
    yield ""
    yield from gains(results["gains"])
    yield ""
    yield from half_lives(results["half_lives"])


def nulls(found: dict[str, Any]) -> Iterator[str]:
    """Yield what is called where nothing wears out."""
    yield "| nothing wears out | can the log tell? | logs | with a call | with a sure gain |"
    yield "|---|---|---|---|---|"
    for setting in NULLS:
        row = found[setting.name]
        sure = str(row["sure_gains"]) if row.get("nobody_gains") else ""
        called = f"{row['logs_with_a_call']}"
        if setting.kind == "cannot" and row["logs_with_a_call"]:
            called += f" ({row['calls_that_name_the_cause']} name the cause)"
        tells = "yes" if setting.kind == "can" else "no"
        yield f"| {setting.says.rstrip('.')} | {tells} | {row['logs']} | {called} | {sure} |"
    able = [found[setting.name] for setting in NULLS if setting.kind == "can"]
    logs, called = (sum(row[name] for row in able) for name in ("logs", "logs_with_a_call"))
    yield f"| **all that can tell** | | {logs} | {called} ({called / logs:.1%}) | |"


def power(found: dict[str, Any]) -> Iterator[str]:
    """Yield what is called where arms wear out."""
    yield "| arms wear out | logs | logs with a true call | of the worn arms called | of the others |"
    yield "|---|---|---|---|---|"
    for setting in POWER:
        row = found[setting.name]
        others = "" if row["false_calls"] is None else f"{row['false_calls']:.0%}"
        says = setting.says.rstrip(".")
        yield f"| {says} | {row['logs']} | {row['logs_with_a_true_call']} | {row['power']:.0%} | {others} |"


def gains(found: dict[str, Any]) -> Iterator[str]:
    """Yield how often true gains lie within their intervals."""
    yield "| world | logs | gains within their 90 % interval | median truth | promise | length of the interval |"
    yield "|---|---|---|---|---|---|"
    for name, row in found.items():
        numbers = " | ".join(f"{row[key]:.1f}" for key in ("median_truth", "median_promise", "median_length"))
        yield f"| {name} | {row['logs']} | {row['coverage']:.0%} | {numbers} |"


def half_lives(found: dict[str, Any]) -> Iterator[str]:
    """Yield how often half-lives lie within their intervals."""
    yield "| exposures of each of five arms, first rate | logs | arms called | told | within the interval | length |"
    yield "|---|---|---|---|---|---|"
    for name, row in found.items():
        inside = "" if row["coverage_where_told"] is None else f"{row['coverage_where_told']:.0%}"
        length = "" if row["median_length"] is None else f"x {row['median_length']:.1f}"
        yield f"| {name} | {row['logs']} | {row['arms_called']:.0%} | {row['told']:.0%} | {inside} | {length} |"


def main() -> None:
    text = "\n".join(lines(json.loads(RESULTS.read_text())))
    if "--write" not in sys.argv:
        print(text)
        return
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
