"""The CUDA kernel: a thread plays one run, with the loop and the functions that the CPU uses.

One kernel serves every policy and problem, as the compiled loop of the CPU does: numba finds a policy's functions by
the class of its state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
from numba import cuda

from rotting._core.compiling import OPTIONS
from rotting.play.gpu.device import SIMULATED, WARP
from rotting.play.gpu.parts import Common, part_of
from rotting.play.loop import FINE, Journal, Streams, play_rounds

_play = play_rounds if SIMULATED else numba.njit(play_rounds.py_func, **OPTIONS)


class Batch(NamedTuple):
    """Runs that are played together; `parts` says how their arrays are laid out."""

    states: Any  # the policies' states
    streams: Streams
    journals: Journal
    problems: Common  # what the problem is in compiled code
    horizons: Any  # int64, by cell
    cells: Any  # int64, by run: the cell that it belongs to
    broken: Any  # int64, by run: how it ended, if badly, in which round, and the arm at fault
    any_broken: Any  # int64 [1 if any run is broken]


def play_batch(batch, first, last, lanes):
    """Play rounds first..last of all runs: the first `lanes` threads of each warp take one after the other."""
    warp, lane = cuda.grid(1) // WARP, cuda.grid(1) % WARP
    if lane >= lanes:
        return
    for group in range(warp, -(-len(batch.cells) // lanes), cuda.gridsize(1) // WARP):
        run = group * lanes + lane
        if run >= len(batch.cells):
            return
        thread, cell = group * WARP + lane, batch.cells[run]
        ended, t, arm = _play(
            part_of(batch.states, run, thread, cell),
            part_of(batch.problems, run, thread, cell),
            part_of(batch.streams, run, thread, cell),
            None,
            part_of(batch.journals, run, thread, cell),
            None,
            None,
            first,
            min(last, batch.horizons[cell]),
        )
        if ended != FINE:
            batch.broken[run, 0], batch.broken[run, 1], batch.broken[run, 2] = ended, t, arm
            batch.any_broken[0] = 1


def spread(rows, prototypes, cells, lanes):
    """Give every thread that plays its cell's row of the prototypes; `rows` is (groups, numbers, threads)."""
    size, threads = rows.shape[1], rows.shape[2]
    for place in range(cuda.grid(1), rows.shape[0] * size * threads, cuda.gridsize(1)):
        lane, column, group = place % threads, place // threads % size, place // (threads * size)
        run = group * lanes + lane
        if lane < lanes and run < len(cells):
            rows[group, column, lane] = prototypes[cells[run], column]
