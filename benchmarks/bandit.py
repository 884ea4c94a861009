"""The bars of Bandit, as ratios within one run: opening, deciding and rewarding, batches.

Run it as `python benchmarks/bandit.py [DATABASE ADDRESS]`; without an address, SQLite files in a temporary folder.
"""

from __future__ import annotations

import sys
import tempfile
import time

from timing import fastest, seconds_of

from rotting import FEWA, Bandit, EffFEWA
from rotting.bandit.core.events import Event
from rotting.bandit.store.sql import COLUMNS

ARMS = [f"arm {number}" for number in range(10)]
REWARDS = 1_000_000
ROUNDS = 200


def main() -> None:
    folder = tempfile.mkdtemp()
    url = sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{folder}/bandits.db"
    show("decide + reward / bare durable inserts of the same rows", *singles(url), limit="<= 1.5")
    show("batches of 100 / single ones, throughput", *batches(url), limit=">= 20")
    for policy, limit in ((EffFEWA(sigma=0.5), 1.0), (FEWA(sigma=0.5), 3.0)):
        seconds, rebuilt = opening(url, policy)
        print(
            f"opening with {REWARDS:,} rewards, {type(policy).__name__}: {seconds:.2f} s (<= {limit:g} s), "
            f"from the log alone {rebuilt:.1f} s"
        )


def show(what: str, ours: float, theirs: float, limit: str) -> None:
    print(f"{what}: {max(ours, theirs) / min(ours, theirs):.2f} ({limit}); {ours * 1e6:.0f} and {theirs * 1e6:.0f} us")


def singles(url: str) -> tuple[float, float]:
    """Return the seconds of one decide() + reward(), and of inserting the same two rows in a transaction each."""
    bandit = Bandit.open(url, "singles", EffFEWA(sigma=0.5), ARMS)
    bare = Bandit.open(url, "bare", EffFEWA(sigma=0.5), ARMS)
    seq = len(ARMS)

    def ours() -> float:
        def work() -> None:
            for place in range(ROUNDS):
                choice = bandit.decide()
                bandit.reward(choice.id, float(place % 3 == 0))

        return seconds_of(work) / ROUNDS

    def theirs() -> float:
        nonlocal seq
        rows = []
        for place in range(ROUNDS):
            decided = Event(
                seq + 1,
                "decided",
                time.time(),
                place % 10,
                decision=bare._log.identifiers.make(seq + 1, 0.0),
                probability=1.0,
            )
            rows += [decided, Event(seq + 2, "rewarded", time.time(), place % 10, target=seq + 1, value=1.0)]
            seq += 2
        log = bare._log

        def append(row: Event) -> None:
            log.store.insert("rotting_events", f"bandit, {COLUMNS}", [(log.bandit_id, *row)])

        def work() -> None:
            for row in rows:
                log.store.write(lambda row=row: append(row))

        return seconds_of(work) / ROUNDS

    mine, bare_inserts = fastest(9, ours, theirs)
    return mine, bare_inserts


def batches(url: str) -> tuple[float, float]:
    """Return the seconds per decision and reward in batches of 100, and one by one."""
    bandit = Bandit.open(url, "batches", EffFEWA(sigma=0.5), ARMS)

    def together() -> float:
        def work() -> None:
            for _ in range(10):
                choices = bandit.decide(100)
                bandit.reward_many([(choice.id, 1.0) for choice in choices])

        return seconds_of(work) / 1000

    def one_by_one() -> float:
        def work() -> None:
            for _ in range(ROUNDS):
                bandit.reward(bandit.decide().id, 1.0)

        return seconds_of(work) / ROUNDS

    many, single = fastest(7, together, one_by_one)
    return many, single


def opening(url: str, policy: EffFEWA | FEWA) -> tuple[float, float]:
    """Return the seconds to open a bandit with many rewards, from its snapshot and without one."""
    name = f"opening {type(policy).__name__}"
    bandit = Bandit.open(url, name, policy, ARMS)
    missing = REWARDS - sum(bandit._state.received)
    for start in range(0, missing, 20_000):
        choices = bandit.decide(min(20_000, missing - start))
        bandit.reward_many([(choice.id, float(place % 3 == 0)) for place, choice in enumerate(choices)])
    bandit.snapshot()

    def open_it() -> float:
        return seconds_of(lambda: Bandit.open(url, name).decide())

    (quick,) = fastest(3, open_it)
    fresh = bandit._log.fresh_state()

    def replay() -> None:
        with bandit._log.reading() as stored:
            for event in stored.stream():
                fresh.apply(event)
        _ = fresh.agent

    slow = seconds_of(replay)
    assert fresh.seq >= 2 * REWARDS
    return quick, slow


if __name__ == "__main__":
    main()
