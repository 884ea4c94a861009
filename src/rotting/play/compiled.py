"""Runs of a compiled policy: many in one call, on one thread's arena."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from rotting._core.checking import compile_errors_in_short
from rotting._core.compiling import is_package_only
from rotting.errors import KernelError
from rotting.play.arena import Arena
from rotting.play.cell import Cell
from rotting.play.faults import fault
from rotting.play.late import new_pending, traces_of
from rotting.play.loop import FINE, STOPPED, new_ahead, new_journal, new_rows, play_runs, streams_of, streams_of_many
from rotting.play.trial import try_kernels
from rotting.policies import Policy
from rotting.policies._contract.states import fresh_state

# Rounds between two looks at Ctrl-C, and the arms that they may go through meanwhile.
_ROUNDS_AT_ONCE, _ARMS_AT_ONCE = 1 << 15, 1 << 21
# The most that is reset before a run: more is dearer to copy than to make, as zeros cost nothing until written.
_MOST_BYTES = 1 << 20


class CompiledTable:
    """A policy's state, a problem's memory and a journal, for runs of a cell on one thread.

    States and memories of the package are made once, and reset for each run. A user's may differ from run to run: each
    run gets new ones.
    """

    at_once = _ROUNDS_AT_ONCE

    def __init__(self, cell: Cell, policy: Policy, label: str):
        self._cell, self._policy, self._label = cell, policy, label
        self._rounds = cell.rounds.view()
        self._rounds.flags.writeable = False
        self._arena = self._new_arena()
        state, _, _, journal, _ = self._arena.arrays
        ours = all(map(is_package_only, (state, cell.problem.arrays, journal.memory)))
        if not ours:
            try_kernels(cell, policy)
        self._compiled = play_runs.compiled_for(state, cell.problem.arrays)
        self._reusable = ours and self._arena.reset.now.nbytes <= _MOST_BYTES
        with compile_errors_in_short(policy):
            self.play(range(0), np.zeros(1, np.int64))

    def play(self, runs: range, stop: np.ndarray) -> tuple[Any, ...]:
        """Play some runs of the cell; return all that `Played` says of them."""
        cell = self._cell
        rows, trace = new_rows(cell, len(runs))
        keys = streams_of_many(cell.seed, np.array(runs, np.int64), cell.problem.n_arms, cell.is_late)
        if self._reusable or not runs:
            seconds = self._call(self._arena, runs, (0, len(runs)), keys, rows, trace, stop)
        else:
            each = [(place, place + 1) for place in range(len(runs))]
            seconds = sum(self._call(self._new_arena(), runs, one, keys, rows, trace, stop) for one in each)
        return runs, *rows, seconds, traces_of(trace, cell.trace)

    def _call(
        self, arena: Arena, runs: range, of_runs: tuple[int, int], keys: Any, rows: Any, trace: Any, stop: np.ndarray
    ) -> float:
        """Play some of the runs by one call of the compiled loop; return the seconds of processor time that it took."""
        cell = self._cell
        state, streams, ahead, journal, late = arena.arrays
        at_once = max(1, min(self.at_once, _ARMS_AT_ONCE // cell.problem.n_arms))
        began = time.thread_time()  # not the clock on the wall, which others slow down
        try:
            ended, bad, t, arm = self._compiled(
                state, cell.problem.arrays, streams, ahead, journal, late, trace, arena.reset, keys, rows, of_runs,
                cell.horizon, at_once, stop,
            )  # fmt: skip
        except KernelError as error:
            raise error.within(f"{self._label} on {cell.problem}") from error.__cause__
        seconds = time.thread_time() - began
        if ended not in (FINE, STOPPED):
            raise fault(cell, self._label, int(ended), runs[int(bad)], int(t), int(arm), float(journal.total[0]))
        if not arena.is_intact():
            raise KernelError(
                f"a kernel writes outside its arrays in run {runs[of_runs[1] - 1]}",
                owner=f"{self._label} on {cell.problem}",
                expected="indices from 0 to the length of an array minus 1",
                hint="{check}True finds the line",
            )
        return seconds

    def _new_arena(self) -> Arena:
        cell, n_arms = self._cell, self._cell.problem.n_arms
        # Room for all rounds at once: zeros cost no memory before they are written, and nothing is ever copied.
        state = self._policy.reserve(fresh_state(self._policy, n_arms), cell.horizon)
        late = new_pending(cell.delay, n_arms, cell.horizon) if cell.is_late else None
        streams, ahead = streams_of(cell.seed, 0, n_arms, cell.is_late), new_ahead(cell.problem)
        return Arena((state, streams, ahead, new_journal(self._rounds, cell.problem), late))
