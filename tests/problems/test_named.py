"""The named problems, number by number, as the papers have them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting import simulate
from rotting._core.randomness import stream_key, uniform
from rotting.errors import BadValue
from rotting.problems import (
    NAMED,
    Binomial,
    CandyCaneContest,
    boredom,
    candy_cane,
    levine_drawn,
    levine_ten_arm,
    levine_two_arm,
    many_arms,
    parse_problem,
    piecewise,
    stationary,
    ten_arm,
    two_arm,
    yahoo,
)
from rotting.problems import oracle_kernels as kernels
from rotting.problems.curves import Power
from rotting.problems.kernel import draw_reward
from small_games import RoundRobin


@pytest.mark.parametrize("horizon", [10_000, 8, 9, 10, 11, 1, 4001])
@pytest.mark.parametrize("L", [0.02 * 1.25**11, 0.02 * 1.25**24, 0.0])
def test_two_arm(L, horizon):
    """mu_1 = 0; mu_2 = L/2 for n < T/4, else -L/2."""
    problem = two_arm(L=L, horizon=horizon)
    n = np.arange(horizon)
    means = problem.means(n)
    np.testing.assert_array_equal(means[0], 0.0)
    np.testing.assert_array_equal(means[1], np.where(n < horizon / 4, L / 2, -L / 2))
    assert (problem.noise, problem.sigma, problem.restless) == ("gaussian", 1.0, False)
    assert problem.horizon == horizon


def test_two_arm_by_default_is_figure_1():
    problem = two_arm()
    assert problem.horizon == 10_000
    assert problem.sigma == 1.0
    assert problem.means(0)[1] == pytest.approx(0.02 * 1.25**11 / 2, rel=1e-2)
    assert two_arm(sigma=0.5).sigma == 0.5


@pytest.mark.parametrize("L", [-1.0, float("nan"), float("inf")])
def test_two_arm_refuses_a_bad_drop(L):
    with pytest.raises(ValueError, match="out of range"):
        two_arm(L=L)


def test_ten_arm():
    """One arm at 0, nine at Delta_i = 0.001 sqrt(10)^i that fall to -Delta_i after 1000 pulls."""
    problem = ten_arm()
    assert problem.n_arms == 10
    means = problem.means([0, 999, 1000, 24_999])
    np.testing.assert_array_equal(means[0], 0.0)
    gaps = 0.001 * math.sqrt(10) ** np.arange(9)
    np.testing.assert_allclose(means[1:], gaps[:, None] * [1, 1, -1, -1], rtol=1e-14)
    assert gaps[-1] == pytest.approx(10)
    assert (problem.noise, problem.sigma, problem.horizon) == ("gaussian", 1.0, 25_000)


def test_stationary():
    problem = stationary()
    assert problem.means([0, 10**6]).tolist() == [[0.0, 0.0], [0.14, 0.14]]
    assert (problem.sigma, problem.horizon) == (1.0, 5000)
    assert stationary([0.0, 1.0], sigma=0.5).means(7).tolist() == [0.0, 1.0]


def test_levine_two_arm():
    """0.5 against 1, which falls to 0.4 after 7500 pulls; T = 30 000, sigma = 0.2."""
    problem = levine_two_arm()
    means = problem.means([0, 7499, 7500, 29_999])
    assert means.tolist() == [[0.5] * 4, [1.0, 1.0, 0.4, 0.4]]
    assert (problem.noise, problem.sigma, problem.horizon) == ("gaussian", 0.2, 30_000)


def test_levine_ten_arm_curves():
    """(floor(n / 100) + 1)^-theta."""
    problem = levine_ten_arm()
    assert problem.n_arms == 10
    assert (problem.noise, problem.sigma, problem.horizon) == ("gaussian", 0.2, 30_000)
    n = np.array([0, 99, 100, 199, 200, 29_999])
    for curve in problem.curves:
        assert isinstance(curve, Power)
        np.testing.assert_allclose(curve(n), (n // 100 + 1.0) ** -curve.theta, rtol=1e-14)


def test_levine_ten_arm_draws_from_the_paper_s_exponents():
    """Theta = {0.1, 0.15, ..., 0.4}: seven exponents, so that ten arms share some."""
    allowed = {round(0.1 + 0.05 * i, 2) for i in range(7)}
    assert {round(curve.theta, 12) for curve in levine_ten_arm().curves} <= allowed


@pytest.mark.parametrize("name", NAMED)
def test_named_problems_can_be_read_from_text(name):
    assert parse_problem(name) == parse_problem(f"{name}()") == NAMED[name]()
    assert NAMED[name]().name.startswith(name)
    assert str(NAMED[name]()) == NAMED[name]().name
    assert parse_problem(NAMED[name]().name) == NAMED[name]()


finite = st.floats(-1e6, 1e6)
sigmas = st.floats(0, 1e6)
named = st.one_of(
    st.builds(two_arm, L=st.floats(0, 1e6), horizon=st.integers(1, 2**63 - 1), sigma=sigmas),
    st.builds(stationary, st.lists(finite, min_size=1, max_size=5), sigma=sigmas),
    st.builds(ten_arm, sigma=sigmas),
    st.builds(levine_two_arm, sigma=sigmas),
    st.builds(levine_ten_arm, sigma=sigmas),
)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(named)
def test_every_name_reads_back_as_the_same_problem(problem):
    """Names once had six digits: `two_arm(L=.1234567)` came back as another problem."""
    assert parse_problem(problem.name) == problem
    assert parse_problem(problem.name).sigma == problem.sigma


@pytest.mark.parametrize(
    ("problem", "name"),
    [
        (two_arm(), "two_arm(L=0.233, horizon=10000)"),
        (two_arm(L=0.1234567), "two_arm(L=0.1234567, horizon=10000)"),
        (two_arm(L=1, horizon=np.int64(8), sigma=1 / 3), "two_arm(L=1, horizon=8, sigma=0.3333333333333333)"),
        (two_arm(L=1e6), "two_arm(L=1e+06, horizon=10000)"),
        (stationary(), "stationary([0, 0.14])"),
        (stationary([0.1, 2 / 3], sigma=0.5), "stationary([0.1, 0.6666666666666666], sigma=0.5)"),
        (ten_arm(), "ten_arm()"),
        (levine_two_arm(sigma=1), "levine_two_arm(sigma=1)"),
    ],
    ids=str,
)
def test_names_are_as_short_as_they_can_be(problem, name):
    assert problem.name == name


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: two_arm(L="1"), "two_arm: L='1' is not a number"),
        (lambda: two_arm(horizon=2.5), r"two_arm: horizon=2\.5 is not a whole number"),
        (lambda: two_arm(horizon=0), "two_arm: horizon=0 is out of range"),
        (lambda: stationary("ab"), "stationary: means='ab' is not a sequence of numbers, one per arm"),
        (lambda: stationary(3), "stationary: means=3 is not a sequence"),
        (lambda: stationary([1.0, math.nan]), "stationary: means=nan is out of range"),
        (lambda: ten_arm(sigma=-1), "Problem: sigma=-1 is out of range"),
    ],
)
def test_bad_numbers_are_refused(make, says):
    with pytest.raises(BadValue, match=says):
        make()


def test_problems_are_known_by_the_names_of_their_functions():
    assert set(NAMED) >= {"two_arm", "ten_arm", "stationary", "levine_two_arm", "levine_ten_arm"}
    assert all(function.__name__ == name for name, function in NAMED.items())


def test_noise_can_be_set():
    for name in ("two_arm", "ten_arm", "stationary", "levine_two_arm", "levine_ten_arm"):
        assert NAMED[name](sigma=0.7).sigma == 0.7


@pytest.mark.parametrize(
    ("problem", "best", "greedy", "constant"),
    [
        (boredom(1), 0.502368, 0.500437, 0.184643),
        (boredom(2), 0.534417, 0.495512, 0.472821),
        (boredom(3), 3.572140, 3.499025, None),
    ],
    ids=str,
)
def test_boredom_has_the_values_of_the_literature(problem, best, greedy, constant):
    assert problem.cycle().value == pytest.approx(best, abs=5e-7)
    assert problem.cycle("greedy").value == pytest.approx(greedy, abs=5e-7)
    if constant is not None:
        assert problem.cycle("constant").value == pytest.approx(constant, abs=5e-7)
    # Played from the beginning, the oracle earns that much per round, but for how it begins.
    oracle = problem.oracle(5000)
    assert oracle.reward[0] / 5000 == pytest.approx(best, abs=2e-3)
    assert str(oracle) == "best cycle: optimal in the long run"


def test_the_four_genres_are_shown_in_turn():
    assert boredom(3).cycle().arms == (0, 2, 1)


def kaggle(level: int, pulls: int) -> float:
    """Return what so many pulls of a machine are worth, by Kaggle's rule."""
    total, now = 0.0, float(level)
    for _ in range(pulls):
        total += math.ceil(now) / 101
        now *= 0.97
    return total


