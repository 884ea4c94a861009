"""The tables of docs/value.md about how right evaluations are, from evaluate.json.

python benchmarks/value_tables.py           # prints them
python benchmarks/value_tables.py --write   # writes them into the page; a test checks that it holds every line
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("evaluate.json")
PAGE = Path(__file__).parents[1] / "docs" / "value.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of all tables."""
    for part, table in TABLES.items():
        if part in found:
            yield from table(found[part])
            yield ""


def next_decision(found: dict[str, Any]) -> Iterator[str]:
    """Yield how often intervals of target 1 hold the truth."""
    yield "| target 1, 90 % intervals | policy | told | doubly robust | length | self-normalised | plain weights |"
    yield "|---|---|---|---|---|---|---|"
    for name, row in found.items():
        for policy, each in row.items():
            if policy == "rare":
                continue
            told = f"{each['told']} of {each['logs']}"
            if each["told"]:
                covers, length = each["covers"], each["length"]["dr"]
                rest = f"{covers['dr']:.1%} | {1000 * length:.3g} | {covers['snips']:.1%} | {covers['ips']:.1%}"
            else:
                rest = "| | | "
            yield f"| {name} | {policy} | {told} | {rest} |"


def running(found: dict[str, Any]) -> Iterator[str]:
    """Yield how often intervals of target 2 hold the truth, with the bias of target 1 beside."""
    yield "| target 2, 90 % intervals | policy | told | holds | truth | bias | length | decisions | bias of target 1 |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, row in found.items():
        for policy, each in row.items():
            told = f"{each['told']} of {each['logs']}"
            rest = "| | | | |"
            if each["told"]:
                one = each["bias of target 1"]
                numbers = (each["truth"], each["bias"], each["length"])
                shown = " | ".join(f"{1000 * number:.3g}" for number in numbers)
                rest = f"{each['covers']:.0%} | {shown} | {each['decisions']:,} | "
                rest += "" if one is None else f"{1000 * one:.3g}"
            yield f"| {name} | {policy} | {told} | {rest} |"


def open_bandit(found: dict[str, Any]) -> Iterator[str]:
    """Yield what each policy's log of Open Bandit says of the other."""
    yield "| Open Bandit, per 1000 | really | told by the other's log | z | effective rows |"
    yield "|---|---|---|---|---|"
    for name, row in found.items():
        told = f"not told: {row['refused']}"
        z = ""
        if not row["refused"]:
            point, low, high = (f"{1000 * each:.3g}" for each in row["next_decision"])
            told, z = f"{point} ({low} to {high})", f"{row['z']:.2f}"
        really = f"{1000 * row['actual']:.3g} ({row['clicks']} clicks)"
        yield f"| {name} | {really} | {told} | {z} | {row['effective rows']:,} |"


def speed(found: dict[str, Any]) -> Iterator[str]:
    """Yield what a million rows cost."""
    yield "| rows, ten policies | processor seconds | seconds |"
    yield "|---|---|---|"
    for rows, took in found.items():
        yield f"| {int(rows):,} | {took['processor seconds']:g} | {took['seconds']:g} |"


TABLES = {"next": next_decision, "running": running, "open": open_bandit, "speed": speed}


def main() -> None:
    """Print the tables, or write them into the page."""
    text = "\n".join(lines(json.loads(RESULTS.read_text()))).strip()
    if "--write" not in sys.argv[1:]:
        print(text)
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
