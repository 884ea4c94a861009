"""Pieces of cells, and whole ones: the same runs, wherever a cell is cut."""

import numpy as np
import pytest

from rotting import FEWA, UCB1, EpsilonGreedy
from rotting.play import Cell, gpu_and_threads, places, play, play_whole, players, threads
from rotting.play.delays import GeometricDelay
from rotting.play.players import players_of
from rotting.problems import two_arm

PROBLEM = two_arm(L=1.0, horizon=40)


@pytest.fixture
def cells(monkeypatch):
    """Return cells that are cut into pieces of two runs."""
    monkeypatch.setattr(players, "COMPILED_AT_ONCE", 2 * PROBLEM.horizon)
    made = players_of([UCB1(), EpsilonGreedy()], PROBLEM, 40)
    named = {"delay": GeometricDelay(3.0), "trace": ("actions", "pulls")}
    return [Cell(each, PROBLEM, 40, np.array([10, 40]), range(3, 10), seed=5, **named) for each in made]


def test_whole_cells_are_their_pieces(cells):
    pieces = sorted(play(cells, threads(3)), key=lambda piece: (piece.cell, piece.runs.start))
    assert len(pieces) > 2 * len(cells)
    told = []
    whole = list(play_whole(cells, threads(3), lambda place, rounds: told.append(rounds)))
    assert sorted(found.cell for found in whole) == [0, 1]
    assert sum(told) == sum(cell.work for cell in cells)
    for found in whole:
        own = [piece for piece in pieces if piece.cell == found.cell]
        assert found.runs == range(3, 10)
        assert found.seconds > 0
        np.testing.assert_array_equal(found.earned, np.concatenate([piece.earned for piece in own]))
        np.testing.assert_array_equal(found.pulls, np.concatenate([piece.pulls for piece in own]))
        for name in ("actions", "pulls"):
            np.testing.assert_array_equal(found.traces[name], np.concatenate([piece.traces[name] for piece in own]))


def test_results_go_where_there_is_room_for_them(cells):
    expected = {found.cell: found for found in play_whole(cells, threads(1))}
    room = {place: _blank(found) for place, found in expected.items()}
    for found in play_whole(cells, threads(3), room=room.__getitem__):
        assert found.earned is room[found.cell].earned
        np.testing.assert_array_equal(found.earned, expected[found.cell].earned)
        np.testing.assert_array_equal(room[found.cell].traces["actions"], expected[found.cell].traces["actions"])


def _blank(played):
    traces = {name: np.zeros_like(kept) for name, kept in played.traces.items()}
    return played._replace(
        earned=np.zeros_like(played.earned), pulls=np.zeros_like(played.pulls), seconds=0.0, traces=traces
    )


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

    found = {played.cell: played for played in play_whole(cells, gpu_and_threads(2), tell)}
    assert asked == [("UCB1(sigma=1)", range(7)), ("UCB1(sigma=2)", range(7))]  # alike: 14 runs
    assert told == dict.fromkeys(range(4), 280)
    for played in play_whole(cells, threads(1)):
        np.testing.assert_array_equal(found[played.cell].earned, played.earned)
        np.testing.assert_array_equal(found[played.cell].pulls, played.pulls)
