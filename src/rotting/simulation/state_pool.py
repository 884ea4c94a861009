"""States that are used again: made once, and restored before every run."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rotting._core.compiling import belongs_to_package
from rotting._core.defining import leaves
from rotting.policies import Policy
from rotting.policies._contract.states import fresh_state

# The largest state worth restoring: a larger one is dearer to copy than to make, as zeros cost nothing until written.
_MOST_BYTES = 1 << 20


class Lent(NamedTuple):
    """A state, and all its arrays in one list."""

    state: Any
    arrays: list[np.ndarray]


class StatePool:
    """First states of a policy for runs of one length, each in the hands of one owner at a time.

    A run of ten thousand rounds takes less than a millisecond. Making its state anew costs a tenth of that: tables,
    memory that the operating system has to clear, and all of it under the interpreter's lock.
    """

    def __init__(self, policy: Policy, n_arms: int, rounds: int):
        self._policy, self._n_arms, self._rounds = policy, n_arms, rounds
        self._worthwhile: bool | None = None
        self._free: list[Lent] = []  # append and pop are atomic: threads may share a pool

    def take(self) -> Lent:
        """Return a first state."""
        try:
            lent = self._free.pop()
        except IndexError:
            return self._made()
        for array, first in zip(lent.arrays, self._first, strict=True):
            if not np.may_share_memory(array, first):  # what is shared, such as curves, is never written
                array[...] = first
        return lent

    def give_back_after(self, user: Callable[..., Any], lent: Lent) -> None:
        """Let others have a state as soon as its user, a function, no longer exists."""
        if self._is_worthwhile(lent):
            weakref.finalize(user, self._free.append, lent).atexit = False

    def _is_worthwhile(self, lent: Lent) -> bool:
        if self._worthwhile is None:  # all states of a pool have the same size
            # The first state of a user's policy may differ from run to run.
            small = sum(array.nbytes for array in lent.arrays) <= _MOST_BYTES
            self._worthwhile = belongs_to_package(self._policy.State) and small
        return self._worthwhile

    @cached_property
    def _first(self) -> list[np.ndarray]:
        return self._made().arrays

    def _made(self) -> Lent:
        state = self._policy.reserve(fresh_state(self._policy, self._n_arms), self._rounds)
        return Lent(state, [array for _, array in leaves(state)])
