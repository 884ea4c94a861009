"""The compiled loop: one run of one policy on one problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rotting.compiling import entry
from rotting.policies.kernel import select, update
from rotting.problems.problem import draw_reward, value_now
from rotting.randomness import CHOICE, NOISE, stream_key, word


class Journal(NamedTuple):
    """What a run leaves behind, and how far it is."""

    rounds: np.ndarray  # int64: the rounds to record, increasing
    earned: np.ndarray  # float64: expected reward collected up to each of them
    pulls: np.ndarray  # int64 (K,)
    total: np.ndarray  # float64 [collected so far, what rounding has lost (Kahan)]
    place: np.ndarray  # int64 [how many rounds are recorded]


class Streams(NamedTuple):
    """Where the random numbers of one run start."""

    noise: np.ndarray  # uint64 (K,): one stream per arm
    choice: np.ndarray  # uint64 [the policy's own]


def streams_of(seed: int, run: int, n_arms: int) -> Streams:
    """Return the random streams of one run: the same for every policy."""
    noise = np.array([stream_key(seed, NOISE, run, arm) for arm in range(n_arms)], np.uint64)
    return Streams(noise, np.array([stream_key(seed, CHOICE, run)], np.uint64))


@entry
def play(state, problem, streams, journal, start, stop):
    """Play rounds start..stop (included) with `state`, in place."""
    pulls, rounds = journal.pulls, journal.rounds
    total, lost, place = journal.total[0], journal.total[1], journal.place[0]
    next_record = rounds[place] if place < len(rounds) else stop + 1
    for t in range(start, stop + 1):
        arm = select(state, t, word(streams.choice[0], t))
        n = pulls[arm]
        mean = value_now(problem, arm, n, t)
        update(state, arm, draw_reward(problem, streams.noise[arm], mean, n))
        pulls[arm] = n + 1
        step = mean - lost
        grown = total + step
        lost = (grown - total) - step
        total = grown
        if t == next_record:
            journal.earned[place] = total
            place += 1
            next_record = rounds[place] if place < len(rounds) else stop + 1
    journal.total[0], journal.total[1], journal.place[0] = total, lost, place
