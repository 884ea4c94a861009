"""`play`, and the places where runs can be played: threads of this process, a GPU."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from functools import partial

import numpy as np

from rotting._core.threads import KEPT, on_threads
from rotting._core.validation import whole_number
from rotting.errors import BadValue
from rotting.play.cell import Cell, Place, Played, Tell

DEVICES = ("cpu", "cuda")
# From about so many runs on, whose states are alike, a GPU is as quick as a dozen cores, or quicker (docs/gpu.md).
_MANY_RUNS = 4096


def play(cells: Sequence[Cell], on: Place | None = None, tell: Tell = lambda place, rounds: None) -> Generator[Played]:
    """Yield what the runs of cells come to, piece by piece, in any order.

    What a run comes to depends on its cell and its number alone, not on where and with which others it is played.

    Parameters
    ----------
    cells
        What to play.
    on
        Where: `threads(count)`, `gpu()` or `rotting.sweeps.cluster.dask(client)` (default: a thread per processor).
    tell
        Called now and then with the place of a cell, and how many rounds were played since.

    Examples
    --------
    >>> import numpy as np
    >>> from rotting import UCB1, problems
    >>> from rotting.play.players import players_of
    >>> problem = problems.two_arm(L=2)
    >>> (player,) = players_of(UCB1(), problem, 100)
    >>> cell = Cell(player, problem, 100, np.array([50, 100]), range(8), seed=0)
    >>> sum(len(piece.runs) for piece in play([cell], on=threads(2)))
    8
    """
    yield from (threads() if on is None else on)(cells, tell)


def threads(count: int | None = None, kept: int = KEPT) -> Place:
    """Return threads of this process (default: one per processor), of which each may be `kept` pieces ahead."""
    count = whole_number("threads", os.cpu_count() or 1 if count is None else count, minimum=1)
    return partial(_on_threads, count=count, kept=kept)


def gpu() -> Place:
    """Return the NVIDIA GPU of this machine (needs `rotting[cuda]`); only compiled policies can be played there."""
    return _on_gpu


def gpu_and_threads(count: int | None = None) -> Place:
    """Return the GPU, for many runs that are alike, and threads for all others, both at once."""
    return partial(_on_both, one=gpu(), other=threads(count, kept=sys.maxsize))


def place_for(device: str, count: int | None = None) -> Place:
    """Return where to play for a user who named a device, and how many threads."""
    on = threads(count)
    if device not in DEVICES:
        raise BadValue(name="device", value=device, expected=" or ".join(map(repr, DEVICES)))
    return on if device == "cpu" else gpu()


def device_name(device: str) -> str:
    """Return what results say about where they were computed."""
    if device == "cpu":
        return device
    from rotting.play.gpu.device import name

    return f"{device}: {name()}"


def _on_gpu(cells: Sequence[Cell], tell: Tell) -> Generator[Played]:
    for cell in cells:
        for name, given in (("trace", cell.trace), ("delay", cell.delay if cell.is_late else None)):
            if given:
                raise BadValue("is for the CPU, not for cuda", name=name, value=given, hint="leave out {device}")
    from rotting.play.gpu.device import require

    require()
    from rotting.play.gpu.playing import play_cells

    yield from play_cells(cells, tell)


def _on_both(cells: Sequence[Cell], tell: Tell, one: Place, other: Place) -> Generator[Played]:
    runs: Counter[tuple[type, int]] = Counter()
    for cell in cells:
        runs[_alike(cell)] += len(cell.runs)

    with contextlib.ExitStack() as stack:

        def begun(on: Place, is_one: bool) -> Generator[Played]:
            places = [place for place, cell in enumerate(cells) if _is_for_gpu(cell, runs[_alike(cell)]) is is_one]
            return stack.enter_context(contextlib.closing(_some(cells, places, on, tell)))

        others = begun(other, False)
        first = next(others, None)  # its threads begin now, and play while the other place is asked
        yield from begun(one, True)
        if first is not None:
            yield first
            yield from others


def _is_for_gpu(cell: Cell, runs: int) -> bool:
    return runs >= _MANY_RUNS and not cell.trace


def _alike(cell: Cell) -> tuple[type, int]:
    return type(cell.player.policy), cell.problem.n_arms


def _some(cells: Sequence[Cell], places: Sequence[int], on: Place, tell: Tell) -> Generator[Played]:
    """Play some of the cells."""
    with contextlib.closing(
        on([cells[each] for each in places], lambda place, more: tell(places[place], more))
    ) as found:
        for played in found:
            yield played._replace(cell=places[played.cell])


def _on_threads(cells: Sequence[Cell], tell: Tell, count: int, kept: int) -> Generator[Played]:
    stop = np.zeros(1, np.int64)
    own = threading.local()  # what a thread was at last: the place of a cell, and its table

    def job(place: int, runs: range) -> Played:
        if getattr(own, "place", None) != place:
            own.table = None  # its memory is free for the next one
            own.place, own.table = place, cells[place].player.table(cells[place])
        return Played(place, *own.table.play(runs, stop))

    jobs = (partial(job, place, runs) for place, runs in _pieces(cells, count))
    with contextlib.closing(on_threads(jobs, count, partial(stop.fill, 1), kept)) as finished:
        for played in finished:
            tell(played.cell, len(played.runs) * cells[played.cell].horizon)
            yield played


def _pieces(cells: Sequence[Cell], count: int) -> Iterator[tuple[int, range]]:
    """Yield the place of each cell, and its runs in pieces: small ones at the end, so that all threads end together."""
    left = sum(cell.work for cell in cells)
    for place, cell in enumerate(cells):
        first, last = cell.runs.start, cell.runs.stop
        while first < last:
            most = cell.player.rounds_at_once
            rounds = max(min(most, left // (4 * count)), most // 16)
            after = min(first + max(rounds // cell.horizon, 1), last)
            yield place, range(first, after)
            left -= (after - first) * cell.horizon
            first = after
