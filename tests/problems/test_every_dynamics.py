"""Every dynamics of the package, found by itself: definition, memory, texts, oracles, common random numbers."""

import copy
import dataclasses

import numpy as np
import pytest
from dynamics_examples import DYNAMICS, FALLING, PROBLEMS, literal_means
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from rotting._core.randomness import START, stream_key
from rotting.errors import BadValue
from rotting.problems import (
    Dynamics,
    Linear,
    ManyArms,
    Problem,
    Recovering,
    Rested,
    Restless,
    Satiation,
    Tally,
    TriggerGraph,
    parse_problem,
)
from rotting.problems import oracle_kernels as kernels
from small_games import RoundRobin

checked = settings(deadline=None, max_examples=15, derandomize=True)


def test_every_dynamics_has_a_problem_here():
    assert set(PROBLEMS) == set(DYNAMICS)


def begun(problem, seed=0, run=0):
    memory = problem.new_memory()
    kernels.begin(problem.arrays, memory, stream_key(seed, START, run))
    return memory


def worth(problem, arms, memory):
    return [kernels.step(problem.arrays, memory, arm, t) for t, arm in enumerate(arms, 1)]


@pytest.mark.parametrize("name", DYNAMICS)
@checked
@given(choices=st.lists(st.integers(0, 99), max_size=40))
def test_pulls_are_worth_what_the_definition_says(name, choices):
    problem = PROBLEMS[name]
    arms = [choice % problem.n_arms for choice in choices]
    expected = literal_means(problem, arms, begun(problem))
    np.testing.assert_allclose(worth(problem, arms, begun(problem)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", DYNAMICS)
def test_texts_read_back_and_problems_are_values(name):
    problem = PROBLEMS[name]
    again = parse_problem(repr(problem))
    assert again == problem
    assert hash(again) == hash(problem)
    assert repr(again) == repr(problem)
    assert parse_problem(repr(again)).dynamics_model == problem.dynamics_model


@pytest.mark.parametrize("name", DYNAMICS)
def test_traits_are_what_they_say(name):
    """`rested`: a pull changes its own arm only, rounds none. `situation`: the same one means the same future."""
    problem = PROBLEMS[name]
    rng = np.random.default_rng(3)
    memory = begun(problem)
    futures = {}
    for t, arm in enumerate(rng.integers(0, problem.n_arms, 60).tolist(), 1):
        means = [kernels.step(problem.arrays, copy.deepcopy(memory), other, t) for other in range(problem.n_arms)]
        situation = problem.dynamics_model.situation(problem.curves, memory, t)
        if situation is not None:
            assert futures.setdefault(situation, means) == means
        before = [kernels.step(problem.arrays, copy.deepcopy(memory), other, t) for other in range(problem.n_arms)]
        kernels.step(problem.arrays, memory, arm, t)
        after = [kernels.step(problem.arrays, copy.deepcopy(memory), other, t + 1) for other in range(problem.n_arms)]
        if problem.dynamics_model.rested:
            assert [x for i, x in enumerate(before) if i != arm] == [x for i, x in enumerate(after) if i != arm]
    assert not futures or len(futures) < 60  # situations come back


@pytest.mark.parametrize("name", DYNAMICS)
def test_runs_differ_only_where_it_says_so(name):
    problem = PROBLEMS[name]
    one, other = begun(problem, run=0), begun(problem, run=1)
    alike = all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert alike != problem.dynamics_model.draws


@pytest.mark.parametrize("name", DYNAMICS)
def test_means_keep_to_their_bounds(name):
    problem = PROBLEMS[name]
    bounds = problem.dynamics_model.lowest_and_highest(problem.curves)
    arms = np.random.default_rng(1).integers(0, problem.n_arms, 200).tolist()
    for run in range(3):
        for arm, mean in zip(arms, worth(problem, arms, begun(problem, run=run)), strict=True):
            assert bounds[arm][0] - 1e-12 <= mean <= bounds[arm][1] + 1e-12


@pytest.mark.parametrize("name", DYNAMICS)
def test_the_oracle_is_as_good_as_it_says(name):
    """Against brute force over all sequences of arms, for every number of rounds."""
    problem, rounds = PROBLEMS[name], list(range(1, 7))
    if problem.is_limited:
        assert problem.oracle(6).standing == "a reference"
        with pytest.raises(BadValue, match="kind='brute force'"):
            problem.oracle(6, kind="brute force")
        return
    best = problem.oracle(6, rounds, kind="brute force")
    oracle = problem.oracle(6, rounds)
    if oracle.standing == "optimal":
        np.testing.assert_allclose(oracle.reward, best.reward, rtol=0, atol=1e-12)
    elif oracle.standing == "an upper bound":
        assert np.all(oracle.reward >= best.reward - 1e-12)
    else:
        assert np.all(oracle.reward <= best.reward + 1e-12)
        assert oracle.standing in ("a reference", "optimal in the long run")
    for kind in ("greedy", "look-ahead", "constant arm"):
        assert np.all(problem.oracle(6, rounds, kind=kind).reward <= best.reward + 1e-12), kind


@pytest.mark.parametrize("name", DYNAMICS)
def test_simulations_play_it_and_name_its_oracle(name):
    problem = PROBLEMS[name]
    policies = [rotting.UCB1() if problem.dynamics_model.draws else rotting.Oracle()]
    result = rotting.simulate(policies, problem, horizon=40, runs=2, rounds=40, progress=False)
    assert result.attrs["oracle"] == str(problem.oracle(40))
    later = rotting.simulate(policies, problem, horizon=40, runs=1, first_run=1, rounds=40, progress=False)
    np.testing.assert_array_equal(result.regret.values[:, 1:], later.regret.values)
    for run in range(2):
        oracle = problem.oracle(40, range(1, 41), run=run)
        rewards = result.oracle_reward.values
        np.testing.assert_array_equal(rewards[run] if rewards.ndim == 2 else rewards, oracle.reward)
    if not problem.dynamics_model.draws:
        greedy = problem.oracle(40, kind="greedy")
        np.testing.assert_array_equal(result.pulls.sel(policy="Oracle()", run=0), greedy.pulls)


@pytest.mark.parametrize("name", DYNAMICS)
def test_python_classes_meet_the_same_problem(name):
    """A Python class plays by another way through the loop."""
    problem = PROBLEMS[name]
    result = rotting.simulate(RoundRobin, problem, horizon=30, runs=2, rounds=30, progress=False)
    for run in range(2):
        arms = [t % problem.n_arms for t in range(30)]
        earned = np.cumsum(literal_means(problem, arms, begun(problem, run=run)))
        oracle = problem.oracle(30, range(1, 31), run=run).reward
        np.testing.assert_allclose(result.regret.values[0, run], oracle - earned, rtol=0, atol=1e-9)


# Equalities, bit for bit


@pytest.mark.parametrize(
    ("dynamics", "same"),
    [
        (TriggerGraph(np.eye(3)), Rested()),
        (TriggerGraph(np.ones((3, 3))), Restless()),
        (Tally(m=None), Rested()),
    ],
    ids=["identity graph", "graph of ones", "endless tally"],
)
def test_special_cases_are_bit_for_bit_the_plain_ones(dynamics, same):
    policies = [rotting.UCB1(), rotting.EffFEWA(), rotting.Oracle()]
    one, other = (
        rotting.simulate(policies, Problem(FALLING, dynamics=kind), horizon=300, runs=3, seed=4, progress=False)
        for kind in (dynamics, same)
    )
    np.testing.assert_array_equal(one.pulls.values, other.pulls.values)
    np.testing.assert_array_equal(one.regret.values, other.regret.values)


def test_a_tally_of_more_rounds_than_there_are_is_rested():
    one, other = (
        rotting.simulate(rotting.UCB1(), Problem(FALLING, dynamics=kind), horizon=300, runs=3, progress=False)
        for kind in (Tally(m=300), Rested())
    )
    np.testing.assert_array_equal(one.pulls.values, other.pulls.values)
    earned = [result.oracle_reward.values - result.regret.values for result in (one, other)]
    np.testing.assert_allclose(earned[0], earned[1], rtol=0, atol=1e-9)


def test_large_memories_are_not_explored_for_cycles():
    problem = Problem(FALLING, dynamics=Tally(m=10**7))
    with pytest.raises(ValueError, match="has more than 5000 situations, or endless ones"):
        problem.cycle()


def test_the_old_arguments_mean_the_same():
    assert Problem(FALLING, dynamics=Rested()) == Problem(FALLING) == Problem(FALLING, restless=False)
    assert Problem(FALLING, dynamics=Restless()) == Problem(FALLING, restless=True)
    assert repr(Problem([0.5], restless=True)) == (
        "Problem(curves=(Constant(value=0.5),), noise='gaussian', sigma=1.0, restless=True, allow_increasing=False, "
        "name='problem', horizon=10000)"
    )
    restless = Problem(FALLING, dynamics=Restless())
    assert dataclasses.replace(restless, restless=False) == Problem(FALLING)
    assert dataclasses.replace(Problem(FALLING), dynamics=Restless()) == restless
    for dynamics in (Rested(), Tally(m=2)):
        with pytest.raises(ValueError, match=r"Problem: restless=True contradicts dynamics="):
            Problem(FALLING, restless=True, dynamics=dynamics)
    with pytest.raises(TypeError, match="dynamics='rested' is no dynamics"):
        Problem(FALLING, dynamics="rested")


@checked
@given(
    start=st.floats(0.1, 2),
    slope=st.floats(0, 2),
    gamma=st.one_of(st.floats(0, 0.99), st.just(1.0)),
    arms=st.integers(2, 3),
    rounds=st.integers(1, 8),
)
def test_with_arms_that_are_alike_satiation_is_met_best_greedily(start, slope, gamma, arms, rounds):
    problem = Problem([Linear(start, slope, -1000.0)] * arms, dynamics=Satiation(gamma))
    oracle = problem.oracle(rounds)
    assert str(oracle) == "greedy: optimal"
    best = problem.oracle(rounds, kind="brute force").reward
    np.testing.assert_allclose(oracle.reward, best, rtol=0, atol=1e-9)


def test_the_best_cycle_is_found_where_several_are_as_good():
    """Cycles of the same mean, whose biases have nothing to do with each other, made the search go round for ever."""
    curves = [[1.0, 0.0], [2.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0]]
    assert Problem(curves, dynamics=Tally(m=3)).cycle().value == 1.25
    curves = [[1.0, 3.0, 3.0, 1.0], [0.0, 2.0, 2.0, 1.0], [2.0, 2.0, 2.0, 1.0]]
    assert Problem(curves, dynamics=Recovering(z_max=3)).cycle().value == 2.5


def test_one_per_round_is_no_bound_where_curves_are_added_to_levels():
    assert Problem([0.0] * 5, dynamics=ManyArms()).oracle(3).standing == "an upper bound"
    assert Problem([0.5] * 5, dynamics=ManyArms()).oracle(3).standing == "a reference"


def test_greedy_satiation_is_not_called_optimal_where_the_floor_can_be_reached():
    """It pays to leave one arm on its floor while the other rests."""
    problem = Problem([Linear(1.0, 0.5)] * 2, dynamics=Satiation(gamma=0.9))
    greedy, best = (problem.oracle(8, kind=kind).reward[0] for kind in ("greedy", "brute force"))
    assert greedy < best - 0.1
    assert problem.oracle(8).standing == "a reference"
    assert str(Problem([Linear(1.0, 0.5)] * 2, dynamics=Satiation(gamma=0.6)).oracle(8)) == "greedy: optimal"
    assert str(Problem([Linear(1.0, 0.5)] * 2, dynamics=Satiation(gamma=1)).oracle(8)) == "greedy: optimal"


def test_greedy_is_not_the_best_where_arms_wear_each_other():
    """The better arm ruins the other one: so the other one comes first."""
    curves = [[1.0, 1.0, 0.0], [0.9, 0.0]]
    problem = Problem(curves, dynamics=TriggerGraph([[1, 0], [1, 1]]))
    assert problem.oracle(2, kind="greedy").reward[0] == 2.0
    problem = Problem([[1.0, 0.0], [0.9, 0.0]], dynamics=TriggerGraph([[1, 0], [1, 1]]))
    assert problem.oracle(2, kind="greedy").reward[0] == 1.0
    assert problem.oracle(2).reward[0] == 1.9


def test_bad_parameters_are_refused():
    for make in (
        lambda: TriggerGraph([[1, 2], [0, 1]]),
        lambda: TriggerGraph([[1, 0]]),
        lambda: TriggerGraph("ab"),
        lambda: Problem(FALLING, dynamics=TriggerGraph([[1]])),
        lambda: rotting.problems.Blocking([]),
        lambda: rotting.problems.Blocking([0]),
        lambda: Problem(FALLING, dynamics=rotting.problems.Blocking([1, 2])),
        lambda: Recovering(0),
        lambda: Tally(0),
        lambda: Satiation(1.5),
        lambda: Problem([[1.0, 0.5]], dynamics=rotting.problems.Rising()),
        lambda: Problem([1.0], dynamics=rotting.problems.ManyArms(), noise="bernoulli"),
        lambda: rotting.problems.CandyCane("santa"),
    ):
        with pytest.raises(ValueError, match=r"expected|falls|is not (one of|a sequence)"):
            make()


def test_the_oracle_policy_does_not_pretend_to_know_what_is_drawn():
    with pytest.raises(ValueError, match=r"every run of 'candy_cane.*' draws its own arms"):
        rotting.simulate(rotting.Oracle(), rotting.problems.candy_cane(), horizon=10, runs=1)


def test_names_belong_to_one_class():
    with pytest.raises(TypeError, match="has a curve, dynamics or noise of this name"):
        type("Rested", (Dynamics,), {"__module__": "elsewhere"}, value=lambda problem, memory, arm, t: 0.0)
