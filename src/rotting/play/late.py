"""Rewards that are on their way, and rounds that are written down one by one: what the loop does on request."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.defining import written_first
from rotting._core.randomness import uniform
from rotting.play.delays import Delay

_NOBODY = -1
# Places in `Pending.numbers`.
_FIXED, _SCALE = 0, 1


class Traced(NamedTuple):
    """Something that can be traced."""

    dims: tuple[str, ...]  # besides the run
    kind: type[np.generic]
    variable: str  # of a dataset
    said: str

    def shape(self, horizon: int, recorded: int, n_arms: int) -> tuple[int, ...]:
        """Return how much of it there is of a run."""
        lengths = {"t": horizon, "round": recorded, "arm": n_arms}
        return tuple(lengths[each] for each in self.dims)


TRACES = {
    "actions": Traced(("t",), np.int32, "actions", "the arm of each round"),
    "rewards": Traced(("t",), np.float64, "rewards", "the reward of each round's pull, whenever it arrives"),
    "pulls": Traced(("round", "arm"), np.int64, "pulls_over_time", "pulls of each arm up to each recorded round"),
    "recommended": Traced(("round",), np.int32, "recommended", "the arm recommended after each recorded round"),
}


@written_first("arms", "rewards", "later", "last")
class Pending(NamedTuple):
    """The rewards that are on their way.

    One pull is made in a round, and none is on its way for more than P - 1 rounds. So the pull of round t has place
    t mod P, and the rewards that arrive in round t are a linked list that begins at `first[t mod P]`.
    """

    numbers: np.ndarray  # float64 [the fixed part, what log(u) is multiplied by for the random part]
    arms: np.ndarray  # int64 (P,), by pull
    rewards: np.ndarray  # float64 (P,), by pull
    later: np.ndarray  # int64 (P,), by pull: the place of the next one that arrives in the same round, or -1
    first: np.ndarray  # int64 (P,), by round: the place of the first one that arrives, or -1
    last: np.ndarray  # int64 (P,), by round: the place of the last one
    learnt: np.ndarray  # int64 (K,): how many rewards of each arm have arrived
    total: np.ndarray  # int64 [how many have arrived]


class Trace(NamedTuple):
    """What is written down of runs, a row for each; no rows of what is not wanted."""

    row: np.ndarray  # int64 [the row of the present run]
    actions: np.ndarray  # int32 [run, t]: the arm of each round
    rewards: np.ndarray  # float64 [run, t]: its reward, whenever it arrives
    pulls: np.ndarray  # int64 [run, recorded round, arm]: pulls up to each recorded round
    recommended: np.ndarray  # int32 [run, recorded round]: the arm to stay with after it


def new_pending(delay: Delay, n_arms: int, horizon: int) -> Pending:
    """Return the rewards on their way before the first round: none."""
    places = min(delay.longest(), horizon) + 1
    return Pending(
        numbers=np.array(delay.numbers()),
        arms=np.zeros(places, np.int64),
        rewards=np.zeros(places),
        later=np.zeros(places, np.int64),
        first=np.full(places, _NOBODY, np.int64),
        last=np.zeros(places, np.int64),
        learnt=np.zeros(n_arms, np.int64),
        total=np.zeros(1, np.int64),
    )


def new_trace(wanted: tuple[str, ...], runs: int, *sizes: int) -> Trace:
    """Return room for what is wanted of runs; `sizes` as in `Traced.shape`."""
    rows = (np.zeros((runs * (name in wanted), *each.shape(*sizes)), each.kind) for name, each in TRACES.items())
    return Trace(np.zeros(1, np.int64), *rows)


def traces_of(trace: Trace | None, wanted: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return what was written down, by name."""
    return {name: getattr(trace, name) for name in wanted}


def trace_bytes(trace: Iterable[str], players: int, runs: int, n_arms: int, horizon: int, recorded: int) -> int:
    """Return how much memory traces take, and about how much a file of them does.

    >>> trace_bytes(("actions", "rewards"), players=4, runs=100, n_arms=10, horizon=25_000, recorded=250)
    120000000
    """
    every = [TRACES[name] for name in trace]
    each_run = sum(np.dtype(each.kind).itemsize * math.prod(each.shape(horizon, recorded, n_arms)) for each in every)
    return players * runs * each_run


@helper
def send(pending, key, arm, n, reward, t):
    """Send the reward of the arm's pull number n, made in round t, on its way; it may come after the last round.

    `key` is where the delays of the arm start.
    """
    late = pending.numbers[_FIXED]
    if pending.numbers[_SCALE] < 0.0:
        late += np.floor(np.log(uniform(key, n)) * pending.numbers[_SCALE])
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
def arriving(pending, t):
    """Return the place of the first reward that arrives in round t, or -1; they are then on their way no longer."""
    now = t % len(pending.first)
    place = pending.first[now]
    pending.first[now] = _NOBODY
    return place


@helper
def write_down(trace, journal, arm, reward, t):
    """Write down what is wanted of a round, which the journal has taken down."""
    row = trace.row[0]
    if len(trace.actions) > 0:
        trace.actions[row, t - 1] = arm
    if len(trace.rewards) > 0:
        trace.rewards[row, t - 1] = reward
    place = journal.place[0] - 1
    if len(trace.pulls) > 0 and place >= 0 and journal.rounds[place] == t:
        for each in range(len(journal.memory.pulls)):
            trace.pulls[row, place, each] = journal.memory.pulls[each]