def test_candy_canes():
    """200 draws of levels against what is expected: the oracle about 916; in turn, 20 pulls of each machine, 762."""
    problem = candy_cane()
    best = np.array([problem.oracle(2000, run=run).reward[0] for run in range(200)])
    assert abs(best.mean() - 917) < 3 * best.std() / math.sqrt(200)
    expected = 100 * np.mean([kaggle(level, 20) for level in range(101)])
    assert expected == pytest.approx(762.03, abs=0.01)
    in_turn = simulate(RoundRobin, problem, runs=200, rounds=[2000], progress=False)
    earned = (in_turn.oracle_reward - in_turn.regret.isel(policy=0)).values[:, -1]
    assert abs(earned.mean() - expected) < 3 * earned.std() / math.sqrt(200)


def test_given_levels_and_uniform_numbers_rewards_are_those_of_river():
    """River's rule: pay if a uniform number is below the level, then multiply the level by 1 - 0.03."""
    problem = candy_cane("river", n_arms=5)
    memory = problem.new_memory()
    kernels.begin(problem.arrays, memory, np.uint64(11))
    levels = memory.level.tolist()
    arms = np.random.default_rng(0).integers(0, 5, 400).tolist()
    pulls = [0] * 5
    for t, arm in enumerate(arms, 1):
        key = stream_key(9, arm)
        drawn = float(uniform(key, pulls[arm]))
        mean = kernels.step(problem.arrays, memory, arm, t)
        assert mean == levels[arm]
        assert draw_reward(problem.arrays, arm, mean, key, pulls[arm]) == float(drawn < levels[arm])
        levels[arm] *= 1 - 0.03
        pulls[arm] += 1


