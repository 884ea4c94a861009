"""How the runs of a sweep are numbered: problem by problem, within it policy by policy, within it run by run.

A block, the piece in which a sweep is computed and kept, is a range of these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Piece(NamedTuple):
    """Some consecutive runs of one cell."""

    problem: int
    policy: int
    runs: range
    numbers: range  # of the runs, in the whole sweep


@dataclass(frozen=True)
class Numbering:
    """The numbers 0, 1, 2, ... of all runs, from the sizes of a sweep; a cell is one policy on one problem.

    Examples
    --------
    >>> numbering = Numbering(problems=3, policies=2, runs=10)
    >>> numbering.cells, numbering.total, numbering.number(problem=1, policy=0, run=5)
    (6, 60, 25)
    >>> list(numbering.pieces(range(18, 25)))
    [Piece(problem=0, policy=1, runs=range(8, 10), numbers=range(18, 20)),
     Piece(problem=1, policy=0, runs=range(0, 5), numbers=range(20, 25))]
    """

    problems: int
    policies: int
    runs: int

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.problems * self.policies

    @property
    def total(self) -> int:
        """The number of runs."""
        return self.cells * self.runs

    def cell(self, problem: int, policy: int) -> int:
        """Return the number of a cell."""
        return problem * self.policies + policy

    def number(self, problem: int, policy: int, run: int) -> int:
        """Return the number of a run."""
        return self.cell(problem, policy) * self.runs + run

    def of_problem(self, problem: int) -> range:
        """Return the runs on one problem."""
        return range(self.number(problem, 0, 0), self.number(problem + 1, 0, 0))

    def indices(self, block: range) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the problem, the policy and the run of each number of a block."""
        cell, run = np.divmod(np.arange(block.start, block.stop), self.runs)
        problem, policy = np.divmod(cell, self.policies)
        return problem, policy, run

    def pieces(self, block: range) -> Iterator[Piece]:
        """Yield the cells, or parts of them, that make up a block."""
        number = block.start
        while number < block.stop:
            cell, first = divmod(number, self.runs)
            count = min(self.runs - first, block.stop - number)
            yield Piece(*divmod(cell, self.policies), range(first, first + count), range(number, number + count))
            number += count
