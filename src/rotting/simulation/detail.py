"""The loop in detail: one run whose rewards may arrive late, and whose rounds can be written down one by one.

`loop.play` does neither, and need not: this is the same loop, with room for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.randomness import DELAY, stream_key, stream_keys, uniform, word
from rotting.policies._contract.kernel import select, update
from rotting.problems.kernel import after_pull, begin_run, value_now
from rotting.simulation.delays import Delay
from rotting.simulation.loop import Journal, reward_of, take_down

_NOBODY = -1
# Places in `Pending.numbers`.
_FIXED, _SCALE = 0, 1


class Pending(NamedTuple):
    """The rewards that are on their way.

    One pull is made in a round, and none is on its way for more than P - 1 rounds. So the pull of round t has place
    t mod P, and the rewards that arrive in round t are a linked list that begins at `first[t mod P]`.
    """

    keys: np.ndarray  # uint64 (K,): where the delays of each arm start
    numbers: np.ndarray  # float64 [the fixed part, what log(u) is multiplied by for the random part]
    arms: np.ndarray  # int64 (P,), by pull
    rewards: np.ndarray  # float64 (P,), by pull
    later: np.ndarray  # int64 (P,), by pull: the place of the next one that arrives in the same round, or -1
    first: np.ndarray  # int64 (P,), by round: the place of the first one that arrives, or -1
    last: np.ndarray  # int64 (P,), by round: the place of the last one
    learnt: np.ndarray  # int64 (K,): how many rewards of each arm have arrived
    total: np.ndarray  # int64 [how many have arrived]


class Trace(NamedTuple):
    """What is written down of a run; arrays of length 0 for what is not wanted."""

    actions: np.ndarray  # int32 (T,): the arm of each round
    rewards: np.ndarray  # float64 (T,): its reward, whenever it arrives
    pulls: np.ndarray  # int64 (recorded rounds, K): pulls up to each recorded round


class Detail(NamedTuple):
    """What a run needs besides its journal."""

    pending: Pending
    trace: Trace


def new_detail(
    delay: Delay, trace: tuple[str, ...], seed: int, run: int, n_arms: int, horizon: int, recorded: int
) -> Detail:
    """Return the detail of a run before its first round.

    Parameters
    ----------
    delay
        How late rewards arrive.
    trace
        What to write down: names of `Trace`'s fields.
    seed, run, n_arms, horizon
        The run.
    recorded
        At how many rounds pulls are written down.
    """
    places = min(delay.longest(), horizon) + 1
    pending = Pending(
        keys=stream_keys(stream_key(seed, DELAY, run), np.arange(n_arms)),
        numbers=np.array(delay.numbers()),
        arms=np.zeros(places, np.int64),
        rewards=np.zeros(places),
        later=np.zeros(places, np.int64),
        first=np.full(places, _NOBODY, np.int64),
        last=np.zeros(places, np.int64),
        learnt=np.zeros(n_arms, np.int64),
        total=np.zeros(1, np.int64),
    )
    wanted = Trace(
        actions=np.zeros(horizon if "actions" in trace else 0, np.int32),
        rewards=np.zeros(horizon if "rewards" in trace else 0),
        pulls=np.zeros((recorded if "pulls" in trace else 0, n_arms), np.int64),
    )
    return Detail(pending, wanted)


@entry
def play_in_detail(state, problem, streams, journal, detail, first, last):
    """Play rounds first..last with `state`, in place; what `loop.play` returns.

    The policy decides as an agent that has learnt the rewards that have arrived, and no others, in the order of their
    arrival; those of one round in the order of their pulls.
    """
    memory, pending = journal.memory, detail.pending
    n_arms = len(memory.pulls)
    if first == 1:
        begin_run(problem, memory, streams.start[0])
    for t in range(first, last + 1):
        arm = select(state, pending.total[0] + 1, word(streams.choice[0], t))
        if arm < 0 or arm >= n_arms:
            return t, arm
        n = memory.pulls[arm]
        mean = value_now(problem, memory, arm, t)
        reward = reward_of(problem, streams, arm, mean, n)
        after_pull(problem, memory, arm, t)
        take_down(journal, arm, mean, t)
        _trace(detail.trace, journal, arm, reward, t)
        _send(pending, arm, n, reward, t)
        place = _arriving(pending, t)
        while place >= 0:
            whose = pending.arms[place]
            update(state, whose, pending.rewards[place])
            pending.learnt[whose] += 1
            pending.total[0] += 1
            if state.pulls[whose] != pending.learnt[whose]:
                return t, whose
            place = pending.later[place]
    for arm in range(n_arms):
        if state.pulls[arm] != pending.learnt[arm]:
            return last, arm
    return 0, 0


@helper
def _send(pending, arm, n, reward, t):
    """Send the reward of the arm's pull number n, made in round t, on its way; it may come after the last round."""
    late = pending.numbers[_FIXED]
    if pending.numbers[_SCALE] < 0.0:
        late += np.floor(np.log(uniform(pending.keys[arm], n)) * pending.numbers[_SCALE])
    places = len(pending.first)
    if late >= places:
        return
    place, then = t % places, (t + np.int64(late)) % places
    pending.arms[place], pending.rewards[place], pending.later[place] = arm, reward, _NOBODY
    if pending.first[then] < 0:
        pending.first[then] = place
    else:
        pending.later[pending.last[then]] = place
    pending.last[then] = place


@helper
def _arriving(pending, t):
    """Return the place of the first reward that arrives in round t, or -1; they are then on their way no longer."""
    now = t % len(pending.first)
    place = pending.first[now]
    pending.first[now] = _NOBODY
    return place


@helper
def _trace(trace, journal, arm, reward, t):
    """Write down what is wanted of a round, which the journal has taken down."""
    if len(trace.actions) > 0:
        trace.actions[t - 1] = arm
    if len(trace.rewards) > 0:
        trace.rewards[t - 1] = reward
    place = journal.place[0] - 1
    if len(trace.pulls) > 0 and place >= 0 and journal.rounds[place] == t:
        for each in range(len(journal.memory.pulls)):
            trace.pulls[place, each] = journal.memory.pulls[each]


# For the Python loop.


@entry
def send(detail, journal, arm, reward, t):
    """Send a reward on its way, which the journal has taken down, and return the place of the first that arrives."""
    _trace(detail.trace, journal, arm, reward, t)
    _send(detail.pending, arm, journal.memory.pulls[arm] - 1, reward, t)
    return _arriving(detail.pending, t)


def arrivals(detail: Detail, journal: Journal, arm: int, reward: float, t: int) -> Iterator[tuple[int, float]]:
    """Yield the arms and rewards that arrive in round t, in which this arm was pulled for this reward."""
    pending = detail.pending
    place = send.compiled_for(journal)(detail, journal, arm, reward, t)
    while place >= 0:
        yield int(pending.arms[place]), float(pending.rewards[place])
        place = pending.later[place]
