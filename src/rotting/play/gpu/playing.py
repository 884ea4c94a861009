"""Play cells on the GPU: several batches at a time, each on a stream of its own, in pieces of a fraction of a second.

Between two pieces Python looks at Ctrl-C, at what broke, and at the progress.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence

import numpy as np

from rotting._core.checking import compile_errors_in_short
from rotting.errors import KernelError
from rotting.play.cell import Cell, Played, Tell
from rotting.play.faults import fault
from rotting.play.gpu import device
from rotting.play.gpu.batches import Group, Placed, cut, grouped, policy_of, runs_of, to_device, unwoven
from rotting.play.gpu.compiling import kernel_for
from rotting.play.gpu.kernel import Batch
from rotting.play.loop import FINE

# How much of the memory that is free is planned with; the rest is for what the driver and others need.
_SHARE = 0.85
_PIECE_SECONDS = 0.25
_FIRST_PIECES = 32  # the first piece is this part of the rounds: its time says how long the others should be
# Of a multiprocessor, of every generation since Volta: each has at least these. A block has a warp per scheduler.
_SCHEDULERS, _REGISTERS, _MOST_WARPS = 4, 65_536, 32
_CACHED_WARPS, _SMALL_STATE = 16, 1024  # the most warps for states of more bytes than that (measured: docs/gpu.md)
_POLL_SECONDS = 0.0005
# What the host reads the results of at a time: that many runs, or bytes, at most.
_HOST_RUNS, _HOST_BYTES = 1 << 18, 1 << 29
_PLAYING = threading.Lock()


def play_cells(cells: Sequence[Cell], tell: Tell) -> Generator[Played, None, None]:
    """Yield the runs of cells, part by part, in any order; a place as `rotting.play.play` takes it.

    One thread of a process plays at a time; others wait.
    """
    for cell in cells:
        policy_of(cell)
    device.require()
    with _PLAYING:
        memory = int(_SHARE * device.free_memory())
        waiting = deque(
            (part, group)
            for group in grouped(enumerate(cells), device.Stream())
            for part in cut(group.cells, min(group.most_runs(memory), _most_on_host(group)))
        )
        playing: list[_Playing] = []
        while waiting or playing:
            while waiting:
                part, group = waiting[0]
                shape = shape_for(runs_of(part), group, memory)
                if playing and shape.needed + sum(each.shape.needed for each in playing) > memory:
                    break
                try:
                    begun = _Playing(part, shape, group.sample)
                except MemoryError:
                    if playing:
                        break
                    memory //= 2  # there is less than was said
                    waiting.popleft()
                    waiting.extendleft((half, group) for half in _halves(part))
                    continue
                waiting.popleft()
                playing.append(begun)
            finished = [each for each in playing if each.go_on(tell)]
            playing = [each for each in playing if each not in finished]
            for each in finished:
                yield from each.results()
            if not finished:
                time.sleep(_POLL_SECONDS)


def _most_on_host(group: Group) -> int:
    """Return how many runs of a group the host takes the results of at a time."""
    size = 8 * max(len(cell.rounds) + cell.problem.n_arms for _, cell in group.cells)
    return max(1, min(_HOST_RUNS, _HOST_BYTES // size))


def _halves(part: list[Placed]) -> list[list[Placed]]:
    runs = runs_of(part)
    if runs == 1:
        raise MemoryError("the GPU's memory is too small for a single run")
    return list(cut(part, -(-runs // 2)))


class _Playing:
    """A batch on its way: which rounds are being played, and how long they took so far."""

    def __init__(self, part: list[Placed], shape: Shape, sample: Batch):
        self.shape, self._stream = shape, device.Stream()
        self.places, self.cells = zip(*part, strict=True)
        self._ends = np.cumsum([len(cell.runs) for cell in self.cells])
        self._horizon = max(cell.horizon for cell in self.cells)
        with compile_errors_in_short(policy_of(self.cells[0])):
            self._kernel, registers = kernel_for(sample)
        self._blocks = shape.blocks(registers)
        self._batch, self._constants = to_device(self.cells, shape.lanes, self._stream)
        self._last, self._piece, self._seconds, self._reported = 0, 0, 0.0, 0
        self._launch(-(-self._horizon // _FIRST_PIECES))

    def _launch(self, rounds: int) -> None:
        """Begin to play so many rounds."""
        self._piece = min(rounds, self._horizon - self._last)
        self._began = time.perf_counter()
        rounds_now = self._last + 1, self._last + self._piece
        threads = _SCHEDULERS * device.WARP
        self._stream.launch(self._kernel, self._blocks, threads, self._batch, *rounds_now, self.shape.lanes)
        self._is_done = self._stream.mark()

    def go_on(self, tell: Tell) -> bool:
        """Begin the next piece if the present one is finished; say whether that was the last."""
        if not self._is_done():
            return False
        took = time.perf_counter() - self._began
        self._seconds += took
        self._last += self._piece
        self._refuse_broken()
        done = sum(min(self._last, cell.horizon) * len(cell.runs) for cell in self.cells)
        tell(self.places[0], done - self._reported)
        self._reported = done
        if self._last == self._horizon:
            self._refuse_changed()
            return True
        rate = _PIECE_SECONDS / max(took, 1e-6)
        self._launch(max(1, int(self._piece * min(rate, float(_FIRST_PIECES)))))
        return False

    def _refuse_broken(self) -> None:
        if not self._stream.to_host(self._batch.any_broken)[0]:
            return
        broken = self._stream.to_host(self._batch.broken)
        place = int(np.argmax(broken[:, 0] != FINE))
        index = int(np.searchsorted(self._ends, place, side="right"))
        cell = self.cells[index]
        ended, t, arm = broken[place].tolist()
        run = cell.runs[place - int(self._ends[index])]  # counted from the last
        raise fault(cell, cell.player.label, ended, run, t, arm, math.inf)

    def _refuse_changed(self) -> None:
        """Refuse results of a policy that changes what it says never changes: runs would have disturbed each other."""
        for constant in self._constants:
            if not np.array_equal(self._stream.to_host(constant.array), constant.before, equal_nan=True):
                raise KernelError(
                    f"changes {constant.name}, which never changes",
                    owner=self.cells[0].player.label,
                    expected="another field for it, which is neither `settings` nor among `constants` of the class",
                )

    def results(self) -> Generator[Played, None, None]:
        """Yield what the runs came to, cell by cell."""
        earned = self._stream.to_host(self._batch.journals.earned)
        woven = self._stream.to_host(self._batch.journals.memory.pulls.array)
        pulls = unwoven(woven, self.shape.runs, self.shape.lanes)
        for place, cell, end in zip(self.places, self.cells, self._ends.tolist(), strict=True):
            own, seconds = slice(end - len(cell.runs), end), self._seconds * len(cell.runs) / self.shape.runs
            yield Played(place, cell.runs, earned[own, : len(cell.rounds)], pulls[own], seconds, {})


@dataclasses.dataclass(frozen=True)
class Shape:
    """How many runs are played together, and by how many warps."""

    runs: int
    lanes: int  # runs that a warp plays at a time
    needed: int  # bytes of the device's memory

    def blocks(self, registers: int) -> int:
        """Return how many blocks of a warp per scheduler to launch, if a thread takes so many registers.

        More warps than schedulers hide latencies, until their states drive each other out of the caches.
        """
        most = _MOST_WARPS if self.needed <= _SMALL_STATE * self.runs else _CACHED_WARPS
        warps = device.processors() * min(_REGISTERS // (device.WARP * registers), most)
        return -(-min(-(-self.runs // self.lanes), warps) // _SCHEDULERS)


def shape_for(runs: int, group: Group, memory: int) -> Shape:
    """Return how to play runs of a group in so much memory.

    Threads of a warp wait for each other wherever their runs differ, so a warp plays few runs where there are few: as
    many as it takes to give every scheduler of the device a warp, or more if the memory is too small for that.
    """
    schedulers = device.processors() * _SCHEDULERS
    lanes = 1
    while lanes < device.WARP and lanes * schedulers < runs:
        lanes *= 2
    while lanes < device.WARP and group.needed(runs, lanes) > memory:
        lanes *= 2
    return Shape(runs, lanes, group.needed(runs, lanes))
