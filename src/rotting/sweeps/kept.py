"""What is kept of a sweep's runs, wherever it lies: in the blocks of its folder, and of earlier, smaller plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from rotting.errors import DamagedFile
from rotting.sweeps.blocks import Content
from rotting.sweeps.folder import Folder
from rotting.sweeps.plan import Plan

_BLOCKS_IN_MEMORY = 4


class Kept:
    """A sparse map: from the numbers that runs have in a plan to the blocks that hold them.

    Parameters
    ----------
    plan
        Whose numbers.
    folders
        Where the blocks are: of this plan, or of one whose policies, problems and runs it has, too.
    damaged
        Called with a file and what is wrong with it when it is to be read; what it held then counts as not finished.
    """

    def __init__(self, plan: Plan, folders: Sequence[Folder], damaged: Callable[[Path, DamagedFile], object]):
        self.plan = plan
        self._damaged = damaged
        # Runs of one cell in one block: their numbers here, and the first one's number there.
        self._spans = [span for folder in folders for span in _spans(plan, folder)]
        self._starts = np.array([numbers.start for numbers, *_ in self._spans])
        self._stops = np.array([numbers.stop for numbers, *_ in self._spans])
        self._read = lru_cache(maxsize=_BLOCKS_IN_MEMORY)(self._read_block)

    def read(self, numbers: range) -> Content:
        """Return the results of consecutive runs: every block that is needed for them is checked bit by bit."""
        content = Content(self.plan, numbers)
        for place in np.flatnonzero((self._starts < numbers.stop) & (self._stops > numbers.start)):
            span, folder, block, first = self._spans[place]
            if (source := self._read(folder, block)) is not None:
                here = range(max(span.start, numbers.start), min(span.stop, numbers.stop))
                first += here.start - span.start
                regret, pulls = content.of(here)
                regret[:], pulls[:] = source.of(range(first, first + len(here)))
        return content

    def _read_block(self, folder: Folder, block: range) -> Content | None:
        try:
            return folder.read(block)
        except DamagedFile as damage:
            self._damaged(folder.file(block), damage)
            return None

    def of_other_versions(self) -> list[range]:
        """Return one finished run of each cell that another version has played, by its number."""
        samples: dict[int, range] = {}
        for numbers, folder, *_ in self._spans:
            run, cell = range(numbers.start, numbers.start + 1), numbers.start // self.plan.runs
            same = (folder.plan.version, folder.plan.kernels) == (self.plan.version, self.plan.kernels)
            if not same and cell not in samples and self.read(run).runs(finished=True):
                samples[cell] = run
        return list(samples.values())


def _spans(plan: Plan, folder: Folder) -> Iterator[tuple[range, Folder, range, int]]:
    """Yield what a folder holds: numbers of runs in the plan, where they are, and their first number there."""
    problems, policies = _places(folder.plan.problems, plan.problems), _places(folder.plan.policies, plan.policies)
    for block in folder.blocks():
        for piece in folder.plan.pieces(block):
            start = plan.number(problems[piece.problem], policies[piece.policy], piece.runs.start)
            yield range(start, start + len(piece.runs)), folder, block, piece.numbers.start


def _places(had: Sequence[object], present: Sequence[object]) -> list[int]:
    """Return where the policies or problems of an earlier plan are now."""
    now = {repr(each): place for place, each in enumerate(present)}
    return [now[repr(each)] for each in had]
