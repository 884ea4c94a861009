"""The bandit in a simulated world: one seed drives the clock, who runs when, what fails, and what clients ask.

    python -m rotting.testing.simulator --seeds 1000 --jobs 16

Several processes share bandits whose logs are in memory (`rotting.testing.world`). Everything runs in one thread, so a
seed replays exactly. Every few steps it is checked that what was promised holds (`rotting.testing.promises`). A seed
that fails is shrunk to the steps that it needs.

In company (`--company`), callers in coroutines of one process wait in the same line, and some give up at any point; and
processes end and start while others work. Threads that share a process are not simulated: the tests of the queue and
the chaos tests see to them.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from rotting.bandit.store import kept_by
from rotting.testing.world import COMPANY, FAULTS, World

STEPS, CHECK_EVERY = 60, 10


def steps_of(seed: int, number: int = STEPS, company: bool = False) -> list[int]:
    """Return what a seed lets happen: a number for each step; every third one may be in company."""
    dice = random.Random(seed)
    return [dice.randrange(COMPANY) + COMPANY * (company and place % 3 == 0) for place in range(number)]


def play(seed: int, steps: Sequence[int]) -> tuple[Exception | None, Counter[str]]:
    """Play some steps of a seed; returns what went wrong, if anything, and what happened how often."""
    world = World(seed)
    try:
        with kept_by(world.monotonic):
            for place, each in enumerate(steps, start=1):
                world.step(each)
                if place % CHECK_EVERY == 0 or place == len(steps):
                    world.check()
            world.end()
            world.check()
    except Exception as error:
        return error, world.counts
    return None, world.counts


def shrunk(seed: int, steps: list[int]) -> list[int]:
    """Return few of the steps with which a seed still fails: first halves are left out, then quarters, ..."""
    size = len(steps) // 2
    while size:
        for start in range(0, len(steps), size):
            fewer = steps[:start] + steps[start + size :]
            if play(seed, fewer)[0] is not None:
                steps = fewer
                break
        else:
            size //= 2
    return steps


def fails(seed: int, company: bool = False) -> tuple[int, str | None, Counter[str]]:
    """Play a seed; returns it, what went wrong in words, and what happened how often."""
    error, counts = play(seed, steps_of(seed, company=company))
    return seed, None if error is None else f"{type(error).__name__}: {error}", counts


def failures(
    seeds: Sequence[int], jobs: int = 1, company: bool = False
) -> Iterator[tuple[int, str | None, Counter[str]]]:
    """Play seeds, on so many processors."""
    if jobs == 1:
        yield from map(partial(fails, company=company), seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(partial(fails, company=company), seeds, chunksize=8)


def told(counts: Counter[str]) -> str:
    """Return as text what happened how often, and which fault met what a process was doing."""
    table: dict[str, Counter[str]] = {}
    lines = []
    for what, number in sorted(counts.items()):
        fault, during, doing = what.partition(" during ")
        if during:
            table.setdefault(doing, Counter())[fault] += number
        else:
            lines.append(f"{number:10,}  {what}")
    lines += ["", "".join(f"{each:>10}" for each in ("", *FAULTS))]
    for doing, met in table.items():
        lines.append(f"{doing:>10}" + "".join(f"{met[fault]:10,}" for fault in FAULTS))
    return "\n".join(lines)


def main() -> int:
    """Play seeds; print those that fail, with the steps that they need, and what happened how often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="processes to play them in")
    parser.add_argument("--company", action="store_true", help="with coroutines that give up, and processes that start")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    failed = 0
    for seed, words, counts in failures(range(given.first, given.first + given.seeds), given.jobs, given.company):
        total += counts
        if words is not None:
            failed += 1
            steps = shrunk(seed, steps_of(seed, company=given.company))
            print(f"seed {seed} fails: {words}\n  steps {steps}", flush=True)
    print(told(total))
    print(f"{failed} of {given.seeds} seeds failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
