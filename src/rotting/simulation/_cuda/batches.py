"""Which runs are played together: those whose states and problems look alike, as many as fit the memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rotting._core.defining import leaves
from rotting.policies._engine.contract import fresh_state
from rotting.problems import Problem
from rotting.simulation._cuda.compiling import spreading
from rotting.simulation._cuda.device import Stream
from rotting.simulation._cuda.kernel import Batch
from rotting.simulation._cuda.parts import Common, Woven
from rotting.simulation.contestants import CompiledContestant
from rotting.simulation.loop import Journal, streams_of_many

_SPREADING_THREADS, _SPREADING_BLOCKS = 256, 2048
_BYTES = 8  # of a number
_LONG = 1 << 16  # rounds for which every history needs more room than a fresh one has
_GROWING, _WOVEN, _COMMON = range(3)  # layouts: see `parts`


@dataclasses.dataclass(frozen=True)
class Cell:
    """One policy on one problem, so many runs from the first one on."""

    player: CompiledContestant
    problem: Problem
    horizon: int
    rounds: np.ndarray  # the rounds to record
    first_run: int
    runs: int


@dataclasses.dataclass(frozen=True)
class Part:
    """Some runs of a cell: first..first + runs - 1, counted from the cell's first run."""

    cell: int  # its place among all cells
    first: int
    runs: int


@dataclasses.dataclass(frozen=True)
class Group:
    """Cells whose states and problems have the same structure, so that one launch can play them."""

    places: tuple[int, ...]  # of the cells among all
    run_bytes: int

    def parts(self, cells: Sequence[Cell]) -> list[Part]:
        """Return all runs."""
        return [Part(place, 0, cells[place].runs) for place in self.places]


class Constant(NamedTuple):
    """An array that is kept once for many runs, which must be the same after they are played."""

    name: str
    before: np.ndarray
    array: Any  # on the device


def first_state(cell: Cell) -> Any:
    """Return the state that every run of a cell starts with, with room for all its rounds."""
    policy = cell.player.policy
    return policy.reserve(fresh_state(policy, cell.problem.n_arms), cell.horizon)


def grouped(cells: Sequence[Cell]) -> list[Group]:
    """Return the cells in groups, those that need most memory first."""
    found: dict[object, list[int]] = {}
    sizes: dict[object, int] = {}
    for place, cell in enumerate(cells):
        state = first_state(cell)
        key = _structure(state, {}), _structure(cell.problem.arrays, {}), _structure(cell.problem.new_memory(), {})
        found.setdefault(key, []).append(place)
        memory = cell.problem.new_memory()
        own = {id(array): array.nbytes for part in (state, memory) for _, array in leaves(part)}
        numbers = 2 * cell.problem.n_arms + len(cell.rounds) + 8
        sizes[key] = max(sizes.get(key, 0), sum(own.values()) + numbers * _BYTES)
    groups = [Group(tuple(places), sizes[key]) for key, places in found.items()]
    return sorted(groups, key=lambda group: -group.run_bytes)


def _structure(value: Any, seen: dict[int, int]) -> object:
    """Return what two tuples of arrays must share to be played together: classes, types, shapes, arrays kept twice."""
    if isinstance(value, tuple):
        return type(value), tuple(_structure(each, seen) for each in value)
    return value.dtype.str, value.shape, seen.setdefault(id(value), len(seen))


