"""What a folder holds of each cell, from whatever blocks it lies in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rotting.errors import DamagedFile
from rotting.sweeps.blocks import Content
from rotting.sweeps.errors import SweepError
from rotting.sweeps.folder import Folder

_BLOCKS_IN_MEMORY = 4


class Kept:
    """The results in a folder.

    Parameters
    ----------
    folder
        Where they are.
    blocks
        Which of its blocks to read, in order.
    """

    def __init__(self, folder: Folder, blocks: Sequence[range]):
        self.folder, self.plan, self.blocks = folder, folder.plan, blocks
        self._starts = np.array([block.start for block in blocks])
        self._stops = np.array([block.stop for block in blocks])
        self._read = lru_cache(maxsize=_BLOCKS_IN_MEMORY)(self._read_block)

    def of_cell(self, problem: int, policy: int, runs: range) -> tuple[np.ndarray, np.ndarray]:
        """Return regret[run, recorded round] and pulls[run, arm]; NaN and 0 for runs that are not there."""
        rounds, arms = self.plan.sizes[problem]
        regret, pulls = np.full((len(runs), rounds), np.nan), np.zeros((len(runs), arms), np.int64)
        first = self.plan.numbering.number(problem, policy, runs.start)
        for index in np.flatnonzero((self._starts < first + len(runs)) & (self._stops > first)):
            block = self.blocks[int(index)]
            there = range(max(block.start, first), min(block.stop, first + len(runs)))
            own = slice(there.start - first, there.stop - first)
            regret[own], pulls[own] = self._read(index).of(there)
        return regret, pulls

    def _read_block(self, index: int) -> Content:
        block = self.blocks[index]
        try:
            return self.folder.read(block)
        except DamagedFile as damage:
            raise SweepError(
                f"{str(self.folder.file(block))!r} is damaged ({damage})",
                hint="give the sweep's command again, which computes it again",
            ) from None
