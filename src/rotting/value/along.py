"""Policies played on what a log holds, compiled: along its rows, on the tapes of its arms, on a thinned part of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.randomness import uniform, word
from rotting.policies._contract.kernel import Kernel, most_pulled, register, select, update
from rotting.policies._contract.probable import fill_probabilities

# A prediction of an arm's reward is a running mean that begins at that of all arms, which counts as so many rewards,
# and forgets what lies more rewards back than these: arms change.
BEGINS_WITH, REMEMBERS = 10.0, 1000.0


class Learnt(NamedTuple):
    """The rewards of a log in the order in which they arrived."""

    arms: np.ndarray  # int64
    rewards: np.ndarray  # float64


class Weighed(NamedTuple):
    """What the rows of a log say of a policy: a number for each row."""

    chance: np.ndarray  # float64: that the policy takes the row's arm, given what was known then
    value: np.ndarray  # float64: of its decision, as far as earlier rewards predict it
    guess: np.ndarray  # float64: the predicted reward of the row's arm


class Means(NamedTuple):
    """Predictions, one for each arm."""

    value: np.ndarray  # float64
    counted: np.ndarray  # float64: rewards behind it


class Played(NamedTuple):
    """What a policy did when it was run: arms and rewards by decision."""

    arms: np.ndarray  # int64
    rewards: np.ndarray  # float64


class SharesState(NamedTuple):
    """The state of what shows each arm in a share that never changes."""

    pulls: np.ndarray
    shares: np.ndarray  # float64


def _select(state, t, word):
    left = uniform(word, 0)
    for arm in range(len(state.shares) - 1):
        left -= state.shares[arm]
        if left < 0.0:
            return arm
    return len(state.shares) - 1


def _update(state, arm, reward):
    state.pulls[arm] += 1


def _probabilities(state, t, out):
    for arm in range(len(out)):
        out[arm] = state.shares[arm]


register(SharesState, Kernel(_select, _update, most_pulled, probabilities=_probabilities))


@entry
def weigh(state, learnt, known, arms, key, replays, means, chances, weighed):
    """Weigh the rows of a log by a policy that learns what the log learnt, when it did.

    Parameters
    ----------
    state
        The policy's, before anything.
    learnt, known
        Rewards as they arrived, and how many of them before each row.
    arms
        The arm of each row.
    key, replays
        Where the policy's random numbers start, and how many draws more than one tell its probabilities (0 where one
        says all).
    means, chances
        Room for predictions, and for the probabilities of each arm.
    weighed
        Where the result goes.

    Returns
    -------
    The first row in which the policy chose no arm that there is; -1 if there is none.
    """
    done, everything, fresh = 0, 0.0, True
    for row in range(len(arms)):
        while done < known[row]:
            arm, reward = learnt.arms[done], learnt.rewards[done]
            update(state, arm, reward)
            everything += (reward - everything) / (done + 1.0)
            _predict(means, arm, reward, everything)
            done += 1
            fresh = True
        if fresh or replays > 0:
            fill_probabilities(state, done + 1, word(key, row), replays, chances)
            fresh = False
        value, total = 0.0, 0.0
        for arm in range(len(chances)):
            if chances[arm] != 0.0:
                total += chances[arm]
                value += chances[arm] * (means.value[arm] if means.counted[arm] > 0.0 else everything)
        if abs(total - 1.0) > 1e-6:
            return row
        arm = arms[row]
        weighed.chance[row], weighed.value[row] = chances[arm], value
        weighed.guess[row] = means.value[arm] if means.counted[arm] > 0.0 else everything
    return -1


@helper
def _predict(means, arm, reward, everything):
    if means.counted[arm] == 0.0:
        means.value[arm] = everything
    means.counted[arm] += 1.0
    means.value[arm] += (reward - means.value[arm]) / min(means.counted[arm] + BEGINS_WITH, REMEMBERS)


@helper
def _choose(state, played, t, lag, key):
    """Return the arm of decision t (0, 1, ...) of a policy that learns each reward so many decisions late."""
    if t > lag:
        update(state, played.arms[t - lag - 1], played.rewards[t - lag - 1])
    return select(state, max(t - lag, 0) + 1, word(key, t))


@entry
def play_tapes(state, tape, first, lag, key, used, played):
    """Run a policy whose n-th exposure of an arm earns what the arm's n-th exposure in the log did.

    `tape` holds the rewards of all arms, those of an arm from `first[arm]` on; `used` is room for a count of each.
    Returns the number of decisions before an arm was wanted whose tape had ended.
    """
    for t in range(len(played.arms)):
        arm = _choose(state, played, t, lag, key)
        if arm < 0 or arm >= len(used):
            return -1
        place = first[arm] + used[arm]
        if place == first[arm + 1]:
            return t
        used[arm] += 1
        played.arms[t], played.rewards[t] = arm, tape[place]
    return len(played.arms)


@entry
def play_thinned(state, arms, rewards, kept, lag, key, coin, played):
    """Run a policy on the rows of a log that show what it wants, each kept with a chance of its own.

    If `kept` is a constant over the row's probability, every row is as likely to count, whatever the policy wants: it
    runs on a random part of the time that the log covers. Returns the number of its decisions.
    """
    t, wanted = 0, _choose(state, played, 0, lag, key)
    for row in range(len(arms)):
        if wanted < 0:
            return -1
        if arms[row] == wanted and uniform(coin, row) < kept[row]:
            played.arms[t], played.rewards[t] = wanted, rewards[row]
            t += 1
            if t == len(played.arms):
                return t
            wanted = _choose(state, played, t, lag, key)
    return t
