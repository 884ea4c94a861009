"""The compiled loop: one run of one policy on one problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from rotting._core.compiling import INLINED, entry, helper, outlined
from rotting._core.randomness import CHOICE, NOISE, START, stream_key, stream_keys, word
from rotting._core.summation import kahan_add
from rotting.policies._contract.kernel import select, update
from rotting.problems import Problem
from rotting.problems.kernel import (
    after_pull,
    begin_run,
    draw_reward,
    has_steps,
    part_class,
    reward_around,
    standard_noise,
    value_now,
)

# Noise is drawn up to so many pulls ahead: a row of numbers takes half the time that they take one by one, when the
# policy has to wait for each.
_AHEAD = 64
# With more arms than this, most are pulled too rarely for that, and the room would be large.
_MANY_ARMS = 1024


class Journal(NamedTuple):
    """What a run leaves behind, and how far it is."""

    rounds: np.ndarray  # int64: the rounds to record, increasing
    earned: np.ndarray  # float64: expected reward collected up to each of them
    memory: Any  # what the problem's dynamics keep of the past: `rotting.problems.kernel`
    total: np.ndarray  # float64 [collected so far, what rounding has added to it (Kahan)]
    place: np.ndarray  # int64 [how many rounds are recorded]

    @property
    def pulls(self) -> np.ndarray:
        """The pulls of each arm so far, int64 (K,)."""
        pulls: np.ndarray = self.memory.pulls
        return pulls


class Streams(NamedTuple):
    """Where the random numbers of one run start."""

    noise: np.ndarray  # uint64 (K,): one stream per arm
    choice: np.ndarray  # uint64 [the policy's own]
    start: np.ndarray  # uint64 [what the problem draws when a run begins]


class StreamsAhead(NamedTuple):
    """The same, with the noise of the next pulls, drawn already."""

    noise: np.ndarray
    choice: np.ndarray
    start: np.ndarray
    ahead: np.ndarray  # float64 (K, room), room a power of two: `standard_noise` of pull n is in column n % room
    drawn: np.ndarray  # int64 (K,): how many of each arm have been drawn


def new_journal(rounds: np.ndarray, problem: Problem) -> Journal:
    """Return an empty journal."""
    return Journal(rounds, np.zeros(len(rounds)), problem.new_memory(), np.zeros(2), np.zeros(1, np.int64))


def streams_of(seed: int, run: int, n_arms: int) -> StreamsAhead:
    """Return the random streams of one run: the same for every policy."""
    return next(streams_of_each(seed, range(run, run + 1), n_arms))


def streams_of_each(seed: int, runs: range, n_arms: int) -> Iterator[StreamsAhead]:
    """Yield the streams of one run after the other, for one policy: they share memory."""
    ahead = np.zeros((n_arms, _AHEAD if n_arms <= _MANY_ARMS else 1))
    for keys in zip(*streams_of_many(seed, np.array(runs), n_arms), strict=True):
        yield StreamsAhead(*keys, ahead, np.zeros(n_arms, np.int64))


def streams_of_many(seed: int, runs: np.ndarray, n_arms: int) -> Streams:
    """Return the streams of many runs, with the run as the first axis."""
    noise = stream_keys(stream_key(seed, NOISE), runs)[:, None]
    choice, start = (stream_keys(stream_key(seed, purpose), runs)[:, None] for purpose in (CHOICE, START))
    return Streams(stream_keys(noise, np.arange(n_arms)), choice, start)


def reward_of(problem, streams, arm, mean, n):
    """Return the reward of the arm's pull number n."""
    ahead = isinstance(streams, StreamsAhead) and has_steps(type(problem.noise))
    return (_drawn_ahead if ahead else _drawn_now)(problem, streams, arm, mean, n)


@overload(reward_of, jit_options=INLINED)
def _reward_of(problem, streams, arm, mean, n):
    ahead = streams.instance_class is StreamsAhead and has_steps(part_class(problem, "noise"))
    return _drawn_ahead if ahead else _drawn_now


def _drawn_now(problem, streams, arm, mean, n):
    return draw_reward(problem, arm, mean, streams.noise[arm], n)


def _drawn_ahead(problem, streams, arm, mean, n):
    if n == streams.drawn[arm]:
        _draw_ahead(problem, streams, arm)
    return reward_around(problem, arm, mean, streams.ahead[arm, n & (streams.ahead.shape[1] - 1)])


@outlined
def _draw_ahead(problem, streams, arm):
    """Draw the noise of an arm's next pulls: as many as it has had, if there is room."""
    first, room = streams.drawn[arm], streams.ahead.shape[1]
    after = first + min(max(first, 1), room)
    for n in range(first, after):
        streams.ahead[arm, n & (room - 1)] = standard_noise(problem, arm, streams.noise[arm], n)
    streams.drawn[arm] = after


@entry
def play(state, problem, streams, journal, first, last):
    """Play rounds first..last with `state`, in place.

    Returns (0, 0), or the round in which the policy broke the kernel contract and the arm it chose: one that does not
    exist, or one of which `update` did not count a pull. Nothing is written with an arm that does not exist.
    """
    memory = journal.memory
    n_arms = len(memory.pulls)
    if first == 1:
        begin_run(problem, memory, streams.start[0])
    for t in range(first, last + 1):
        arm = select(state, t, word(streams.choice[0], t))
        if arm < 0 or arm >= n_arms:
            return t, arm
        n = memory.pulls[arm]
        mean = value_now(problem, memory, arm, t)
        update(state, arm, reward_of(problem, streams, arm, mean, n))
        after_pull(problem, memory, arm, t)
        take_down(journal, arm, mean, t)
        if state.pulls[arm] != n + 1:
            return t, arm
    for arm in range(n_arms):
        if state.pulls[arm] != memory.pulls[arm]:
            return last, arm
    return 0, 0


@helper
def take_down(journal, arm, mean, t):
    """Count a pull and what it was worth; write the total down if the round is one of those to record."""
    journal.memory.pulls[arm] += 1
    total, journal.total[1] = kahan_add(journal.total[0], journal.total[1], mean)
    journal.total[0] = total
    place = journal.place[0]
    if place < len(journal.rounds) and t == journal.rounds[place]:
        journal.earned[place] = total
        journal.place[0] = place + 1


@entry
def begin(problem, memory, key):
    """Begin a run (for the Python loop)."""
    begin_run(problem, memory, key)


@entry
def record(journal, arm, mean, t):
    """Count a pull (for the Python loop)."""
    take_down(journal, arm, mean, t)


@entry
def pull(problem, journal, key, arm, t):
    """Return the reward of an arm in round t, and take the pull down (for the Python loop)."""
    n = journal.memory.pulls[arm]
    mean = value_now(problem, journal.memory, arm, t)
    reward = draw_reward(problem, arm, mean, key, n)
    after_pull(problem, journal.memory, arm, t)
    take_down(journal, arm, mean, t)
    return reward
