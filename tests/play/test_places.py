"""Pieces of cells, and whole ones: the same runs, wherever a cell is cut."""

import numpy as np
import pytest

from rotting import FEWA, UCB1, EpsilonGreedy
from rotting.play import Cell, gpu_and_threads, places, play, players, threads
from rotting.play.delays import GeometricDelay
from rotting.play.players import players_of
from rotting.problems import two_arm
from rotting.simulation.simulator import Game, finished

PROBLEM = two_arm(L=1.0, horizon=40)


@pytest.fixture
def cells(monkeypatch):
    """Return cells that are cut into pieces of two runs."""
    monkeypatch.setattr(players, "COMPILED_AT_ONCE", 2 * PROBLEM.horizon)
    made = players_of([UCB1(), EpsilonGreedy()], PROBLEM, 40)
    named = {"delay": GeometricDelay(3.0), "trace": ("actions", "pulls")}
    return [Cell(each, PROBLEM, 40, np.array([10, 40]), range(3, 10), seed=5, **named) for each in made]


def test_whole_cells_are_their_pieces(cells, monkeypatch):
    told = []
    pieces = list(play(cells, threads(3), lambda place, rounds: told.append(rounds)))
    assert len(pieces) > 2 * len(cells)
    assert sum(told) == sum(cell.work for cell in cells)
    assert all(piece.seconds > 0 for piece in pieces)
    pieces.sort(key=lambda piece: (piece.cell, piece.runs.start))
    monkeypatch.setattr(players, "COMPILED_AT_ONCE", 10**6)
    for place, cell in enumerate(cells):
        [whole] = play([cell], threads(1))
        own = [piece for piece in pieces if piece.cell == place]
        assert [run for piece in own for run in piece.runs] == list(whole.runs) == list(range(3, 10))
        np.testing.assert_array_equal(whole.earned, np.concatenate([piece.earned for piece in own]))
        np.testing.assert_array_equal(whole.pulls, np.concatenate([piece.pulls for piece in own]))
        for name in ("actions", "pulls"):
            np.testing.assert_array_equal(whole.traces[name], np.concatenate([piece.traces[name] for piece in own]))


def test_a_game_is_what_the_pieces_of_its_cells_say(cells):
    game = Game(
        [UCB1(), EpsilonGreedy()], PROBLEM, 40, 7, 5, [10, 40], 3, trace=("actions", "pulls"), delay=cells[0].delay
    )
    assert [found is game for found in finished([game], threads(3))] == [True]
    for piece in play(cells, threads(1)):
        own = slice(piece.runs.start - 3, piece.runs.stop - 3)
        np.testing.assert_array_equal(game.earned[piece.cell, own], piece.earned)
        np.testing.assert_array_equal(game.pulls[piece.cell, own], piece.pulls)
        np.testing.assert_array_equal(game.traces["actions"][piece.cell, own], piece.traces["actions"])


def test_a_gpu_plays_many_runs_alike_and_threads_the_rest(monkeypatch):
    """What is played where, and that all of it comes back: threads stand in for the GPU."""
    asked = []

    def instead(cells, tell):
        asked.extend((str(cell.player.given), cell.runs) for cell in cells)
        yield from threads(1)(cells, tell)

    monkeypatch.setattr(places, "gpu", lambda: instead)
    monkeypatch.setattr(places, "_MANY_RUNS", 12)
    policies = [UCB1(), FEWA(), UCB1(sigma=2), EpsilonGreedy()]
    cells = [
        Cell(players_of(policy, PROBLEM, 40)[0], PROBLEM, 40, np.array([40]), range(7), seed=5) for policy in policies
    ]
    told = dict.fromkeys(range(4), 0)

    def tell(place, rounds):
        told[place] += rounds

    found = {(played.cell, played.runs): played for played in play(cells, gpu_and_threads(2), tell)}
    assert asked == [("UCB1(sigma=1)", range(7)), ("UCB1(sigma=2)", range(7))]  # alike: 14 runs
    assert told == dict.fromkeys(range(4), 280)
    assert len(found) == 4
    for played in play(cells, threads(1)):
        np.testing.assert_array_equal(found[played.cell, played.runs].earned, played.earned)
        np.testing.assert_array_equal(found[played.cell, played.runs].pulls, played.pulls)
