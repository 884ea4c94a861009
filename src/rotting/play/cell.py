"""What is played, and what it came to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rotting.play.delays import Delay, FixedDelay

if TYPE_CHECKING:
    from rotting.play.players import Player
    from rotting.problems import Problem

ON_TIME = FixedDelay(0)


@dataclasses.dataclass(frozen=True)
class Cell:
    """Some runs of one policy on one problem: all that decides what they come to."""

    player: Player
    problem: Problem
    horizon: int
    rounds: np.ndarray  # int64: the rounds at which what was earned is recorded, increasing
    runs: range  # their numbers
    seed: int
    delay: Delay = ON_TIME
    trace: tuple[str, ...] = ()  # what is written down of every round: names in `rotting.play.late.TRACES`

    @property
    def is_late(self) -> bool:
        """Whether rewards can arrive late."""
        return self.delay != ON_TIME

    @property
    def work(self) -> int:
        """How many rounds there are to play."""
        return len(self.runs) * self.horizon


class Played(NamedTuple):
    """What some runs of a cell came to."""

    cell: int  # its place among those that are played
    runs: range
    earned: np.ndarray  # float64 [run, recorded round]: expected reward up to there
    pulls: np.ndarray  # int64 [run, arm]
    seconds: float  # of a processor, or of a GPU
    traces: dict[str, np.ndarray]  # [run, ...], by name


# Called now and then with the place of a cell, and how many rounds were played since.
Tell = Callable[[int, int], object]
# Where runs are played: takes the cells, and whom to tell.
Place = Callable[[Sequence[Cell], Tell], Generator[Played, None, None]]
