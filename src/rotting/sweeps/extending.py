"""Sweeps that grow: what an earlier plan of a folder has played is not played again.

A folder that is being extended keeps the blocks of its earlier plans under `earlier/`, each with its plan, until the
last block of the new plan is written. A block of the new plan is put together from what they hold and from what is
played now, so the folder ends up as if it had been made at once, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rotting.errors import DamagedFile
from rotting.sweeps.blocks import Content, encode, rows
from rotting.sweeps.errors import SweepError
from rotting.sweeps.folder import Folder
from rotting.sweeps.numbering import Piece
from rotting.sweeps.plan import Plan

# Regret of another version may be added up in another order.
_ROUNDING = 1e-9
_BLOCKS_IN_MEMORY = 8


class Earlier:
    """The results of earlier plans in a folder, under the numbers of its present plan.

    Parameters
    ----------
    folder
        The folder, with its present plan.
    note
        Told about blocks that are damaged: what they held is played again.
    """

    def __init__(self, folder: Folder, note: Callable[[str], None]):
        self.plan = folder.plan
        self._sources = [_Source(earlier, self.plan, note) for earlier in folder.earlier()]

    def has(self, block: range) -> np.ndarray:
        """Say of each run of a block whether it is known."""
        known = np.zeros(len(block), bool)
        at = 0
        for piece in self.plan.numbering.pieces(block):
            for source in self._sources:
                known[at : at + piece.runs] |= source.has(piece)
            at += piece.runs
        return known

    def gaps(self, block: range) -> list[range]:
        """Return the parts of a block that have to be played."""
        return _ranges(block, ~self.has(block)) if self._sources else [block]

    def known(self, block: range) -> list[range]:
        """Return the parts of a block that need not be played."""
        return _ranges(block, self.has(block)) if self._sources else []

    def completed(self, block: range, played: dict[range, Content]) -> bytes:
        """Return the bytes of a block, given the results of its gaps."""
        arrays = {}
        for piece in self.plan.numbering.pieces(block):
            regret = np.empty((piece.runs, len(self.plan.recorded[piece.problem])))
            pulls = np.empty((piece.runs, self.plan.problems[piece.problem].n_arms), np.int64)
            for source in self._sources:
                source.fill(piece, regret, pulls)
            arrays[piece.problem, piece.policy] = piece, regret, pulls
        for gap, content in played.items():
            for part, regret, pulls in rows(self.plan, gap, content):
                piece, all_regret, all_pulls = arrays[part.problem, part.policy]
                inside = slice(part.first - piece.first, part.first - piece.first + part.runs)
                all_regret[inside], all_pulls[inside] = regret, pulls
        _, regrets, all_pulled = zip(*arrays.values(), strict=True)
        content = Content(*(np.concatenate([part.ravel() for part in parts]) for parts in (regrets, all_pulled)))
        return encode(self.plan, block, content)

    # Results of other versions.

    def samples(self) -> list[range]:
        """Return one known run of every cell of which another version of the package, or of its kernels, played it."""
        others = [source for source in self._sources if source.is_of_another_version]
        found = []
        for cell in range(self.plan.cells if others else 0):
            whole = Piece(*divmod(cell, len(self.plan.policies)), 0, self.plan.runs)
            known = np.logical_or.reduce([source.has(whole) for source in others])
            if known.any():
                number = self.plan.numbering.number(whole.problem, whole.policy, int(np.argmax(known)))
                found.append(range(number, number + 1))
        return found

    def compare(self, sample: range, content: Content) -> None:
        """Refuse to go on from results that this version does not have."""
        for piece, regret, pulls in rows(self.plan, sample, content):
            old_regret, old_pulls = np.empty_like(regret), np.empty_like(pulls)
            for source in self._sources:
                source.fill(piece, old_regret, old_pulls)
            close = np.allclose(regret, old_regret, rtol=_ROUNDING, atol=_ROUNDING)
            if not close or not np.array_equal(pulls, old_pulls):
                policy, problem = self.plan.policy_labels[piece.policy], self.plan.problem_labels[piece.problem]
                raise SweepError(
                    f"cannot be extended: this version plays run {piece.first} of {policy} on {problem} otherwise than "
                    "the version that its results are from",
                    name="out",
                    hint="choose another folder, or delete those results with {overwrite}",
                )


class _Source:
    """The blocks of one earlier plan."""

    def __init__(self, folder: Folder, plan: Plan, note: Callable[[str], None]):
        self.folder, old = folder, folder.plan
        self.is_of_another_version = (old.version, old.kernels) != (plan.version, plan.kernels)
        self._policies = _places(plan.policies, old.policies)
        self._problems = _places(plan.problems, old.problems)
        self._has = np.zeros(old.total_runs, bool)
        self._blocks: dict[int, range] = {}
        for block in folder.blocks():
            try:
                folder.read(block)
            except DamagedFile as damage:
                note(f"{folder.file(block)} is damaged ({damage}); what it held is played again.")
                continue
            self._has[block.start : block.stop] = True
            self._blocks[block.start] = block
        self._starts = np.array(sorted(self._blocks))
        self._kept: dict[int, list[tuple[Piece, np.ndarray, np.ndarray]]] = {}

    def _old(self, piece: Piece) -> range:
        """Return the runs of a piece as the earlier plan numbered them, as far as it had them."""
        problem, policy = self._problems.get(piece.problem), self._policies.get(piece.policy)
        runs = self.folder.plan.runs
        if problem is None or policy is None or piece.first >= runs:
            return range(0)
        first = self.folder.plan.numbering.number(problem, policy, piece.first)
        return range(first, first + min(piece.runs, runs - piece.first))

    def has(self, piece: Piece) -> np.ndarray:
        """Say of each run of a piece whether it is there."""
        old = self._old(piece)
        found = np.zeros(piece.runs, bool)
        found[: len(old)] = self._has[old.start : old.stop]
        return found

    def fill(self, piece: Piece, regret: np.ndarray, pulls: np.ndarray) -> None:
        """Put what is there of a piece into its arrays, [run, round] and [run, arm]."""
        old = self._old(piece)
        if not old:
            return
        first_block = max(int(np.searchsorted(self._starts, old.start, side="right")) - 1, 0)
        for start in self._starts[first_block:].tolist():
            if start >= old.stop:
                break
            for part, old_regret, old_pulls in self._read(start):
                at = self.folder.plan.numbering.number(part.problem, part.policy, part.first)
                low, high = max(at, old.start), min(at + part.runs, old.stop)
                if low < high:
                    target, source = slice(low - old.start, high - old.start), slice(low - at, high - at)
                    regret[target], pulls[target] = old_regret[source], old_pulls[source]

    def _read(self, start: int) -> list[tuple[Piece, np.ndarray, np.ndarray]]:
        if start not in self._kept:
            while len(self._kept) >= _BLOCKS_IN_MEMORY:
                del self._kept[next(iter(self._kept))]
            block = self._blocks[start]
            self._kept[start] = list(rows(self.folder.plan, block, self.folder.read(block)))
        return self._kept[start]


def _places(present: tuple[object, ...], old: tuple[object, ...]) -> dict[int, int]:
    """Return where the present policies or problems were in an earlier plan, those that were there."""
    before = {repr(each): place for place, each in enumerate(old)}
    return {place: before[repr(each)] for place, each in enumerate(present) if repr(each) in before}


def _ranges(block: range, wanted: np.ndarray) -> list[range]:
    """Return the numbers of a block for which `wanted` is true, as ranges.

    >>> _ranges(range(10, 15), np.array([True, True, False, False, True]))
    [range(10, 12), range(14, 15)]
    """
    edges = np.flatnonzero(np.diff(wanted, prepend=False, append=False)) + block.start
    return [range(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
