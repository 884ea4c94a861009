"""Which runs are played together: those whose states and problems look alike, as many as fit the memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rotting._core.defining import leaves
from rotting.errors import NoDevice
from rotting.play.cell import Cell
from rotting.play.gpu.compiling import spreading
from rotting.play.gpu.device import WARP, Stream
from rotting.play.gpu.kernel import Batch
from rotting.play.gpu.parts import Common, Woven
from rotting.play.loop import Streams, new_journal, streams_of_many
from rotting.policies import Policy
from rotting.policies._contract.states import fresh_state

_SPREADING_THREADS, _SPREADING_BLOCKS = 256, 2048
_LONG = 1 << 16  # rounds for which every history needs more room than a fresh one has
_GROWING, _WOVEN, _COMMON = range(3)  # layouts: see `parts`
_OF_JOURNALS = {"journal.rounds": _COMMON, "journal.earned": _GROWING}  # all else is woven


# Some runs of a cell, and its place among those that are played.
Placed = tuple[int, Cell]


@dataclasses.dataclass(frozen=True)
class Group:
    """Cells whose states and problems have the same structure, so that one launch can play them."""

    cells: tuple[Placed, ...]
    sample: Batch  # of a single run
    run_bytes: int  # what a run needs, ...
    thread_bytes: int  # ... and each thread of a warp

    def needed(self, runs: int, lanes: int) -> int:
        """Return how many bytes runs need of which a warp plays so many at a time."""
        return runs * self.run_bytes + -(-runs // lanes) * WARP * self.thread_bytes

    def most_runs(self, memory: int) -> int:
        """Return how many runs fit the memory, one at least: whole warps of them, or less than one."""
        whole = memory // (self.run_bytes + self.thread_bytes) // WARP * WARP
        return int(whole or max((memory - WARP * self.thread_bytes) // self.run_bytes, 1))


class Constant(NamedTuple):
    """An array that is kept once for many runs, which must be the same after they are played."""

    name: str
    before: np.ndarray
    array: Any  # on the device


def first_state(cell: Cell) -> Any:
    """Return the state that every run of a cell starts with, with room for all its rounds."""
    policy = policy_of(cell)
    return policy.reserve(fresh_state(policy, cell.problem.n_arms), cell.horizon)


def policy_of(cell: Cell) -> Policy:
    """Return the policy of a cell that a GPU can play: a Python class is not one."""
    if cell.player.is_compiled and cell.player.policy is not None:
        return cell.player.policy
    raise NoDevice(
        "is played in Python, which a GPU cannot do",
        owner=cell.player.label,
        hint="{device}'cpu' plays it; a policy of the kernel contract runs on both (docs/new_policy.md)",
    )


def grouped(cells: Iterable[Placed], stream: Stream) -> list[Group]:
    """Return cells in groups, those that need most memory first."""
    found: dict[object, list[Placed]] = {}
    for place, cell in cells:
        parts = first_state(cell), cell.problem.arrays, cell.problem.new_memory()
        found.setdefault(tuple(_structure(part, {}) for part in parts), []).append((place, cell))
    groups = [_group(each, stream) for each in found.values()]
    return sorted(groups, key=lambda group: -group.run_bytes - group.thread_bytes)


def _group(cells: list[Placed], stream: Stream) -> Group:
    """Return a group, and what its runs need."""
    largest = max((cell for _, cell in cells), key=lambda cell: len(cell.rounds))
    sample, _ = to_device([dataclasses.replace(largest, runs=largest.runs[:1])], 1, stream)
    return Group(tuple(cells), sample, *_sizes(sample))


def _sizes(part: Any) -> tuple[int, int]:
    """Return how many bytes of a batch of one run are the run's, and those of each thread of a warp.

    An array that a state holds twice, such as its pulls, counts twice, though it is one.
    """
    if isinstance(part, Woven):
        return 0, part.array.nbytes // WARP
    if isinstance(part, tuple) and not isinstance(part, Common):
        of_run, of_thread = zip(*map(_sizes, part), strict=True)
        return sum(of_run), sum(of_thread)
    return 0 if isinstance(part, Common) else part.nbytes, 0


def _structure(value: Any, seen: dict[int, int]) -> object:
    """Return what two tuples of arrays must share to be played together: classes, types, shapes, arrays kept twice."""
    if isinstance(value, tuple):
        return type(value), tuple(_structure(each, seen) for each in value)
    return value.dtype.str, value.shape, seen.setdefault(id(value), len(seen))


def runs_of(cells: Iterable[Placed]) -> int:
    """Return how many runs cells have, all together."""
    return sum(len(cell.runs) for _, cell in cells)


def cut(cells: Sequence[Placed], most: int) -> Iterator[list[Placed]]:
    """Yield cells, or parts of them, in lists of at most `most` runs, about equally many in each."""
    total = runs_of(cells)
    room = size = -(-total // -(-total // most))
    batch: list[Placed] = []
    for place, cell in cells:
        left = cell.runs
        while left:
            taken, left = left[:room], left[room:]
            batch.append((place, dataclasses.replace(cell, runs=taken)))
            room -= len(taken)
            if room == 0:
                yield batch
                batch, room = [], size
    if batch:
        yield batch


# A batch in the device's memory.


def to_device(cells: Sequence[Cell], lanes: int, stream: Stream) -> tuple[Batch, list[Constant]]:
    """Return the runs of a batch before their first round, and its constants.

    It is for warps that play `lanes` runs at a time. `MemoryError` if the device's memory is too small.
    """
    sizes = [len(cell.runs) for cell in cells]
    runs, whose = sum(sizes), np.repeat(np.arange(len(cells)), sizes)
    making = _Making(runs, lanes, stream.to_device(whose), stream)
    n_arms, rounds = cells[0].problem.n_arms, _padded([cell.rounds for cell in cells])
    each = [streams_of_many(cell.seed, np.array(cell.runs), n_arms) for cell in cells]
    streams = Streams(*map(np.concatenate, zip(*each, strict=True)))
    journals = [new_journal(own, cell.problem) for own, cell in zip(rounds, cells, strict=True)]
    batch = Batch(
        states=making.assembled([first_state(cell) for cell in cells], _layouts(cells[0])),
        streams=Streams(*map(making.woven, streams._replace(delay=streams.start))),  # no rewards are late
        journals=making.assembled(journals, lambda name: _OF_JOURNALS.get(name, _WOVEN), "journal"),
        problems=making.assembled([cell.problem.arrays for cell in cells], lambda name: _COMMON),
        horizons=stream.to_device(np.array([cell.horizon for cell in cells])),
        cells=making.cells,
        broken=stream.zeros((runs, 3), np.dtype(np.int64)),
        any_broken=stream.zeros((1,), np.dtype(np.int64)),
    )
    return batch, making.constants


def _padded(rounds: list[np.ndarray]) -> np.ndarray:
    """Return the rounds to record by cell; where a cell has fewer, rounds follow that never come."""
    padded = np.full((len(rounds), max(map(len, rounds))), -1, np.int64)
    for row, own in zip(padded, rounds, strict=True):
        row[: len(own)] = own
    return padded


def _layouts(cell: Cell) -> Callable[[str], int]:
    """Return how each array of a cell's states, by its name, is laid out: whatever the horizon and the arms."""
    policy = policy_of(cell)
    fresh = fresh_state(policy, cell.problem.n_arms)
    before, after = dict(leaves(fresh)), dict(leaves(policy.reserve(fresh, _LONG)))
    growing = {name for name in before if before[name].shape != after[name].shape}
    constant = {f"state.{name}" for name in ("settings", *policy.constants)}

    def layout(name: str) -> int:
        return _COMMON if name in constant else _GROWING if name in growing else _WOVEN

    return layout


