"""What `rotting.policies._windows.team` is on a GPU: a team is the threads of a block that have the same second index.

There are 1, 2, 4, ..., 32 of them, neighbours in one warp. A vote or a shuffle among them waits until all have come to
it.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import cuda
from numba.extending import overload

from rotting.play.gpu.device import SIMULATED, WARP
from rotting.policies._windows.team import any_in_team, largest_in_team, my_share


def _my_share(size):
    return range(np.uint64(cuda.threadIdx.x), np.uint64(size), np.uint64(cuda.blockDim.x))


@numba.njit
def _members():
    """Return which threads of the warp belong to this thread's team, one bit for each."""
    size = cuda.blockDim.x
    everybody = np.uint32(0xFFFFFFFF)
    first = np.uint32(cuda.laneid) & ~np.uint32(size - 1)
    return np.uint32((everybody >> np.uint32(WARP - size)) << first)


def _any_in_team(flag):
    return cuda.any_sync(_members(), flag) if cuda.blockDim.x > 1 else flag


def _largest_in_team(number):
    apart = cuda.blockDim.x >> 1
    while apart > 0:
        number = max(number, cuda.shfl_xor_sync(_members(), number, apart))
        apart >>= 1
    return number


def register_teams() -> None:
    """Let code compiled for a GPU find these functions. In the simulator teams have one thread, as on a CPU."""
    if SIMULATED:
        return
    overload(my_share, target="cuda")(lambda size: _my_share)
    overload(any_in_team, target="cuda")(lambda flag: _any_in_team)
    overload(largest_in_team, target="cuda")(lambda number: _largest_in_team)