def test_two_players_empty_the_same_machines():
    contest = CandyCaneContest(n_arms=4, seed=2)
    levels = contest.level.tolist()
    paid = 0
    for _ in range(50):
        chances = contest.chances.tolist()
        rewards = contest.step([0, 0])
        assert chances[0] == math.ceil(levels[0]) / 101
        levels[0] = levels[0] * 0.97 * 0.97
        assert contest.level.tolist() == levels
        paid += sum(rewards)
    assert 0 < paid < 100
    assert contest.last_arms == (0, 0)
    with pytest.raises(BadValue, match="arms="):
        contest.step([0])
    with pytest.raises(BadValue, match="arms=4"):
        contest.step([0, 4])


def test_levels_change_where_the_tables_say():
    for number, breaks in ((1, 4), (2, 4), (3, 5), (4, 5)):
        means = piecewise(number).means(np.arange(20_000))
        assert np.count_nonzero(np.any(np.diff(means, axis=1) != 0, axis=0)) == breaks
    assert piecewise(3).means([6945, 6946])[0].tolist() == [0.2768666, 0.5070142]
    assert piecewise(3, horizon=2000).means([693, 694])[0].tolist() == [0.2768666, 0.5070142]
    assert yahoo(5).n_arms == 5
    assert len({tuple(column) for column in yahoo(5).means(np.arange(20_000)).T.tolist()}) > 70
    assert yahoo().noise_model == Binomial(10)
    for make in (lambda: yahoo(7), lambda: piecewise(5), lambda: boredom(4), lambda: candy_cane(n_arms=0)):
        with pytest.raises(BadValue, match="expected"):
            make()


def test_many_arms_are_as_rare_as_they_should_be():
    """P(1 - level < x) = x^beta."""
    for beta in (0.5, 1.0, 2.0):
        memory = many_arms(n_arms=4000, beta=beta).new_memory()
        kernels.begin(many_arms(n_arms=4000, beta=beta).arrays, memory, np.uint64(5))
        for x in (0.1, 0.5):
            chance = x**beta
            assert abs(np.mean(1 - memory.level < x) - chance) < 4.9 * math.sqrt(chance * (1 - chance) / 4000)


def test_what_levine_draws():
    """Seven decays, each as likely; constants uniform on [0, 0.5]."""
    problem = levine_drawn(largest=0.5)
    curves, constants = [], []
    for run in range(200):
        memory = problem.new_memory()
        kernels.begin(problem.arrays, memory, stream_key(0, 3, run))
        curves += memory.curve.tolist()
        constants += memory.constant.tolist()
    counts = np.bincount(curves, minlength=7)
    assert len(counts) == 7
    assert np.sum((counts - 2000 / 7) ** 2) / (2000 / 7) < 22.5  # chi squared, six degrees of freedom, 0.1 %
    assert abs(np.mean(constants) - 0.25) < 4 * 0.5 / math.sqrt(12 * 2000)
    assert 0 < min(constants) < max(constants) < 0.5
    assert problem.sigma**2 == pytest.approx(0.2)
    thetas = [curve.theta for curve in problem.dynamics_model.curves]
    assert np.allclose(thetas, 0.1 + 0.05 * np.arange(7))
