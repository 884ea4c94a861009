"""A policy played in plain Python, with every index checked: slow, for authors of kernels.

What goes wrong in compiled code without a word (an index beyond the end of an array, or one that counts from its end)
raises an error here, with a traceback that leads to the line, also inside compiled helpers: `uncompiled` runs those as
plain Python, too.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting._core.checking import checked_arrays, guarded, uncompiled
from rotting._core.randomness import word
from rotting.errors import KernelError
from rotting.policies._contract.kernel import Kernel, kernel_of, mapped
from rotting.policies._contract.states import fresh_state

if TYPE_CHECKING:
    from rotting.policies._contract.policy import Policy


class CheckedAgent:
    """What a simulation with `check=True` plays: `select` and `update` as Python runs them."""

    def __init__(self, policy: Policy, n_arms: int, key: np.uint64):
        self.policy = policy
        self._key = key
        self._t = self._asked = 0
        self._state = checked_arrays(policy.reserve(fresh_state(policy, n_arms), 1))
        self._kernel = Kernel(*map(uncompiled, kernel_of(policy.State)))

    def select(self) -> int:
        """Return the arm for the next round."""
        with np.errstate(over="ignore"):
            self._asked += 1  # once in each round, whether or not rewards have arrived
            random = word(self._key, self._asked)
        arm = self._guarded("select", self._state, self._t + 1, np.uint64(random))
        n_arms = len(self._state.pulls)
        try:
            number = operator.index(arm)
        except TypeError:
            number = -1
        if not 0 <= number < n_arms or isinstance(arm, bool):
            raise self._broken(f"select gave {arm!r} in round {self._t + 1}", f"an arm from 0 to {n_arms - 1}")
        return number

    def update(self, arm: int, reward: float) -> None:
        """Learn from a reward."""
        self._state = checked_arrays(self.policy.reserve(self._state, 1))
        before = np.array(self._state.pulls)
        learnt = float(mapped(self._state, reward)) if self.policy.maps_rewards else reward
        self._guarded("update", self._state, arm, learnt)
        self._t += 1
        before[arm] += 1
        if not np.array_equal(before, self._state.pulls):
            counted = np.asarray(self._state.pulls).tolist()
            raise self._broken(f"update left pulls at {counted} in round {self._t}", f"{before.tolist()}")

    def _guarded(self, what: str, *arguments: Any) -> Any:
        return guarded(str(self.policy), what, self._t + 1, getattr(self._kernel, what), *arguments)

    def _broken(self, problem: str, expected: str | None = None) -> KernelError:
        return KernelError(problem, owner=str(self.policy), expected=expected)
