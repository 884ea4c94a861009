"""docs/real_logs.md, from what real_logs.py measured: where the diagnosis fails stands beside where it works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from real_cells import ARMS
from real_sources import SOURCES
from scipy.stats import beta

Row = dict[str, Any]
# The bars of version 0.3 for what is measured here.
MOST_PLACEBOS = 11

INTRODUCTION = """# Real logs: where the diagnosis is right, and where it is not

Measured with version {version} on {date}, by `make real`: it downloads logs that package indexes hold, diagnoses
them, and writes this page. Nothing of them is in the repository. Intervals are 90 %. Generated logs, whose truth is
known, are on [the page on logs](logs.md#how-right-it-is).
"""
AS_THEY_ARE = """## As they are

Beside the diagnosis stand two analyses that use nothing of this package (`benchmarks/independent.py`). *Equal*: the
p-value of "all arms are equal", from rewards that are dealt to exposures at random within each of 24 slices of time. It
takes rewards for independent, so weather and the like make it small. *Falling*: arms whose own slope in exposures is
found by a binomial regression with a level per arm and an effect per slice, of those that have 20 rewards and four
slices; overdispersed, clustered by slice, Benjamini-Hochberg at 5 %.

| log | rows | rewards | arms | called worn | sure gain | equal: p | falling, of tested | overdispersion |
|---|---|---|---|---|---|---|---|---|"""
PLACEBOS = """## Placebos: clicks shuffled over rows

Clicks of Open Bandit are dealt to its rows at random: all arms are equal then, nothing wears out, and nobody can gain
anything, so each call and each sure gain is wrong. The permutations that the diagnosis itself draws are others.
"""
SPIKES = """## Spiked logs: known wear put into real ones

Rewards of one arm, or of three, are deleted with a probability that grows over the arm's exposures, so that the last of
them keeps 40 %. Only arms with at least 200 rewards are touched; Open Bandit has none (16 clicks at most). Arms that
are not touched may fall by themselves: each that is called counts as false all the same.
"""
SPIKED = """
| log | arms touched | logs | with a right call | worn arms called | others called | a plain test: worn arms, others |
|---|---|---|---|---|---|---|"""
CELLS = """## One, two, three rewards

38 equal arms, 10 000 exposures in a week, and one, two or three rewards placed in each cell of an arm and one of 24
slices, or right behind the first exposure of each arm; in a log without other rewards, and in one with 46 of them
anywhere. No call is right. All cells went through the part of the diagnosis that says which arms have rewards enough to
be called, and any that has through the rest of what calls; some cells went through whole diagnoses as well, where gains
are wrong, too, if their intervals exclude 0 (`benchmarks/real_cells.py`).
"""
CELL_ROWS = """
| other rewards | placed | cells | with a call | whole diagnoses | with a call | with a sure gain |
|---|---|---|---|---|---|---|"""
BY_HAND = """## Looked at by hand

Further public logs, diagnosed by the command as they are. Beside the first four stood a regression with a level per
arm and an effect per time, errors autocorrelated, Benjamini-Hochberg at 10 %: it found no falling arm, and none was
called in any of the eight. What was wrong on their pages is mended, but for what is said to be still so.

- 40 ad groups by day, with clicks, conversions and revenue: a fraction of a cent was told as 0.000.
- Late trains by station and month: bad months were called "tests, bots or counting errors".
- Citations and searches at police stops in 80 neighbourhoods: nothing was wrong.
- Home wins of football teams in two tiers: teams were told at the mean of both, 98 % where 74 % were won. Still so: a
  team that won 89 % is told at 76 %, and gains take a team to win in a tier that it never played in what the tier does
  to others.
- A year of pizzas in five sizes: pizzas were told at the mean of all sizes, 32 for one that is sold at 23.65. Still so:
  gains, which take the dearest to be sold as often.
- Grades of lecturers, by student: users who grade an arm once left no noise, and "rewards hardly ever change".
- Scores of cricket matches: dates in words, in a column of another name, were passed over in silence. They are found
  now, and matches of two days refused by row.
- Retweets by device: stray line ends got a page of the database's own words.
"""
TIMING = """## Time and memory

A whole diagnosis, from the file to the page, in a process of its own, on one core. Starting Python is in it, compiling
is not.

| log | processor seconds | peak memory |
|---|---|---|"""
ORIGIN = """## Where the logs come from

| package | what | licence |
|---|---|---|"""


def of(some: int, all_of: int) -> str:
    """Return a count with the 90 % interval of its share.

    >>> of(1, 20)
    '1 of 20 (0 to 22 %)'
    """
    if not all_of:
        return "none"
    low = beta.ppf(0.05, some, all_of - some + 1) if some else 0.0
    high = beta.ppf(0.95, some + 1, all_of - some) if some < all_of else 1.0
    return f"{some} of {all_of} ({100 * low:.0f} to {100 * high:.0f} %)"


def placebo_counts(rows: list[Row]) -> tuple[int, int, int]:
    """Return how many placebos there are, how many have a call, and how many a sure gain."""
    return len(rows), sum(bool(row["called"]) for row in rows), sum(row["sure"] for row in rows)


def spike_counts(rows: list[Row]) -> tuple[int, int, int, int, int, int]:
    """Return spiked logs, those with every and with any of the right arms called, right arms, called, false calls."""
    right = [len(set(row["worn"]) & set(row["called"])) for row in rows]
    false = sum(len(set(row["called"]) - set(row["worn"])) for row in rows)
    whole = sum(hit == len(row["worn"]) for hit, row in zip(right, rows, strict=True))
    return len(rows), whole, sum(map(bool, right)), sum(len(row["worn"]) for row in rows), sum(right), false


def untouched(rows: list[Row]) -> int:
    return sum(row["arms"] - len(row["worn"]) for row in rows)


def summary(results: Row) -> str:
    """Return the bars, one a line."""
    lines = [f"version {results.get('version')}"]
    if rows := results.get("placebos"):
        total, called, sure = placebo_counts(rows)
        lines.append(f"placebos of rows: {of(called, total)} with a call, {of(sure, total)} with a sure gain")
    if rows := results.get("spikes"):
        total, whole, some, arms, right, false = spike_counts(rows)
        lines.append(f"spiked logs: {of(some, total)} with a right call ({whole} with all); {right} of {arms} arms")
        lines.append(f"  untouched arms called: {of(false, untouched(rows))}")
        lines.append(
            f"  a plain test finds {sum(bool(set(r['beside']) & set(r['worn'])) for r in rows)} of {total} logs"
        )
    if rows := results.get("cells"):
        lines += [
            f"rewards in one cell, {part}: {calls_of(own)} of {len(own)} with a call" for part, own in rows.items()
        ]
    for name, row in results.get("timing", {}).items():
        lines.append(f"{name}: {row['processor_seconds']} processor seconds, {row['megabytes']} MB")
    return "\n".join(lines)


def page(results: Row) -> str:
    """Return the page."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Row) -> Iterator[str]:
    yield INTRODUCTION.format(version=results["version"], date=results["date"])
    yield from _as_they_are(results["logs"])
    yield from _placebos(results["placebos"])
    yield from _spikes(results["spikes"])
    yield from _cells(results["cells"])
    yield BY_HAND
    yield from _timing(results["timing"])
    yield ORIGIN
    for function, package, licence in SOURCES.values():
        yield f"| PyPI: {package} | {(function.__doc__ or '').strip()} | {licence} |"


def _as_they_are(rows: list[Row]) -> Iterator[str]:
    yield AS_THEY_ARE
    for row in rows:
        alone = row["beside"]
        both = len(set(row["called"]) & set(alone["found"]))
        gain = "a loss" if row["sure"] else "none"
        cells = (
            row["name"],
            f"{row['rows']:,}".replace(",", " "),
            f"{row['rewards']:,}".replace(",", " "),
            row["arms"],
            row["error"] or f"{len(row['called'])}{f' ({both} of them falling)' if row['called'] else ''}",
            f"at least {row['promise']:.1f} per 1000" if row["promise"] > 0 else gain,
            f"{alone['equal_p']:.3f}",
            f"{len(alone['found'])} of {alone['tested']}",
            alone["dispersion"],
        )
        yield f"| {' | '.join(map(str, cells))} |"
    yield "\nWhat is known of them besides:\n"
    for row in rows:
        yield f"- {row['name']}: {row['known']}."
    yield ""


def _placebos(rows: list[Row]) -> Iterator[str]:
    total, called, sure = placebo_counts(rows)
    yield PLACEBOS
    yield f"**{of(called, total)} have a call, {of(sure, total)} a gain or loss whose interval excludes 0**"
    yield f"(the bar: at most {MOST_PLACEBOS} of 120 each).\n"
    yield "| log | placebos | with a call | with a sure gain |\n|---|---|---|---|"
    for name in dict.fromkeys(row["name"] for row in rows):
        own = placebo_counts([row for row in rows if row["name"] == name])
        yield f"| {name} | {own[0]} | {own[1]} | {own[2]} |"
    yield ""


def _spikes(rows: list[Row]) -> Iterator[str]:
    total, whole, some, arms, right, false = spike_counts(rows)
    yield SPIKES
    yield f"**Logs with a right call: {of(some, total)}** (the bar: half), with every right arm {whole};"
    yield f"{right} of {arms} worn arms. **Others called: {of(false, untouched(rows))}** (the bar: at most 5 %)."
    yield SPIKED
    for name, size in dict.fromkeys((row["name"], len(row["worn"])) for row in rows):
        own = [row for row in rows if row["name"] == name and len(row["worn"]) == size]
        count, _, with_call, worn, hit, wrong = spike_counts(own)
        plain = sum(len(set(row["beside"]) & set(row["worn"])) for row in own)
        other = sum(len(set(row["beside"]) - set(row["worn"])) for row in own)
        called = f"{hit} of {worn} | {wrong} of {untouched(own)}"
        yield f"| {name} | {size} | {count} | {with_call} | {called} | {plain}, {other} |"
    yield ""


def _cells(cells: dict[str, list[Row]]) -> Iterator[str]:
    every, whole = cells["every"], cells["whole"]
    most, fewest = max(row["most_rewards"] for row in every), every[0]["fewest_rewards"]
    same, tested = sum(row["same"] for row in whole), sum(row["tested"] for row in every)
    yield CELLS
    yield f"**{calls_of(every)} of {len(every)} have a call.** Among {ARMS} arms a call takes {fewest} rewards of one;"
    yield f"none has more than {most:.0f} here, and {tested or 'no'} arms could be called. What calls, by itself and in"
    yield f"the whole diagnosis, said the same of each arm in {same} of {len(whole)} cells."
    yield CELL_ROWS
    for pair in dict.fromkeys((row["base"], row["rewards"]) for row in every):
        own, some = ([row for row in rows if (row["base"], row["rewards"]) == pair] for rows in (every, whole))
        sure = sum(row["sure"] for row in some)
        yield f"| {pair[0]} | {pair[1]} | {len(own)} | {calls_of(own)} | {len(some)} | {calls_of(some)} | {sure} |"
    yield ""


def calls_of(rows: list[Row]) -> int:
    """Return how many logs have a call."""
    return sum(row["called"] > 0 for row in rows)


def _timing(rows: Row) -> Iterator[str]:
    yield TIMING
    for name, row in rows.items():
        yield f"| {name} | {row['processor_seconds']} | {row['megabytes']} MB |"
    yield ""