def unwoven(woven: np.ndarray, runs: int, lanes: int) -> np.ndarray:
    """Return an array with a row per run, from one that is woven."""
    group, lane = np.divmod(np.arange(runs), lanes)
    return np.asarray(np.moveaxis(woven, -1, 1)[group, lane])


class _Making:
    """Makes the arrays of a batch from those of its cells."""

    def __init__(self, runs: int, lanes: int, cells: Any, stream: Stream):
        self.runs, self.lanes, self.cells, self.stream = runs, lanes, cells, stream
        self._groups = -(-runs // lanes)
        self._made: dict[int, Any] = {}
        self.constants: list[Constant] = []

    def assembled(self, prototypes: list[Any], layout: Callable[[str], int], name: str = "state") -> Any:
        """Return tuples like the prototypes, of arrays for all runs; one array kept twice stays one."""
        first = prototypes[0]
        if isinstance(first, tuple):
            return type(first)(
                *(
                    self.assembled([each[place] for each in prototypes], layout, f"{name}.{field}")
                    for place, field in enumerate(first._fields)  # type: ignore[attr-defined]
                )
            )
        if id(first) not in self._made:
            # The prototype is kept, too: while it lives, its id is not used again.
            self._made[id(first)] = first, self._array(np.stack(prototypes), layout(name), name)
        return self._made[id(first)][1]

    def _array(self, prototypes: np.ndarray, layout: int, name: str) -> Any:
        if layout == _COMMON:
            common = self.stream.to_device(prototypes)
            self.constants.append(Constant(name, prototypes, common))
            return Common(common)
        woven, shape, size = layout == _WOVEN, prototypes.shape[1:], prototypes[0].size
        axes = (self._groups, *shape, WARP) if woven else (self.runs, *shape)
        array = self.stream.zeros(axes, prototypes.dtype)
        if prototypes.any():
            flat = self.stream.to_device(prototypes.reshape(len(prototypes), size))
            rows = array.reshape((self._groups, size, WARP) if woven else (self.runs, size, 1))
            arguments = rows, flat, self.cells, self.lanes if woven else 1
            self.stream.launch(spreading(), _SPREADING_BLOCKS, _SPREADING_THREADS, *arguments)
        return Woven(array) if woven else array

    def woven(self, rows: np.ndarray) -> Any:
        """Return an array that has a row per run, woven."""
        apart = np.zeros((self._groups, WARP, *rows.shape[1:]), rows.dtype)
        apart[np.divmod(np.arange(self.runs), self.lanes)] = rows
        return Woven(self.stream.to_device(np.moveaxis(apart, 1, -1)))
