"""The compiled loop: rounds of one policy on one problem, and many runs of them in one call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper, outlined
from rotting._core.defining import written_first
from rotting._core.randomness import CHOICE, DELAY, NOISE, START, stream_key, stream_keys, word
from rotting._core.summation import kahan_add
from rotting.play.cell import Cell
from rotting.play.late import Trace, arriving, new_trace, send, write_down
from rotting.play.shown import show
from rotting.policies._contract.kernel import recommend, select, update
from rotting.problems import Problem
from rotting.problems.kernel import (
    after_pull,
    begin_run,
    draw_reward,
    has_steps,
    may_pull,
    reward_around,
    standard_noise,
    value_now,
)

# Noise is drawn up to so many pulls ahead: a row of numbers takes half the time that they take one by one, when the
# policy has to wait for each.
_AHEAD = 64
# With more arms than this, most are pulled too rarely for that, and the room would be large.
_MANY_ARMS = 1024
# How rounds ended: as they should, by an arm that does not exist, by `update` that did not count one pull of an arm, by
# a mean or a reward that is not finite, by means that add up to infinity, because somebody asked to stop, by a
# recommended arm that does not exist, or by an arm that may not be pulled.
FINE, NO_ARM, MISCOUNTED, BAD_MEAN, BAD_REWARD, BAD_TOTAL, STOPPED, BAD_ADVICE, NOT_ELIGIBLE = range(9)


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


@written_first("noise", "choice", "start", "delay")
class Streams(NamedTuple):
    """Where the random numbers of one run start; of many, with the run as the first axis."""

    noise: np.ndarray  # uint64 (K,): one stream per arm
    choice: np.ndarray  # uint64 [the policy's own]
    start: np.ndarray  # uint64 [what the problem draws when a run begins]
    delay: np.ndarray  # uint64 (K,): one stream per arm; (0,) where rewards are not late


@written_first("noise")
class Ahead(NamedTuple):
    """The noise of the next pulls, drawn already."""

    noise: np.ndarray  # float64 (K, room), room a power of two: `standard_noise` of pull n is in column n % room
    drawn: np.ndarray  # int64 (K,): how many of each arm have been drawn


class Rows(NamedTuple):
    """What runs came to, a row for each."""

    earned: np.ndarray  # float64 [run, recorded round]
    pulls: np.ndarray  # int64 [run, arm]


class Reset(NamedTuple):
    """How the arrays of a run become what they were before its first round: the present words, and the first ones."""

    now: np.ndarray  # int64
    first: np.ndarray  # int64


def new_rows(cell: Cell, runs: int) -> tuple[Rows, Trace | None]:
    """Return room for what runs of a cell come to, and for what is written down of them."""
    n_arms, recorded = cell.problem.n_arms, len(cell.rounds)
    rows = Rows(np.empty((runs, recorded)), np.empty((runs, n_arms), np.int64))
    return rows, new_trace(cell.trace, runs, cell.horizon, recorded, n_arms) if cell.trace else None


def new_journal(rounds: np.ndarray, problem: Problem) -> Journal:
    """Return an empty journal."""
    return Journal(rounds, np.zeros(len(rounds)), problem.new_memory(), np.zeros(2), np.zeros(1, np.int64))


def streams_of(seed: int, run: int, n_arms: int, late: bool = False) -> Streams:
    """Return the random streams of one run: the same for every policy."""
    return Streams(*(each[0] for each in streams_of_many(seed, np.array([run]), n_arms, late)))


def streams_of_many(seed: int, runs: np.ndarray, n_arms: int, late: bool = False) -> Streams:
    """Return the streams of many runs, with the run as the first axis."""
    purposes = NOISE, CHOICE, START, DELAY
    noise, choice, start, delay = (stream_keys(stream_key(seed, purpose), runs)[:, None] for purpose in purposes)
    arms = np.arange(n_arms)
    return Streams(stream_keys(noise, arms), choice, start, stream_keys(delay, arms if late else arms[:0]))


def new_ahead(problem: Problem) -> Ahead | None:
    """Return room for noise that is drawn ahead; None where it has to be drawn together with the mean."""
    if not has_steps(type(problem.arrays.noise)):
        return None
    room = _AHEAD if problem.n_arms <= _MANY_ARMS else 1
    return Ahead(np.zeros((problem.n_arms, room)), np.zeros(problem.n_arms, np.int64))


@helper
def reward_of(problem, streams, ahead, arm, mean, n):
    """Return the reward of the arm's pull number n."""
    if ahead is None:
        return draw_reward(problem, arm, mean, streams.noise[arm], n)
    if n == ahead.drawn[arm]:
        _draw_ahead(problem, streams, ahead, arm)
    return reward_around(problem, arm, mean, ahead.noise[arm, n & (ahead.noise.shape[1] - 1)])


@outlined
def _draw_ahead(problem, streams, ahead, arm):
    """Draw the noise of an arm's next pulls: as many as it has had, if there is room."""
    first, room = ahead.drawn[arm], ahead.noise.shape[1]
    after = first + min(max(first, 1), room)
    for n in range(first, after):
        ahead.noise[arm, n & (room - 1)] = standard_noise(problem, arm, streams.noise[arm], n)
    ahead.drawn[arm] = after


