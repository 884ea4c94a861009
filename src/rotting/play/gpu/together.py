"""Several simulations at once: each alone would not fill a GPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting.play.gpu.batches import Cell
from rotting.play.gpu.playing import play_cells, refuse_python
from rotting.play.players import Contestant, Players, contestants
from rotting.problems import Problem
from rotting.simulation.simulator import make_dataset, oracle_of_runs, recorded_rounds

if TYPE_CHECKING:
    import xarray


@dataclasses.dataclass(frozen=True)
class Game:
    """What `rotting.simulate` is called with."""

    policies: Players
    problem: Problem
    runs: int
    rounds: int | None = None


class _Score:
    """What the runs of a game have come to so far."""

    def __init__(self, game: Game):
        self.game = game
        self.rounds = recorded_rounds(game.rounds, game.problem.horizon)
        self.players: list[Contestant] = contestants(game.policies, game.problem, game.problem.horizon)
        self.earned = np.empty((len(self.players), game.runs, len(self.rounds)))
        self.pulls = np.empty((len(self.players), game.runs, game.problem.n_arms), np.int64)
        self.seconds = np.zeros(len(self.players))
        self.left = len(self.players) * game.runs

    def cells(self) -> list[Cell]:
        """Return one cell per policy."""
        problem = self.game.problem
        return [
            Cell(refuse_python(player), problem, problem.horizon, self.rounds, 0, self.game.runs)
            for player in self.players
        ]

    def dataset(self, seed: int) -> xarray.Dataset:
        """Return what `rotting.simulate` returns."""
        results = self.earned, self.pulls, self.seconds
        problem = self.game.problem
        oracle = oracle_of_runs(problem, self.rounds, seed, range(self.game.runs))
        return make_dataset(self.players, problem, problem.horizon, seed, self.rounds, oracle, "cuda", *results)


def simulate_together(
    games: Sequence[Game], seed: int, advance: Callable[[int], object] = lambda rounds: None
) -> Iterator[tuple[int, xarray.Dataset]]:
    """Play games on a GPU, all at once; yield the place and the result of each as soon as it is finished.

    `advance` is called now and then with the rounds played since.
    """
    scores = [_Score(game) for game in games]
    cells = [(place, player, cell) for place, score in enumerate(scores) for player, cell in enumerate(score.cells())]
    for part, earned, pulls, seconds in play_cells([cell for _, _, cell in cells], seed, advance):
        place, player, _ = cells[part.cell]
        score, runs = scores[place], slice(part.first, part.first + part.runs)
        score.earned[player, runs], score.pulls[player, runs] = earned, pulls
        score.seconds[player] += seconds
        score.left -= part.runs
        if score.left == 0:
            yield place, score.dataset(seed)
