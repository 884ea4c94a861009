"""What running a policy would have earned: it plays on the log's own rewards, where that stands for the real thing.

| world | how it is played | what must hold |
|---|---|---|
| "exposures" | the tape: its n-th exposure of an arm earns what the arm's n-th exposure in the log did | an arm's rewards depend on its own exposures only; how often the log showed an arm did not depend on its rewards |
| "calendar" | the thinned log: it runs on the rows that show what it wants, each kept with a chance that makes all rows as likely to count | rewards do not depend on what was shown before |

How far such a result is left to chance is told by the same play on logs like this one: each row is replaced by a row
drawn near it, of the same arm's exposures or of the same time. What varies between them is the rewards' noise and where
it leads the policy.
"""  # noqa: E501

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rotting._core.randomness import stream_key
from rotting.errors import KernelError
from rotting.logs import Estimate
from rotting.logs.arrays import Floats, Whole
from rotting.value.along import Played, play_tapes, play_thinned
from rotting.value.candidates import Candidate
from rotting.value.logged import Logged
from rotting.value.weighing import interval

EXPOSURES, CALENDAR = "exposures", "calendar"
# Logs like this one that a policy is played on; decisions in a play, and in all of them together.
MOST_LOGS, FEWEST_LOGS, MOST_DECISIONS, ALL_DECISIONS = 60, 30, 30_000, 1_000_000
# Plays of a log where chance decides: the mean of them is taken.
PLAYS = 4
# How many neighbours stand for a row: a part of the log, and so many at least.
PARTS, FEWEST_NEAR = 50, 20
# Decisions after which the reward so far is written down.
STEP = 10
# Fewer decisions say nothing of running a policy; per arm, beyond first tries.
FEWEST, FEWEST_PER_ARM = 100, 10
# Standard deviations by which a number of decisions does not fall short by chance.
UNLIKELY = 4.0
# The purposes of random numbers (see `rotting._core.randomness`).
CHOICES, COINS, NEIGHBOURS = 5, 6, 7


@dataclasses.dataclass(frozen=True)
class Run:
    """What running a policy would have earned per decision, if the world is of this kind; or why that is not told."""

    world: str  # "exposures" or "calendar"
    decisions: int  # how many: it would have earned this on the mean of so many
    value: Estimate | None
    refused: str = ""


class Game(NamedTuple):
    """How a log is played: a log like it (with a generator; itself without one), and one play of that."""

    another: Callable[[np.random.Generator | None], Any]
    play: Callable[[Any, int], tuple[int, Floats]]

    def of(self, random: np.random.Generator | None, plays: int) -> list[tuple[int, Floats]]:
        """Return so many plays of one log."""
        log = self.another(random)
        return [self.play(log, each) for each in range(plays)]


def run(candidate: Candidate, logged: Logged, world: str, seed: int) -> Run:
    """Return what running a candidate would have earned in a world of this kind."""
    game = (_tapes if world == EXPOSURES else _thinned)(candidate, logged, seed)
    least = max(FEWEST, FEWEST_PER_ARM * len(logged.arms))
    counted = logged.rows * float(logged.probability.min())
    coins = candidate.randomised or (world == CALENDAR and float(np.ptp(logged.probability)) > 0)
    plays = PLAYS if coins else 1
    own = game.of(None, plays)
    decisions = min(number for number, _ in own)
    if decisions * plays * FEWEST_LOGS > ALL_DECISIONS:
        plays, own = 1, own[:1]
    if world == CALENDAR and decisions < min(counted, MOST_DECISIONS) - UNLIKELY * math.sqrt(counted):
        # Whatever it wants, each row is as likely to count: unless what it wants is never shown.
        return Run(world, decisions, None, "it waits for arms that were not on offer")
    if decisions >= least:
        logs = max(FEWEST_LOGS, min(MOST_LOGS, ALL_DECISIONS // (decisions * plays)))
        random = np.random.default_rng([seed, NEIGHBOURS])
        others = [game.of(random, plays) for _ in range(logs)]
        decisions = min(decisions, *(number for each in others for number, _ in each))
    if decisions < least:
        why = (
            f"an arm's rewards are used up after {decisions:,} decisions"
            if world == EXPOSURES
            else f"only {decisions:,} decisions can be played"
        )
        return Run(world, decisions, None, f"{why}; fewer than {least:,} say nothing")
    place = decisions // STEP
    decisions = place * STEP
    point = float(np.mean([totals[place] for _, totals in own])) / decisions
    spread = [float(np.mean([totals[place] for _, totals in each])) / decisions for each in others]
    variance = float(np.var(spread, ddof=1))
    return Run(world, decisions, interval(point, variance, len(spread) - 1.0, logged.binary, float(decisions)))


def _totals(played: Played, decisions: int) -> Floats:
    """Return the rewards up to each step: 0, one step, two steps, ..."""
    return np.concatenate([[0.0], np.cumsum(played.rewards[:decisions])[STEP - 1 :: STEP]])


def _room(logged: Logged) -> Played:
    number = min(logged.rows, MOST_DECISIONS)
    return Played(np.zeros(number, np.int64), np.zeros(number))


def near(number: int, random: np.random.Generator) -> Whole:
    """Return for each of so many places in a row a place drawn from those near it, itself included."""
    size = max(min(max(FEWEST_NEAR, number // PARTS), number), 1)
    places = np.arange(number)
    begin = np.minimum(places // size * size, number - size)
    return begin + random.integers(0, size, number)


def _tapes(candidate: Candidate, logged: Logged, seed: int) -> Game:
    n_arms = len(logged.arms)
    order = np.argsort(logged.arm, kind="stable")
    tape = logged.reward[order]
    counts = np.bincount(logged.arm, minlength=n_arms)
    first = np.concatenate([[0], np.cumsum(counts)])
    played = _room(logged)

    def another(random: np.random.Generator | None) -> Floats:
        if random is None:
            return tape
        places = [begin + near(int(n), random) for begin, n in zip(first, counts, strict=False)]
        return np.asarray(tape[np.concatenate(places)])

    def play(tape: Floats, which: int) -> tuple[int, Floats]:
        state, key = candidate.state(n_arms, len(played.arms)), stream_key(seed, CHOICES, which)
        call = play_tapes.compiled_for(state)
        number = call(state, tape, first, logged.lag, key, np.zeros(n_arms, np.int64), played)
        return _checked(number, candidate), _totals(played, number)

    return Game(another, play)


def _thinned(candidate: Candidate, logged: Logged, seed: int) -> Game:
    kept = float(logged.probability.min()) / logged.probability
    # A share of the decisions is taken: as many fewer are on their way.
    lag = round(logged.lag * float(logged.probability.min()))
    played = _room(logged)

    def another(random: np.random.Generator | None) -> tuple[Whole, Floats, Floats]:
        rows = slice(None) if random is None else near(logged.rows, random)
        return logged.arm[rows], logged.reward[rows], kept[rows]

    def play(log: tuple[Whole, Floats, Floats], which: int) -> tuple[int, Floats]:
        state = candidate.state(len(logged.arms), len(played.arms))
        key, coin = (stream_key(seed, purpose, which) for purpose in (CHOICES, COINS))
        number = play_thinned.compiled_for(state)(state, *log, lag, key, coin, played)
        return _checked(number, candidate), _totals(played, number)

    return Game(another, play)


def _checked(number: int, candidate: Candidate) -> int:
    if number < 0:
        raise KernelError("chose no arm that there is", owner=candidate.label)
    return int(number)