def cut(parts: Sequence[Part], most: int) -> Iterator[list[Part]]:
    """Yield the parts in lists of at most `most` runs, about equally many in each.

    >>> [sum(part.runs for part in batch) for batch in cut([Part(0, 0, 50), Part(1, 0, 51)], most=40)]
    [34, 34, 33]
    """
    total = sum(part.runs for part in parts)
    size = -(-total // -(-total // most))
    batch: list[Part] = []
    room = size
    for part in parts:
        first, left = part.first, part.runs
        while left:
            taken = min(left, room)
            batch.append(Part(part.cell, first, taken))
            first, left, room = first + taken, left - taken, room - taken
            if room == 0:
                yield batch
                batch, room = [], size
    if batch:
        yield batch


# A batch in the device's memory.


def to_device(
    cells: Sequence[Cell], parts: Sequence[Part], seed: int, lanes: int, stream: Stream
) -> tuple[Batch, list[Constant]]:
    """Return the runs of a batch before their first round, for warps of which `lanes` threads play; and its constants.

    `MemoryError` if the device's memory is too small.
    """
    chosen = [cells[part.cell] for part in parts]
    runs = np.concatenate([np.arange(part.runs) + cells[part.cell].first_run + part.first for part in parts])
    whose = np.repeat(np.arange(len(parts)), [part.runs for part in parts])
    making = _Making(len(runs), lanes, stream.to_device(whose), stream)
    n_arms, rounds = chosen[0].problem.n_arms, _padded([cell.rounds for cell in chosen])
    streams = streams_of_many(seed, runs, n_arms)
    batch = Batch(
        states=making.assembled([first_state(cell) for cell in chosen], _layouts(chosen[0])),
        streams=type(streams)(*(making.woven(each) for each in streams)),
        journals=Journal(
            rounds=making.common(rounds),
            earned=stream.zeros((len(runs), rounds.shape[1]), np.dtype(np.float64)),
            memory=making.assembled([cell.problem.new_memory() for cell in chosen], _memory_layout, "memory"),
            total=making.woven(np.zeros((len(runs), 2))),
            place=making.woven(np.zeros((len(runs), 1), np.int64)),
        ),
        problems=making.assembled([cell.problem.arrays for cell in chosen], lambda name: _COMMON),
        horizons=stream.to_device(np.array([cell.horizon for cell in chosen])),
        cells=making.cells,
        broken=stream.zeros((len(runs), 2), np.dtype(np.int64)),
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
    policy = cell.player.policy
    fresh = fresh_state(policy, cell.problem.n_arms)
    before, after = dict(leaves(fresh)), dict(leaves(policy.reserve(fresh, _LONG)))
    growing = {name for name in before if before[name].shape != after[name].shape}
    constant = {f"state.{name}" for name in ("settings", *policy.constants)}

    def layout(name: str) -> int:
        return _COMMON if name in constant else _GROWING if name in growing else _WOVEN

    return layout


def _memory_layout(name: str) -> int:
    """Return how an array of what a run keeps of the past is laid out: pulls are read when all is played."""
    return _GROWING if name == "memory.pulls" else _WOVEN


class _Making:
    """Makes the arrays of a batch from those of its cells."""

    def __init__(self, runs: int, lanes: int, cells: Any, stream: Stream):
        self.runs, self.lanes, self.cells, self.stream = runs, lanes, cells, stream
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
            common = self.common(prototypes)
            self.constants.append(Constant(name, prototypes, common.array))
            return common
        lanes = self.lanes if layout == _WOVEN else 1
        groups, shape, size = -(-self.runs // lanes), prototypes.shape[1:], prototypes[0].size
        axes = (groups, *shape, lanes) if layout == _WOVEN else (self.runs, *shape)
        array = self.stream.zeros(axes, prototypes.dtype)
        if prototypes.any():
            flat = self.stream.to_device(prototypes.reshape(len(prototypes), size))
            arguments = array.reshape((groups, size, lanes)), flat, self.cells
            self.stream.launch(spreading(), _SPREADING_BLOCKS, _SPREADING_THREADS, *arguments)
        return Woven(array) if layout == _WOVEN else array

    def common(self, rows: np.ndarray) -> Any:
        """Return an array that has a row per cell."""
        return Common(self.stream.to_device(rows))

    def woven(self, rows: np.ndarray) -> Any:
        """Return an array that has a row per run, woven."""
        groups = -(-self.runs // self.lanes)
        padded = np.zeros((groups * self.lanes, *rows.shape[1:]), rows.dtype)
        padded[: self.runs] = rows
        apart = padded.reshape(groups, self.lanes, *rows.shape[1:])
        return Woven(self.stream.to_device(np.ascontiguousarray(np.moveaxis(apart, 1, -1))))
