"""Play cells on the GPU: several batches at a time, each on a stream of its own, in pieces of a fraction of a second.

Between two pieces Python looks at Ctrl-C, at what broke, and at the progress.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import numpy as np

from rotting._core.checking import compile_errors_in_short
from rotting.errors import KernelError, NoDevice
from rotting.play.gpu import device
from rotting.play.gpu.batches import Cell, Group, Part, cut, first_players, grouped, of_players, to_device
from rotting.play.gpu.compiling import kernel_for
from rotting.play.players import CompiledContestant, Contestant

# How much of the memory that is free is planned with; the rest is for what the driver and others need.
_SHARE = 0.85
_PIECE_SECONDS = 0.25
_FIRST_PIECES = 32  # the first piece is this part of the rounds: its time says how long the others should be
# Of a multiprocessor, of every generation since Volta: each has at least these. A block has a warp per scheduler.
_SCHEDULERS, _REGISTERS, _MOST_WARPS = 4, 65_536, 32
_CACHED_WARPS, _SMALL_STATE = 16, 1024  # the most warps for states of more bytes than that (measured: docs/gpu.md)
_POLL_SECONDS = 0.0005
_PLAYING = threading.Lock()


class Played(NamedTuple):
    """What some runs of a cell came to."""

    part: Part
    earned: np.ndarray  # float64 [run, recorded round]
    pulls: np.ndarray  # int64 [run, arm]
    seconds: float  # of the device, its share of the batch that it was played in


def play_cells(
    cells: Sequence[Cell], seed: int, advance: Callable[[int], object] = lambda rounds: None
) -> Generator[Played, None, None]:
    """Yield the runs of cells, part by part, in any order; `advance` is called with the rounds played since.

    One thread of a process plays at a time; others wait.
    """
    device.require()
    with _PLAYING:
        yield from _play_cells(cells, seed, advance)


def _play_cells(cells: Sequence[Cell], seed: int, advance: Callable[[int], object]) -> Generator[Played, None, None]:
    memory = int(_SHARE * device.free_memory())
    waiting: deque[tuple[list[Part], Group]] = deque(
        (parts, group) for group in grouped(cells) for parts in cut(group.parts(cells), group.most_runs(memory))
    )
    playing: list[_Playing] = []
    while waiting or playing:
        while waiting:
            parts, group = waiting[0]
            shape = shape_for(sum(part.runs for part in parts), group, memory)
            if playing and shape.needed + sum(each.shape.needed for each in playing) > memory:
                break
            try:
                begun = _Playing(cells, parts, seed, shape)
            except MemoryError:
                if playing:
                    break
                memory //= 2  # there is less than was said
                waiting.popleft()
                waiting.extendleft((half, group) for half in _halves(parts))
                continue
            waiting.popleft()
            playing.append(begun)
        finished = [each for each in playing if each.go_on(advance)]
        playing = [each for each in playing if each not in finished]
        for each in finished:
            yield from each.results()
        if not finished:
            time.sleep(_POLL_SECONDS)


def played_together(
    cells: Sequence[Cell], seed: int, advance: Callable[[int], object] = lambda runs: None
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Play cells; return for each what its runs earned, their pulls and the seconds they took.

    `advance` is called now and then with how many runs the rounds played since are worth.
    """
    results = [
        (np.empty((cell.runs, len(cell.rounds))), np.empty((cell.runs, cell.problem.n_arms), np.int64), np.zeros(1))
        for cell in cells
    ]
    total, told, rounds = sum(cell.runs for cell in cells), 0, 0
    all_rounds = sum(cell.runs * cell.horizon for cell in cells)

    def count(more: int) -> None:
        nonlocal told, rounds
        rounds += more
        worth = rounds * total // all_rounds
        advance(worth - told)
        told = worth

    for part, earned, pulls, seconds in play_cells(cells, seed, count):
        runs = slice(part.first, part.first + part.runs)
        results[part.cell][0][runs], results[part.cell][1][runs] = earned, pulls
        results[part.cell][2][0] += seconds
    return [(earned, pulls, float(seconds[0])) for earned, pulls, seconds in results]


def refuse_python(player: Contestant) -> CompiledContestant:
    """Return a contestant that a GPU can play: a Python class is none."""
    if isinstance(player, CompiledContestant):
        return player
    raise NoDevice(
        "is played in Python, which a GPU cannot do",
        owner=player.label,
        hint="{device}'cpu' plays it; a policy of the kernel contract runs on both (docs/new_policy.md)",
    )


