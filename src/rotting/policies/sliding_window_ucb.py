"""SW-UCB: an upper confidence bound that only remembers the last rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy


class SlidingWindowState(NamedTuple):
    """The last tau rounds, and what each arm has in them.

    The ring is filled from front to back, pass after pass, so the window is always the rest of the past pass
    followed by what the present pass has written, and an arm's sum over it is the sum of those two parts.
    Rewards are only ever added, never subtracted: no rounding error outlives the window, and a huge reward
    leaves it without a trace.
    """

    settings: np.ndarray  # [scale sqrt(xi)]; of Thompson sampling: [sigma]
    pulls: np.ndarray
    seen: np.ndarray  # int64 (K,): pulls in the window
    past: np.ndarray  # float64 (K,): sum of the rewards in the rest of the past pass
    present: np.ndarray  # float64 (K,): sum of the rewards of the present pass
    arms: np.ndarray  # int64 (tau,): the ring; -1 where nothing is yet
    rewards: np.ndarray  # float64 (tau,): rewards; in the past pass, the `past[arm]` they leave behind
    place: np.ndarray  # int64 [where the ring is written next]


def select(state, t, word):
    """Return the arm with the largest index; arms not seen in the window come first."""
    width = state.settings[0] * math.sqrt(math.log(min(t, len(state.arms))))
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        n = state.seen[arm]
        if n == 0:
            return arm
        index = (state.past[arm] + state.present[arm]) / n + width / math.sqrt(n)
        if index > best_index:
            best, best_index = arm, index
    return best


def update(state, arm, reward):
    """Let the reward push the oldest one out of the window."""
    place = state.place[0]
    leaving = state.arms[place]
    if leaving >= 0:
        state.seen[leaving] -= 1
        state.past[leaving] = state.rewards[place]
    state.arms[place] = arm
    state.rewards[place] = reward
    state.pulls[arm] += 1
    state.seen[arm] += 1
    state.present[arm] += reward
    state.place[0] = place + 1
    if place + 1 == len(state.arms):
        _begin_pass(state)


@helper
def _begin_pass(state):
    """Turn the present pass into the past one: every tau rounds, so O(1) per round."""
    state.place[0] = 0
    state.present[:] = 0.0
    # `past` is zero by now, its last reward having just left. From back to front, `past[arm]` becomes the sum
    # of the arm's rewards that leave after this one.
    for place in range(len(state.arms) - 1, -1, -1):
        arm, reward = state.arms[place], state.rewards[place]
        state.rewards[place] = state.past[arm]
        state.past[arm] += reward


def empty_window(setting: float, n_arms: int, tau: int) -> SlidingWindowState:
    """Return a state without a round in its window."""
    return SlidingWindowState(
        settings=np.array([setting]),
        pulls=np.zeros(n_arms, np.int64),
        seen=np.zeros(n_arms, np.int64),
        past=np.zeros(n_arms),
        present=np.zeros(n_arms),
        arms=np.full(tau, -1, np.int64),
        rewards=np.zeros(tau),
        place=np.zeros(1, np.int64),
    )


def check_ring(ring: np.ndarray, place: int, n_arms: int, seen: np.ndarray | None = None) -> None:
    """Refuse a ring of arms (from a file) that is not filled from its beginning with arms that exist.

    Parameters
    ----------
    ring, place
        The arms of the window's rounds, -1 where nothing is yet, and where it is written next.
    n_arms
        How many arms exist.
    seen
        How often each is said to be in the ring, where that is kept.
    """
    if not 0 <= place < len(ring) or ring.min() < -1 or ring.max() >= n_arms:
        raise DamagedFile("its window holds arms that do not exist")
    written = ring >= 0
    if not (written.all() or np.array_equal(written, np.arange(len(ring)) < place)):
        raise DamagedFile("its window has gaps")
    if seen is not None and not np.array_equal(seen, np.bincount(ring[written], minlength=n_arms)):
        raise DamagedFile("its counts are not those of its window")


@dataclass(frozen=True)
class SlidingWindowUCB(Policy, state=SlidingWindowState, select=select, update=update, shared_memory=True):
    """Pull the arm with the largest mean over the last tau rounds + scale sqrt(xi ln(min(t, tau)) / N_tau).

    Arms without a pull in the last tau rounds go first. `scale` is the paper's B, the range of the rewards.

    References
    ----------
    Garivier, Moulines (2011), "On upper-confidence bound policies for switching bandit problems".

    Examples
    --------
    >>> agent = SlidingWindowUCB(tau=20).start(n_arms=2)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.8][arm])
    >>> agent.pulls
    array([14, 86])
    """

    tau: int = parameter(200, whole=True, minimum=1, doc="length of the window in rounds")
    xi: float = parameter(0.6, minimum=0, doc="how wide the confidence bound is")
    scale: float = parameter(1.0, minimum=0, doc="range of the rewards (B)")

    def initial_state(self, n_arms: int) -> SlidingWindowState:
        """Return an empty window."""
        return empty_window(self.scale * math.sqrt(self.xi), n_arms, self.tau)

    def check_state(self, state: SlidingWindowState) -> None:
        """Check the ring: it is filled from its beginning, with arms that exist."""
        check_ring(state.arms, int(state.place[0]), len(state.pulls), state.seen)
