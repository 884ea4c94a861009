"""The CUDA kernel: one thread plays one run, with the loop and the policy's functions that the CPU uses.

One kernel serves every policy and problem, as the compiled loop of the CPU does: numba finds a policy's functions by
the class of its state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
from numba import cuda

from rotting._core.compiling import OPTIONS
from rotting.simulation._cuda.device import SIMULATED, WARP
from rotting.simulation._cuda.parts import Common, part_of
from rotting.simulation.loop import Journal, Streams, play

_play = play if SIMULATED else numba.njit(play.__wrapped__, **OPTIONS)


class Batch(NamedTuple):
    """Runs that are played together; `parts` says how their arrays are laid out."""

    states: Any  # the policies' states
    streams: Streams
    journals: Journal
    problems: Common  # what the problem is in compiled code
    horizons: Any  # int64, by cell
    cells: Any  # int64, by run: the cell that it belongs to
    broken: Any  # int64, by run: the round in which the policy broke the kernel contract, and the arm it chose
    any_broken: Any  # int64 [1 if any run is broken]


def play_batch(batch, first, last, lanes):
    """Play rounds first..last of all runs; `lanes` threads of each warp take one run after the other."""
    thread = cuda.grid(1)
    lane, warp, warps = thread % WARP, thread // WARP, cuda.gridsize(1) // WARP
    if lane >= lanes:
        return
    for run in range(warp * lanes + lane, len(batch.cells), warps * lanes):
        cell = batch.cells[run]
        broken, arm = _play(
            part_of(batch.states, run, cell),
            part_of(batch.problems, run, cell),
            part_of(batch.streams, run, cell),
            part_of(batch.journals, run, cell),
            first,
            min(last, batch.horizons[cell]),
        )
        if broken > 0:
            batch.broken[run, 0], batch.broken[run, 1] = broken, arm
            batch.any_broken[0] = 1


def spread(rows, prototypes, cells):
    """Give every run its cell's row of the prototypes; `rows` is (groups, numbers, lanes)."""
    size, lanes = rows.shape[1], rows.shape[2]
    for place in range(cuda.grid(1), rows.shape[0] * size * lanes, cuda.gridsize(1)):
        lane, column, group = place % lanes, place // lanes % size, place // (lanes * size)
        run = group * lanes + lane
        if run < len(cells):
            rows[group, column, lane] = prototypes[cells[run], column]
