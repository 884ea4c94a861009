"""Simulations: what they return, what they refuse, and that they can be stopped."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import xarray

import rotting
from rotting import FEWA, Oracle, Problem, Uniform, simulate, theory
from rotting.problems import Exponential, Power, stationary, ten_arm, two_arm
from small_games import PROBLEM, RoundRobin, assert_same, quietly

# What comes out


def test_the_dataset_says_what_it_holds():
    result = quietly([FEWA(), Uniform()], rounds=10, runs=7, seed=3)
    assert dict(result.sizes) == {"policy": 2, "run": 7, "round": 10, "arm": 3}
    assert result.regret.dims == ("policy", "run", "round")
    assert result.pulls.dims == ("policy", "run", "arm")
    assert result.seconds.dims == ("policy",)
    assert result.oracle_reward.dims == ("round",)
    assert result["policy"].values.tolist() == ["FEWA(alpha=0.06)", "Uniform()"]
    assert result["run"].values.tolist() == list(range(7))
    assert result["arm"].values.tolist() == [0, 1, 2]
    assert result["round"].values.tolist() == list(range(12, 121, 12))
    assert result.regret.dtype == np.float64
    assert result.pulls.dtype == np.int64
    assert np.all(result.seconds.values > 0)
    assert np.all(result.pulls.sum("arm").values == 120)


def test_the_dataset_knows_how_it_was_made():
    attrs = quietly({"mine": FEWA(alpha=0.1), "other": Uniform()}, seed=3).attrs
    assert attrs["problem"] == "small"
    assert attrs["horizon"] == 120
    assert attrs["seed"] == 3
    assert attrs["policies"].splitlines() == [repr(FEWA(alpha=0.1)), repr(Uniform())]
    assert attrs["rotting"] == rotting.__version__
    assert attrs["numpy"] == np.__version__


def test_the_horizon_is_the_problem_s_own_unless_given():
    assert quietly(Uniform()).pulls.values.sum(axis=-1).tolist() == [[120] * 4]
    assert quietly(Uniform(), horizon=30).pulls.values.sum(axis=-1).tolist() == [[30] * 4]


@pytest.mark.parametrize(
    "problem",
    [PROBLEM, two_arm(L=0.5, horizon=3000), ten_arm(), stationary([0.1, 0.2, 0.7]), Problem([Power(0.4), 0.3])],
    ids=str,
)
def test_regret_is_that_of_the_pulls(problem):
    """Two ways to the same number: the loop adds up means round by round, the theory counts pulls."""
    result = quietly([FEWA(), Uniform(), Oracle()], problem, horizon=3000, runs=3)
    expected = theory.regret(problem, result.pulls.values, horizon=3000)
    np.testing.assert_allclose(result.regret.isel(round=-1).values, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.regret.sel(policy="Oracle()").values, 0.0, atol=1e-9)
    assert np.all(result.regret.sel(policy="Uniform()").isel(round=-1).values > 0)


def test_regret_at_every_round():
    result = quietly(RoundRobin, horizon=90, rounds=range(1, 91), runs=2)
    values = PROBLEM.means(np.arange(90))
    earned = np.cumsum([values[t % 3, t // 3] for t in range(90)])
    expected = PROBLEM.oracle(90, range(1, 91)).reward - earned
    for run in range(2):
        np.testing.assert_allclose(result.regret.values[0, run], expected, rtol=0, atol=1e-12)


def test_regret_in_restless_problems_follows_the_clock():
    problem = Problem([Exponential(1.0, 0.1), Exponential(0.8, 0.01)], restless=True, sigma=0.3)
    result = quietly([RoundRobin, Oracle()], problem, horizon=40, rounds=range(1, 41), runs=1)
    values = problem.means(np.arange(40))
    earned = np.cumsum([values[t % 2, t] for t in range(40)])
    np.testing.assert_allclose(result.regret.values[0, 0], np.cumsum(values.max(axis=0)) - earned, atol=1e-12)
    np.testing.assert_allclose(result.regret.values[1, 0], 0.0, atol=1e-12)


# Rounds


@pytest.mark.parametrize("horizon", [1, 2, 255, 256, 257, 1000, 12_345])
def test_by_default_at_most_256_rounds_are_recorded(horizon):
    rounds = quietly(Uniform(), horizon=horizon, runs=1)["round"].values
    assert 1 <= len(rounds) <= 256
    assert len(rounds) > 127 or len(rounds) == horizon
    assert rounds[-1] == horizon
    assert rounds[0] >= 1
    assert len(set(np.diff(rounds).tolist())) <= 1  # evenly spaced


@pytest.mark.parametrize(("count", "horizon", "expected"), [(1, 100, [100]), (4, 100, [25, 50, 75, 100])])
def test_rounds_can_be_counted(count, horizon, expected):
    for number in (count, np.int64(count)):
        assert quietly(Uniform(), horizon=horizon, runs=1, rounds=number)["round"].values.tolist() == expected


def test_no_more_rounds_than_asked_for_or_than_there_are():
    for count in range(1, 40):
        rounds = quietly(Uniform(), horizon=30, runs=1, rounds=count)["round"].values
        assert len(rounds) <= min(count, 30)
        assert len(rounds) > min(count, 30) / 2
        assert rounds[-1] == 30


@pytest.mark.parametrize("rounds", [[1, 5, 7], (7,), np.array([2, 120], np.int32), range(10, 31, 10)], ids=repr)
def test_rounds_can_be_chosen(rounds):
    result = quietly(FEWA(), rounds=rounds)
    full = quietly(FEWA(), rounds=range(1, 121))
    assert result["round"].values.tolist() == list(rounds)
    np.testing.assert_array_equal(result.regret.values, full.regret.sel(round=list(rounds)).values)
    np.testing.assert_array_equal(result.pulls.values, full.pulls.values)


@pytest.mark.parametrize(
    "rounds", [0, -1, 1.5, True, "10", [], [0, 1], [5, 5], [5, 4], [121], [1.5], [[1, 2]], ["a"]], ids=repr
)
def test_bad_rounds_are_refused(rounds):
    with pytest.raises(ValueError, match="rounds="):
        quietly(Uniform(), rounds=rounds)


# Arguments


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"policies": []}, ValueError, "policies is empty"),
        ({"policies": {}}, ValueError, "policies is empty"),
        ({"policies": FEWA}, TypeError, r"FEWA is a class; did you mean FEWA\(\)"),
        ({"policies": [Uniform(), FEWA]}, TypeError, r"did you mean FEWA\(\)"),
        ({"policies": "FEVA()"}, ValueError, "'FEVA' does not exist; did you mean 'FEWA'"),
        ({"policies": "FEWA(alpha=-1)"}, ValueError, "alpha=-1"),
        ({"problem": "tenarm()"}, ValueError, "'tenarm' does not exist"),
        ({"policies": [3]}, TypeError, "3 is not a policy"),
        ({"policies": None}, TypeError, "None is not a policy"),
        ({"problem": [0.0, 1.0]}, TypeError, "is not a rotting.Problem"),
        ({"problem": None}, TypeError, "is not a rotting.Problem"),
        ({"horizon": 0}, ValueError, "horizon=0"),
        ({"horizon": 1.5}, ValueError, "horizon=1.5"),
        ({"runs": 0}, ValueError, "runs=0"),
        ({"runs": True}, ValueError, "runs=True"),
        ({"threads": 0}, ValueError, "threads=0"),
        ({"seed": -1}, ValueError, "seed=-1"),
        ({"seed": 0.5}, ValueError, "seed=0.5"),
    ],
)
def test_bad_arguments_are_refused_with_the_reason(arguments, error, says):
    with pytest.raises(error, match=says):
        simulate(**{"policies": Uniform(), "problem": PROBLEM, "runs": 2, "progress": False, **arguments})


def test_the_progress_bar_goes_to_stderr_and_changes_nothing(capfd):
    shown = quietly(FEWA(), progress=True)
    assert capfd.readouterr().out == ""
    assert_same(shown, quietly(FEWA()))
    assert capfd.readouterr().err == ""


# Ctrl-C

INTERRUPTED = """
    import signal
    import sys
    import rotting
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it

    class Slow:
        def __init__(self, n_arms): self.n_arms = n_arms
        def select(self): return 0
        def update(self, arm, reward): pass

    policy = {"compiled": rotting.UCB1(), "python": Slow}[sys.argv[1]]
    problem = rotting.problems.two_arm()
    rotting.simulate(policy, problem, horizon=10, runs=1)  # compiles
    print("ready", flush=True)
    try:
        rotting.simulate(policy, problem, horizon=10**11, runs=10, threads=2)  # hours for a single run
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise
    print("finished", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="NOT TESTED: signals are different there")
