"""Every run has one number, and every way to it agrees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rotting.sweeps.numbering import Numbering

SIZES = st.integers(1, 7)


@given(problems=SIZES, policies=SIZES, runs=SIZES)
def test_numbers_count_problem_by_problem_policy_by_policy_run_by_run(problems, policies, runs):
    numbering = Numbering(problems, policies, runs)
    every = [(p, q, r) for p in range(problems) for q in range(policies) for r in range(runs)]
    assert [numbering.number(*place) for place in every] == list(range(numbering.total))
    assert list(zip(*numbering.indices(range(numbering.total)), strict=True)) == every
    assert [number for p in range(problems) for number in numbering.of_problem(p)] == list(range(numbering.total))


@given(policies=SIZES, runs=SIZES, data=st.data())
def test_pieces_are_the_runs_of_a_block(policies, runs, data):
    numbering = Numbering(3, policies, runs)
    start, stop = sorted(data.draw(st.lists(st.integers(0, numbering.total), min_size=2, max_size=2)))
    numbers = [
        numbering.number(piece.problem, piece.policy, run)
        for piece in numbering.pieces(range(start, stop))
        for run in piece.runs
    ]
    assert numbers == list(range(start, stop))


@pytest.mark.parametrize("place", [(0, 0), (1, 2)])
def test_cells(place):
    numbering = Numbering(2, 3, 5)
    assert numbering.cells == 6
    assert numbering.number(*place, 0) == 5 * numbering.cell(*place)
