"""Every run of a plan has one number, and every way to it agrees."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting import FEWA
from rotting.problems import stationary
from rotting.sweeps import Plan

SIZES = st.integers(1, 5)


def plan_of(problems, policies, runs):
    return Plan(
        tuple(FEWA(alpha=1.0 + place) for place in range(policies)),
        tuple(stationary([0.0, place]) for place in range(problems)),
        runs,
        rounds=1,
    )


@settings(max_examples=30, deadline=None)
@given(problems=SIZES, policies=SIZES, runs=SIZES)
def test_numbers_count_problem_by_problem_policy_by_policy_run_by_run(problems, policies, runs):
    plan = plan_of(problems, policies, runs)
    every = [(p, q, r) for p in range(problems) for q in range(policies) for r in range(runs)]
    assert [plan.number(*place) for place in every] == list(range(plan.total_runs))
    assert [np.unravel_index(number, plan.shape) for number in range(plan.total_runs)] == every
    assert (plan.cells, plan.total_runs) == (problems * policies, len(every))


@settings(max_examples=30, deadline=None)
@given(policies=SIZES, runs=SIZES, data=st.data())
def test_pieces_are_the_runs_of_a_block(policies, runs, data):
    plan = plan_of(3, policies, runs)
    start, stop = sorted(data.draw(st.lists(st.integers(0, plan.total_runs), min_size=2, max_size=2)))
    pieces = list(plan.pieces(range(start, stop)))
    numbers = [plan.number(piece.problem, piece.policy, run) for piece in pieces for run in piece.runs]
    assert numbers == [number for piece in pieces for number in piece.numbers] == list(range(start, stop))
