"""The CUDA kernel: a thread, or a team of them, plays one run, with the loop and the functions that the CPU uses.

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
from rotting.play.gpu.teams import register_teams
from rotting.play.loop import FINE, Journal, Streams, play_rounds

register_teams()
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
    """Play rounds first..last of all runs: `lanes` teams of each warp take one after the other.

    A block has as many threads along its first axis as a team has; each is a player, with a state of its own.
    """
    team, team_size = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y, cuda.blockDim.x
    teams = WARP // team_size  # of a warp
    lane, warp, warps = team % teams, team // teams, cuda.gridDim.x * cuda.blockDim.y // teams
    if lane >= lanes:
        return
    for group in range(warp, -(-len(batch.cells) // lanes), warps):
        run, player = group * lanes + lane, group * WARP + lane * team_size + cuda.threadIdx.x
        if run >= len(batch.cells):
            return
        cell = batch.cells[run]
        ended, t, arm = _play(
            part_of(batch.states, run, player, cell),
            part_of(batch.problems, run, player, cell),
            part_of(batch.streams, run, player, cell),
            None,
            part_of(batch.journals, run, player, cell),
            None,
            None,
            first,
            min(last, batch.horizons[cell]),
        )
        if ended != FINE:
            batch.broken[run, 0], batch.broken[run, 1], batch.broken[run, 2] = ended, t, arm
            batch.any_broken[0] = 1


def spread(rows, prototypes, cells, lanes, team_size):
    """Give every player its cell's row of the prototypes; `rows` is (groups, numbers, threads)."""
    size, threads = rows.shape[1], rows.shape[2]
    for place in range(cuda.grid(1), rows.shape[0] * size * threads, cuda.gridsize(1)):
        thread, column, group = place % threads, place // threads % size, place // (threads * size)
        lane = thread // team_size
        run = group * lanes + lane
        if lane < lanes and run < len(cells):
            rows[group, column, thread] = prototypes[cells[run], column]
