"""The compiled loop: one run of one policy on one problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.randomness import CHOICE, NOISE, stream_key, word
from rotting._core.summation import kahan_add
from rotting.policies._engine.kernel import select, update
from rotting.problems.dynamics import value_now
from rotting.problems.noise import draw_reward


class Journal(NamedTuple):
    """What a run leaves behind, and how far it is."""

    rounds: np.ndarray  # int64: the rounds to record, increasing
    earned: np.ndarray  # float64: expected reward collected up to each of them
    pulls: np.ndarray  # int64 (K,)
    total: np.ndarray  # float64 [collected so far, what rounding has added to it (Kahan)]
    place: np.ndarray  # int64 [how many rounds are recorded]


class Streams(NamedTuple):
    """Where the random numbers of one run start."""

    noise: np.ndarray  # uint64 (K,): one stream per arm
    choice: np.ndarray  # uint64 [the policy's own]


def new_journal(rounds: np.ndarray, n_arms: int) -> Journal:
    """Return an empty journal."""
    return Journal(rounds, np.zeros(len(rounds)), np.zeros(n_arms, np.int64), np.zeros(2), np.zeros(1, np.int64))


def streams_of(seed: int, run: int, n_arms: int) -> Streams:
    """Return the random streams of one run: the same for every policy."""
    noise = np.array([stream_key(seed, NOISE, run, arm) for arm in range(n_arms)], np.uint64)
    return Streams(noise, np.array([stream_key(seed, CHOICE, run)], np.uint64))


@entry
def play(state, problem, streams, journal, first, last):
    """Play rounds first..last with `state`, in place.

    Returns (0, 0), or the round in which the policy broke the kernel contract and the arm it chose: one that does not
    exist, or one of which `update` did not count a pull. Nothing is written with an arm that does not exist.
    """
    n_arms = len(journal.pulls)
    for t in range(first, last + 1):
        arm = select(state, t, word(streams.choice[0], t))
        if arm < 0 or arm >= n_arms:
            return t, arm
        n = journal.pulls[arm]
        mean = value_now(problem, arm, n, t)
        update(state, arm, draw_reward(problem, streams.noise[arm], mean, n))
        _record(journal, arm, mean, t)
        if state.pulls[arm] != n + 1:
            return t, arm
    for arm in range(n_arms):
        if state.pulls[arm] != journal.pulls[arm]:
            return last, arm
    return 0, 0


@helper
def _record(journal, arm, mean, t):
    """Count a pull and what it was worth; write the total down if the round is one of those to record."""
    journal.pulls[arm] += 1
    total, journal.total[1] = kahan_add(journal.total[0], journal.total[1], mean)
    journal.total[0] = total
    place = journal.place[0]
    if place < len(journal.rounds) and t == journal.rounds[place]:
        journal.earned[place] = total
        journal.place[0] = place + 1


@entry
def record(journal, arm, mean, t):
    """Count a pull (for the Python loop)."""
    _record(journal, arm, mean, t)


@entry
def pull(problem, key, arm, n, t):
    """Return the mean and the reward of an arm's pull number n in round t (for the Python loop)."""
    mean = value_now(problem, arm, n, t)
    return mean, draw_reward(problem, key, mean, n)
