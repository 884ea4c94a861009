"""A policy played in plain Python, with every index checked: slow, for authors of kernels.

What goes wrong in compiled code without a word (an index beyond the end of an array, or one that counts from its end)
raises an error here, with a traceback that leads to the line, also inside compiled helpers: `uncompiled` runs those as
plain Python, too.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting._core.checking import checked_arrays, guarded, locked, uncompiled
from rotting._core.randomness import word
from rotting.errors import KernelError
from rotting.policies._contract.kernel import RANGE, Kernel, kernel_of, mapped
from rotting.policies._contract.states import fresh_state
from rotting.policies._contract.views import view_of

if TYPE_CHECKING:
    from rotting.policies._contract.policy import Policy


class CheckedAgent:
    """What a simulation with `check=True` plays: `select` and `update` as Python runs them."""

    def __init__(self, policy: Policy, n_arms: int, key: np.uint64):
        self.policy = policy
        self._key = key
        self._t = self._asked = 0
        self._state = checked_arrays(policy.reserve(fresh_state(policy, n_arms), 1))
        self._kernel = Kernel(*map(uncompiled, kernel_of(policy.State)[:3]))

    @property
    def state(self) -> Any:
        """What the policy has learnt."""
        return self._state

    def select(self, among: list[int] | None = None) -> int:
        """Return the arm for the next round; if `among` is given, one of these, as if only they existed."""
        with np.errstate(over="ignore"):
            self._asked += 1  # once in each round, whether or not rewards have arrived
            random = word(self._key, self._asked)
        whole, before = self._state, np.array(self._state.pulls)
        if among is not None:
            self._state = checked_arrays(view_of(self.policy, whole, among))
            before = np.array(self._state.pulls)
        arm = self._guarded("select", self._with_locks("select changes pulls"), self._t + 1, np.uint64(random))
        if not np.array_equal(before, self._state.pulls):
            raise self._broken(f"select changed pulls in round {self._t + 1}", "update to count them")
        self._state = whole
        number = self._arm("select", arm, len(before))
        return number if among is None else among[number]

    def update(self, arm: int, reward: float) -> None:
        """Learn from a reward."""
        self._state = checked_arrays(self.policy.reserve(self._state, 1))
        before = np.array(self._state.pulls)
        learnt = float(mapped(self._state, reward)) if self.policy.maps_rewards else reward
        counted = (arm, int(before[arm]) + 1)
        why = "update changes pulls by more than pulls[arm] += 1"
        self._guarded("update", self._with_locks(why, counted), arm, learnt)
        self._t += 1
        before[arm] += 1
        if not np.array_equal(before, self._state.pulls):
            counted = np.asarray(self._state.pulls).tolist()
            raise self._broken(f"update left pulls at {counted} in round {self._t}", f"{before.tolist()}")

    def recommend(self) -> int:
        """Return the arm to stay with from now on."""
        advised = self._guarded("recommend", self._with_locks("recommend changes pulls"))
        return self._arm("recommend", advised, len(self._state.pulls))

    def _arm(self, what: str, arm: Any, n_arms: int) -> int:
        """Return the arm that a function gave, or refuse it."""
        try:
            number = operator.index(arm)
        except TypeError:
            number = -1
        if not 0 <= number < n_arms or isinstance(arm, bool):
            raise self._broken(f"{what} gave {arm!r} in round {self._t + 1}", f"an arm from 0 to {n_arms - 1}")
        return number

    def _with_locks(self, why: str, counted: tuple[int, int] | None = None) -> Any:
        """Return the state, of which pulls (but for the one that is counted) and settings cannot be written."""
        never = {
            name: locked(getattr(self._state, name), f"{name} never changes")
            for name in ("settings", RANGE)
            if name in self._state._fields
        }
        return self._state._replace(pulls=locked(self._state.pulls, why, counted), **never)

    def _guarded(self, what: str, *arguments: Any) -> Any:
        return guarded(str(self.policy), what, self._t + 1, getattr(self._kernel, what), *arguments)

    def _broken(self, problem: str, expected: str | None = None) -> KernelError:
        return KernelError(problem, owner=str(self.policy), expected=expected)