def _halves(parts: list[Part]) -> list[list[Part]]:
    runs = sum(part.runs for part in parts)
    if runs == 1:
        raise MemoryError("the GPU's memory is too small for a single run")
    return list(cut(parts, -(-runs // 2)))


class _Playing:
    """A batch on its way: which rounds are being played, and how long they took so far."""

    def __init__(self, cells: Sequence[Cell], parts: list[Part], seed: int, shape: Shape):
        self.cells, self.parts, self.shape = cells, parts, shape
        self._stream = device.Stream()
        self._horizon = max(cells[part.cell].horizon for part in parts)
        sample, _ = to_device(cells, [dataclasses.replace(parts[0], runs=1)], seed, 1, 1, self._stream)
        with compile_errors_in_short(cells[parts[0].cell].player.policy):
            self._kernel, registers = kernel_for(sample)
        self._blocks = shape.blocks(registers)
        self._batch, self._constants = to_device(cells, parts, seed, shape.lanes, shape.team, self._stream)
        self._last, self._piece, self._seconds, self._reported = 0, 0, 0.0, 0
        self._launch(-(-self._horizon // _FIRST_PIECES))

    def _launch(self, rounds: int) -> None:
        """Begin to play so many rounds."""
        self._piece = min(rounds, self._horizon - self._last)
        self._began = time.perf_counter()
        rounds_now = self._last + 1, self._last + self._piece
        threads = self.shape.team, _SCHEDULERS * device.WARP // self.shape.team
        self._stream.launch(self._kernel, self._blocks, threads, self._batch, *rounds_now, self.shape.lanes)
        self._is_done = self._stream.mark()

    def go_on(self, advance: Callable[[int], object]) -> bool:
        """Begin the next piece if the present one is finished; say whether that was the last."""
        if not self._is_done():
            return False
        took = time.perf_counter() - self._began
        self._seconds += took
        self._last += self._piece
        self._refuse_broken()
        done = sum(min(self._last, self.cells[part.cell].horizon) * part.runs for part in self.parts)
        advance(done - self._reported)
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
        run = int(np.argmax(broken[:, 0] > 0))
        part = next(part for part, end in zip(self.parts, self._ends(), strict=True) if run < end)
        cell = self.cells[part.cell]
        raise cell.player.broken(int(broken[run, 0]), int(broken[run, 1]), cell.problem.n_arms)

    def _refuse_changed(self) -> None:
        """Refuse results of a policy that changes what it says never changes: runs would have disturbed each other."""
        for constant in self._constants:
            if not np.array_equal(self._stream.to_host(constant.array), constant.before, equal_nan=True):
                raise KernelError(
                    f"changes {constant.name}, which never changes",
                    owner=self.cells[self.parts[0].cell].player.label,
                    expected="another field for it, which is neither `settings` nor among `constants` of the class",
                )

    def _ends(self) -> np.ndarray:
        return np.cumsum([part.runs for part in self.parts])

    def results(self) -> Generator[Played, None, None]:
        """Yield what the runs came to, cell by cell."""
        runs = self.shape.runs
        earned = self._stream.to_host(self._batch.journals.earned)
        players = first_players(runs, self.shape.lanes, self.shape.team)
        pulls = of_players(self._stream.to_host(self._batch.journals.memory.pulls.array), players)
        for part, end in zip(self.parts, self._ends(), strict=True):
            own = slice(int(end) - part.runs, int(end))
            recorded = len(self.cells[part.cell].rounds)
            yield Played(part, earned[own, :recorded], pulls[own], self._seconds * part.runs / runs)


@dataclasses.dataclass(frozen=True)
class Shape:
    """How many runs are played together, and with which threads."""

    runs: int
    lanes: int  # runs that a warp plays at a time
    team: int  # threads that play a run
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
    many as it takes to give every scheduler of the device a warp, or more if the memory is too small for that. Where it
    plays one, its other threads help, if the policy lets them. (Teams of a part of a warp were no gain: docs/gpu.md.)
    """
    schedulers = device.processors() * _SCHEDULERS
    lanes = 1
    while lanes < device.WARP and lanes * schedulers < runs:
        lanes *= 2
    while lanes < device.WARP and group.needed(runs, lanes) > memory:
        lanes *= 2
    team = device.WARP if lanes == 1 and group.in_teams and not device.SIMULATED else 1
    return Shape(runs, lanes, team, group.needed(runs, lanes))
