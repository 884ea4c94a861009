"""GLR-klUCB: KL-UCB that starts over when a likelihood ratio says that an arm's rewards have changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.changes import period_for, turn_of
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import USUAL_HORIZON, high_parameter, low_parameter, usual_horizon_parameter
from rotting.policies._windows.bernoulli import bound_height, entropy, height_above, peak_at
from rotting.policies._windows.history import (
    BLOCK,
    History,
    append,
    check_history,
    empty_history,
    longest_block,
    outline_of,
    reserve,
    rough_prefix,
    rounding,
    window_sum,
)
from rotting.policies.kl_ucb import check_means


class GLRKLUCBState(NamedTuple):
    """All rewards so far, and what was learnt of each arm since its last restart."""

    settings: np.ndarray  # [alpha0, ln(1 / delta), rounds from test to test, step of s, 1 for local restarts]
    pulls: np.ndarray
    history: History
    counted: np.ndarray  # int64 (K,): pulls since the arm's last restart
    totals: np.ndarray  # float64 (K,): rewards since then
    means: np.ndarray
    spreads: np.ndarray  # the entropies of the means
    restarted: np.ndarray  # int64 (K,): rounds played before the arm's last restart
    clock: np.ndarray  # int64 [rounds played, restarts]


_period_for = helper(period_for)


def select(state, t, word):
    """Return the arm whose turn it is to be explored, and else the one with the largest bound."""
    n_arms, counted = len(state.pulls), state.counted
    alpha = min(1.0, state.settings[0] * math.sqrt(1.0 + state.clock[1]))
    turn = turn_of(t, _period_for(alpha, n_arms), n_arms)
    if turn >= 0:
        return turn
    best = 0
    for arm in range(n_arms):
        if counted[arm] == 0:
            return arm
        if counted[arm] > counted[best]:
            best = arm
    # Beginning with the most-pulled arm, few of the others have to be computed.
    first, restarted = best, state.restarted[best]
    explored = _explored(t, restarted)
    peak = peak_at(bound_height(state.means[best], state.spreads[best], explored / counted[best]))
    for arm in range(n_arms):
        if arm == first:
            continue
        if state.restarted[arm] != restarted:
            restarted = state.restarted[arm]
            explored = _explored(t, restarted)
        height = height_above(state.means[arm], state.spreads[arm], explored / counted[arm], peak)
        if height > peak[0] or (height == peak[0] and arm < best):
            best, peak = arm, peak_at(height)
    return best


@helper
def _explored(t, restarted):
    """Return the logarithm of the rounds since a restart, this one included."""
    return math.log(max(t - restarted, 1))


def update(state, arm, reward):
    """Add the reward, clipped to [0, 1], and start over if the arm has changed."""
    reward = min(max(reward, 0.0), 1.0)
    append(state.history, arm, reward)
    state.counted[arm] += 1
    state.totals[arm] += reward
    state.means[arm] = min(state.totals[arm] / state.counted[arm], 1.0)
    state.spreads[arm] = entropy(state.means[arm])
    state.clock[0] += 1
    if state.clock[0] % np.int64(state.settings[2]) == 0 and _has_changed(state, arm):
        state.clock[1] += 1
        for other in range(len(state.pulls)):
            if other == arm or state.settings[4] == 0.0:
                _forget(state, other)


@helper
def _forget(state, arm):
    state.counted[arm], state.restarted[arm] = 0, state.clock[0]
    state.totals[arm], state.means[arm], state.spreads[arm] = 0.0, 0.0, 0.0


@outlined
def _has_changed(state, arm):
    """Say whether some split of the arm's rewards into s older and n - s newer ones explains them too much better.

    Splits are gone through in blocks of the arm's history, as long as possible. Nearly all are settled by how far the
    sum of the older rewards is from s m, m being the mean of all: kl(p, m) <= (p - m)^2 / (m (1 - m)).
    """
    n, total = state.counted[arm], state.pulls[arm]
    threshold = 1.5 * math.log(n) + state.settings[1]
    begin, ample = total - n, 0.999 * threshold * state.means[arm] * (1.0 - state.means[arm]) / n
    start = begin - begin % BLOCK
    while start < total:
        size = longest_block(start, total) if start > begin else 0
        while size >= BLOCK and not _block_settled(state, arm, start, size, ample):
            size //= 2
        if size >= BLOCK:
            start += size
            continue
        if _split_changed(state, arm, max(start - begin, 1), min(start + BLOCK - begin, n), ample, threshold):
            return True
        start += BLOCK
    return False


@helper
def _block_settled(state, arm, start, size, ample):
    """Say whether no split in a block of the history can be a change.

    s (n - s) is least at one of the block's ends, and sums are no farther from s m than at its ends and by its outline.
    """
    history, n = state.history, state.counted[arm]
    under, over = outline_of(history, arm, start, size)
    first = start - (state.pulls[arm] - n)
    farthest = max(abs(_gap(state, arm, first)), abs(_gap(state, arm, first + size))) + max(over, -under)
    room = min(first * (n - first), (first + size) * (n - first - size))
    return (farthest + rounding(history)) ** 2 < ample * room


@helper
def _gap(state, arm, s):
    """Return how far the sum of the first s rewards since the restart is from s times the mean."""
    begin = state.pulls[arm] - state.counted[arm]
    older = rough_prefix(state.history, arm, begin + s) - rough_prefix(state.history, arm, begin)
    return older - s * state.means[arm]


@helper
def _split_changed(state, arm, first, stop, ample, threshold):
    """Say whether one of the splits s = first, ..., stop - 1 that are to be tried is a change.

    With m_1, m_2 and m the means of the older, the newer and all rewards, and H the entropy,
    s kl(m_1, m) + (n - s) kl(m_2, m) = n H(m) - s H(m_1) - (n - s) H(m_2).
    """
    n, step = state.counted[arm], np.int64(state.settings[3])
    for s in range((first + step - 1) // step * step, stop, step):
        if _gap(state, arm, s) ** 2 < ample * s * (n - s):
            continue
        newer = window_sum(state.history, arm, n - s)
        older_mean = min(max((window_sum(state.history, arm, n) - newer) / s, 0.0), 1.0)
        ratio = n * state.spreads[arm] - s * entropy(older_mean) - (n - s) * entropy(min(newer / (n - s), 1.0))
        if ratio > threshold:
            return True
    return False


@dataclass(frozen=True)
class GLRKLUCB(
    Policy,
    knows=("horizon",),
    state=GLRKLUCBState,
    select=select,
    update=update,
    keeps_history=True,
    shared_memory=True,
    rewards=("low", "high"),
    maps_rewards=True,
):
    """Play KL-UCB and explore in turn; start over when a likelihood ratio says that an arm has changed.

    An arm with n rewards since its last restart has changed if for some s
    s kl(m_1, m) + (n - s) kl(m_2, m) > ln(n^(3/2) / delta), where m_1, m_2 and m are the means of the first s, of the
    others and of all. Then everything is forgotten, or, with `local`, what is known of that arm. The authors test the
    arm just pulled in every 10th round, and of its s every 5th (global) or 10th (local): `every` and `step`.
    Where nothing has changed a test takes about a microsecond, however many rewards and s there are.

    After k - 1 restarts, the first K of every floor(K / alpha_k) rounds explore one arm each, alpha_k = alpha0 sqrt(k).
    Otherwise the arm with the largest q such that N kl(mean, q) <= ln(rounds since its restart) is pulled; arms of
    which nothing is known come first. Without an alpha0 it is sqrt(K ln T / T), and without a delta 1 / sqrt(T).
    Rewards are clipped to [0, 1]. With alpha0 = 0 and no test it is `KLUCB`.

    References
    ----------
    Besson, Kaufmann, Maillard, Seznec (2022), "Efficient change-point detection for tackling piecewise-stationary
    bandits".

    Examples
    --------
    >>> agent = GLRKLUCB(horizon=400).start(n_arms=2)
    >>> for t in range(400):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.5, 0.9 if t < 200 else 0.1][arm])
    >>> agent.pulls
    array([178, 222])
    """

    local: bool = parameter(False, choices=(False, True), doc="whether only the arm that has changed starts over")
    alpha0: float | None = parameter(
        None, minimum=0, maximum=1, optional=True, doc="share of explored rounds at first; none: as the theory has it"
    )
    delta: float | None = parameter(
        None, above=0, maximum=1, optional=True, doc="confidence of the test; none: as the theory has it"
    )
    every: int = parameter(10, whole=True, minimum=1, doc="rounds from test to test")
    step: int | None = parameter(
        None, whole=True, minimum=1, optional=True, doc="from s to s of a test; none: 5, or 10 if local"
    )
    horizon: int | None = usual_horizon_parameter()
    low: float = low_parameter()
    high: float = high_parameter()

    def initial_state(self, n_arms: int) -> GLRKLUCBState:
        """Return empty histories."""
        rounds = self.horizon or USUAL_HORIZON
        alpha0 = min(1.0, math.sqrt(n_arms * math.log(rounds) / rounds)) if self.alpha0 is None else self.alpha0
        log_inverse = 0.5 * math.log(rounds) if self.delta is None else -math.log(self.delta)
        step = self.step or (10 if self.local else 5)
        history = empty_history(n_arms)
        return GLRKLUCBState(
            settings=np.array([alpha0, log_inverse, self.every, step, float(self.local)]),
            pulls=history.pulls,
            history=history,
            counted=np.zeros(n_arms, np.int64),
            totals=np.zeros(n_arms),
            means=np.zeros(n_arms),
            spreads=np.zeros(n_arms),
            restarted=np.zeros(n_arms, np.int64),
            clock=np.zeros(2, np.int64),
        )

    def reserve(self, state: GLRKLUCBState, pulls: int) -> GLRKLUCBState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: GLRKLUCBState) -> None:
        """Check the history, and that what is counted fits it."""
        check_history(state.history)
        check_means(state.counted, state.totals, state.means, state.spreads)
        fits = (
            np.all((state.counted >= 0) & (state.counted <= state.pulls))
            and np.all((state.restarted >= 0) & (state.restarted <= state.clock[0]))
            and state.clock.min() >= 0
        )
        if not fits:
            raise DamagedFile("its counts do not fit its history")
