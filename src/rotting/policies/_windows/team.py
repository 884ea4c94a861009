"""Threads that compare windows side by side: one on a CPU, and on a GPU as many as play one run together.

Each thread of a team has the state of the run for itself, but for the arrays that grow with the pulls, which are one
for all. They run the same code, and so come to the same decisions. Only what lies in a loop over `my_share(size)` is
divided between them: each sees some of the numbers 0..size - 1. What is gathered in such a loop differs from thread to
thread until `any_in_team` or `largest_in_team` makes it the same for all. Two rules follow:

* what a thread writes in such a loop, only it may read, and only in such a loop over the same size;
* to arrays that grow, threads write outside of such loops, and never what they read from them before (no `+=`).

`tests/policies/windows/test_team.py` plays teams whose threads share nothing but these functions. On a CPU a team is
one thread, and they cost nothing. `play/gpu/teams.py` has those for a GPU.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from rotting._core.compiling import INLINED


def my_share(size):
    """Return the numbers of 0..size - 1 that this thread looks at, in increasing order."""
    return range(np.uint64(size))


def any_in_team(flag):
    """Say whether a flag is true for any thread of the team."""
    return flag


def largest_in_team(number):
    """Return the largest of the numbers that the threads have."""
    return number


# For compiled code on a CPU; where a GPU is, it has overloads of its own.


@overload(my_share, jit_options=INLINED, target="cpu")
def _my_share(size):
    return my_share


@overload(any_in_team, jit_options=INLINED, target="cpu")
def _any_in_team(flag):
    return any_in_team


@overload(largest_in_team, jit_options=INLINED, target="cpu")
def _largest_in_team(number):
    return largest_in_team