@outlined
def play_rounds(state, problem, streams, ahead, journal, late, trace, first, last):
    """Play rounds first..last with `state`, in place.

    The policy decides as an agent that has learnt the rewards that have arrived, and no others, in the order of their
    arrival; those of one round in the order of their pulls. `ahead`, `late` and `trace` are None where noise is drawn
    when it is needed, where rewards arrive at once, and where nothing is written down of a round: what is for them is
    then left out of the compiled code.

    Returns how the rounds ended, the last round, and the arm that was at fault. Nothing is written with an arm that
    does not exist.
    """
    memory = journal.memory
    n_arms = len(memory.pulls)
    if first == 1:
        begin_run(problem, memory, streams.start[0])
    for t in range(first, last + 1):
        known = t - 1
        if late is not None:
            known = late.total[0]
        show(state, memory)
        arm = select(state, known + 1, word(streams.choice[0], t))
        if arm < 0 or arm >= n_arms:
            return NO_ARM, t, arm
        if not may_pull(memory, arm):
            return NOT_ELIGIBLE, t, arm
        n = memory.pulls[arm]
        mean = value_now(problem, memory, arm, t)
        reward = reward_of(problem, streams, ahead, arm, mean, n)
        if (mean - mean) + (reward - reward) != 0.0:  # neither NaN nor infinity is its own difference
            return (BAD_MEAN if mean - mean != 0.0 else BAD_REWARD), t, arm
        if late is None:
            update(state, arm, reward)
        after_pull(problem, memory, arm, t)
        take_down(journal, arm, mean, t)
        if trace is not None:
            write_down(trace, journal, arm, reward, t)
        if late is None:
            if state.pulls[arm] != n + 1:
                return MISCOUNTED, t, arm
        else:
            send(late, streams.delay[arm], arm, n, reward, t)
            wrong = _learn_what_arrives(state, late, t)
            if wrong >= 0:
                return MISCOUNTED, t, wrong
        if trace is not None:
            advised = _recommended(state, trace, journal, t)
            if advised < 0 or advised >= n_arms:
                return BAD_ADVICE, t, advised
    for arm in range(n_arms):
        learnt = memory.pulls[arm]
        if late is not None:
            learnt = late.learnt[arm]
        if state.pulls[arm] != learnt:
            return MISCOUNTED, last, arm
    if journal.total[0] - journal.total[0] != 0.0:
        return BAD_TOTAL, last, 0
    return FINE, last, 0


@helper
def _recommended(state, trace, journal, t):
    """Return the arm that the policy recommends after round t, if that is to be kept (else 0), and keep it."""
    place = journal.place[0] - 1
    if len(trace.recommended) == 0 or place < 0 or journal.rounds[place] != t:
        return 0
    advised = recommend(state)
    trace.recommended[trace.row[0], place] = advised
    return advised


@helper
def _learn_what_arrives(state, late, t):
    """Learn the rewards that arrive in round t; return an arm whose pull was not counted, or -1."""
    place = arriving(late, t)
    while place >= 0:
        arm = late.arms[place]
        update(state, arm, late.rewards[place])
        late.learnt[arm] += 1
        late.total[0] += 1
        if state.pulls[arm] != late.learnt[arm]:
            return arm
        place = late.later[place]
    return np.int64(-1)


@entry
def play_runs(state, problem, streams, ahead, journal, late, trace, reset, keys, rows, of_runs, horizon, at_once, stop):
    """Play many runs of so many rounds, one after the other, without the interpreter's lock.

    Parameters
    ----------
    state, problem, streams, ahead, journal, late, trace
        What `play_rounds` needs. Before each run, `reset` makes all of it what it was before the first.
    keys, rows
        Where the random numbers of each run start, and where its results go.
    of_runs
        The places of the first of these runs to play, and of the first not to.
    at_once
        How many rounds are played between two looks at `stop`, which is 1 once somebody has asked to stop.

    Returns
    -------
    How it ended, the place of the run that ended badly, the round, and the arm at fault.
    """
    n_arms = len(journal.memory.pulls)
    for run in range(of_runs[0], of_runs[1]):
        for place in range(len(reset.first)):
            reset.now[place] = reset.first[place]
        for arm in range(n_arms):
            streams.noise[arm] = keys.noise[run, arm]
        streams.choice[0], streams.start[0] = keys.choice[run, 0], keys.start[run, 0]
        for arm in range(len(streams.delay)):
            streams.delay[arm] = keys.delay[run, arm]
        if trace is not None:
            trace.row[0] = run
        for first in range(1, horizon + 1, at_once):
            if stop[0] != 0:
                return STOPPED, run, first, 0
            last = min(first + at_once - 1, horizon)
            ended, t, arm = play_rounds(state, problem, streams, ahead, journal, late, trace, first, last)
            if ended != FINE:
                return ended, run, t, arm
        for place in range(rows.earned.shape[1]):
            rows.earned[run, place] = journal.earned[place]
        for arm in range(n_arms):
            rows.pulls[run, arm] = journal.memory.pulls[arm]
    return FINE, 0, 0, 0


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


# For loops in Python.


@entry
def begin(problem, memory, key):
    """Begin a run."""
    begin_run(problem, memory, key)


@entry
def record(journal, arm, mean, t):
    """Count a pull."""
    take_down(journal, arm, mean, t)


@entry
def pull(problem, journal, key, arm, t):
    """Return the mean and the reward of an arm in round t, and take the pull down."""
    n = journal.memory.pulls[arm]
    mean = value_now(problem, journal.memory, arm, t)
    reward = draw_reward(problem, arm, mean, key, n)
    after_pull(problem, journal.memory, arm, t)
    take_down(journal, arm, mean, t)
    return mean, reward


@entry
def trace_and_send(journal, late, trace, key, arm, reward, t):
    """Write a round down and send its reward on its way; return the place of the first reward that arrives, or -1."""
    if trace is not None:
        write_down(trace, journal, arm, reward, t)
    if late is None:
        return np.int64(-1)
    send(late, key, arm, journal.memory.pulls[arm] - 1, reward, t)
    return arriving(late, t)
