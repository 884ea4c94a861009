"""Sweeps that grow: what an earlier plan of a folder has played is not played again.

A folder that is being extended keeps the blocks of its earlier plans under `earlier/`, each with its plan, until the
last block of the new plan is written. A block of the new plan is put together from what they hold and from what is
played now, so the folder ends up as if it had been made at once, bit for bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from rotting.errors import DamagedFile
from rotting.play.cell import Place
from rotting.sweeps.blocks import Content, played_blocks
from rotting.sweeps.errors import SweepError
from rotting.sweeps.folder import Folder
from rotting.sweeps.kept import Kept
from rotting.sweeps.plan import Plan

# Regret of another version may be added up in another order.
_ROUNDING = 1e-9


class Earlier:
    """The results of earlier plans, under the numbers of the present one.

    Parameters
    ----------
    plan, folders
        The present plan, and the folders of the earlier ones.
    note
        Told about blocks that are damaged: what they held is played again.
    """

    def __init__(self, plan: Plan, folders: Sequence[Folder], note: Callable[[str], None]):
        self.plan = plan
        self._has = np.zeros(self.plan.total_runs, bool)
        self._samples: dict[tuple[int, int], range] = {}  # by cell, a run that another version has played
        self._sources: list[tuple[Kept, list[int], list[int]]] = []  # and where its problems and policies are now
        for old in folders:
            kept = Kept(old, [block for block in old.blocks() if _is_sound(old, block, note)])
            places = _places(old.plan.problems, self.plan.problems), _places(old.plan.policies, self.plan.policies)
            self._sources.append((kept, *places))
            self._learn(kept, *places)

    def _learn(self, kept: Kept, problems: list[int], policies: list[int]) -> None:
        is_other = (kept.plan.version, kept.plan.kernels) != (self.plan.version, self.plan.kernels)
        for piece in (piece for block in kept.blocks for piece in kept.plan.numbering.pieces(block)):
            cell = problems[piece.problem], policies[piece.policy]
            first = self.plan.numbering.number(*cell, piece.runs.start)
            self._has[first : first + len(piece.runs)] = True
            if is_other:
                self._samples.setdefault(cell, range(first, first + 1))

    def gaps(self, block: range) -> list[range]:
        """Return the parts of a block that have to be played."""
        return _ranges(block, ~self._has[block.start : block.stop])

    def known(self, block: range) -> list[range]:
        """Return the parts of a block that need not be played."""
        return _ranges(block, self._has[block.start : block.stop])

    def content(self, block: range) -> Content:
        """Return the results of a block, with anything in the gaps."""
        content = Content(self.plan, block)
        for piece, (kept, problems, policies) in itertools.product(self.plan.numbering.pieces(block), self._sources):
            there = piece.runs[: max(kept.plan.runs - piece.runs.start, 0)]
            if piece.problem in problems and piece.policy in policies and there:
                cell = problems.index(piece.problem), policies.index(piece.policy)
                old_regret, old_pulls = kept.of_cell(*cell, there)
                found = np.flatnonzero(np.isfinite(old_regret[:, -1]))
                regret, pulls = content.of(piece.numbers)
                regret[found], pulls[found] = old_regret[found], old_pulls[found]
        return content

    def check_other_versions(self, on: Place, note: Callable[[str], None]) -> None:
        """Play one run of every cell again that another version has played; refuse to go on if it is not the same."""
        if not self._samples:
            return
        cells = {sample: cell for cell, sample in self._samples.items()}
        for sample, content in played_blocks(self.plan, list(cells), on):
            old = self.content(sample)
            close = np.allclose(content.regret, old.regret, rtol=_ROUNDING, atol=_ROUNDING)
            if not close or not np.array_equal(content.pulls, old.pulls):
                problem, policy = cells[sample]
                raise SweepError(
                    f"cannot be extended: this version plays run {sample.start % self.plan.runs} of "
                    f"{self.plan.policy_labels[policy]} on {self.plan.problem_labels[problem]} otherwise than the "
                    "version that its results are from",
                    name="out",
                    hint="choose another folder, or delete those results with {overwrite}",
                )
        note(
            f"What exists was played by another version: one run of each of its {len(cells)} cells was played again, "
            "and is the same."
        )


def _is_sound(folder: Folder, block: range, note: Callable[[str], None]) -> bool:
    try:
        folder.read(block)
    except DamagedFile as damage:
        note(f"{folder.file(block)} is damaged ({damage}); what it held is played again.")
        return False
    return True


def _places(old: tuple[object, ...], present: tuple[object, ...]) -> list[int]:
    """Return where the policies or problems of an earlier plan are now: the present one has all of them."""
    now = list(map(repr, present))
    return [now.index(repr(each)) for each in old]


def _ranges(block: range, wanted: np.ndarray) -> list[range]:
    """Return the numbers of a block for which `wanted` is true, as ranges.

    >>> _ranges(range(10, 15), np.array([True, True, False, False, True]))
    [range(10, 12), range(14, 15)]
    """
    edges = np.flatnonzero(np.diff(wanted, prepend=False, append=False)) + block.start
    return [range(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