@pytest.mark.parametrize("kind", ["compiled", "python"])
def test_control_c_ends_a_simulation(kind, tmp_path):
    script = tmp_path / "long.py"
    script.write_text(textwrap.dedent(INTERRUPTED))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        [sys.executable, str(script), kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.7)  # it is well under way
        process.send_signal(signal.SIGINT)
        # A simulation that did not stop would go on for days; this is only to notice that.
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.communicate()
    assert out == "interrupted\n"
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT


# Files and memory


def test_a_result_can_be_written_and_read_back(tmp_path):
    result = quietly([FEWA(), Uniform()])
    result.to_netcdf(tmp_path / "result.nc")
    xarray.testing.assert_equal(xarray.load_dataset(tmp_path / "result.nc"), result)


def test_room_is_made_once_per_thread(monkeypatch):
    """Growing by bits would copy the whole history again and again: most of the time of a long run."""
    asked = []
    reserve = FEWA.reserve
    monkeypatch.setattr(
        FEWA, "reserve", lambda self, state, pulls: (asked.append(pulls), reserve(self, state, pulls))[1]
    )
    simulate(FEWA(), two_arm(L=1.0), horizon=100_000, runs=5, threads=2, progress=False)
    assert asked in ([100_000], [100_000] * 2)


def test_texts_are_what_they_describe():
    said, meant = (
        simulate(policies, problem, horizon=100, runs=3, progress=False)
        for policies, problem in (
            (["FEWA(alpha=0.1)", "UCB1"], "two_arm(L=2)"),
            ([FEWA(alpha=0.1), rotting.UCB1()], rotting.problems.two_arm(L=2)),
        )
    )
    np.testing.assert_array_equal(said.regret, meant.regret)
    assert said.attrs == meant.attrs
    assert simulate({"mine": "UCB1()"}, "ten_arm()", horizon=20, runs=1, progress=False).policy.values == ["mine"]
    many = np.array([FEWA(), rotting.UCB1()], object)
    assert simulate(many, "ten_arm()", horizon=20, runs=1, progress=False).sizes["policy"] == 2
