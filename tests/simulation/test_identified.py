"""Recommendations as a part of simulations, and what is made of them."""

import numpy as np
import pytest

import rotting
from rotting.errors import BadValue, KernelError
from rotting.policies import UCB1, Policy, RottingRejects, SuccessiveRejects, Uniform
from rotting.policies.ucb1 import UCB1State, select, update
from rotting.problems import Drop, Problem, Tally
from rotting.simulation import GeometricDelay, identification
from rotting.simulation.identified import outcomes, values_to_come

PROBLEM = Problem([Drop(0.8, 0.1, 40), 0.5, 0.3], sigma=0.3, horizon=200, name="drops")
POLICIES = [SuccessiveRejects(), RottingRejects(sigma=0.3), UCB1(sigma=0.3), Uniform()]


def simulated(policies=POLICIES, **options):
    given = {"runs": 8, "rounds": [1, 50, 200], "trace": ("recommended", "pulls"), "progress": False} | options
    return rotting.simulate(policies, PROBLEM, **given)


def test_the_most_pulled_arm_is_recommended_by_policies_that_do_not_say():
    found = simulated()
    for label in ("UCB1(sigma=0.3)", "Uniform()"):
        most = found.pulls_over_time.sel(policy=label).values.argmax(-1)
        assert np.array_equal(found.recommended.sel(policy=label).values, most)


@pytest.mark.parametrize("delay", [0, 3, GeometricDelay(5)])
def test_agents_and_checked_kernels_recommend_the_same(delay):
    compiled, checked = simulated(delay=delay), simulated(delay=delay, check=True)
    assert np.array_equal(compiled.recommended, checked.recommended)
    if delay == 0:
        agent = UCB1(sigma=0.3).start(3)
        traced = rotting.simulate(
            UCB1(sigma=0.3), PROBLEM, runs=1, trace=("actions", "rewards", "recommended"), rounds=[200], progress=False
        )
        agent.update_many(traced.actions.values[0, 0], traced.rewards.values[0, 0])
        assert agent.recommend() == traced.recommended.values[0, 0, 0]


def test_it_does_not_change_what_is_played():
    plain, traced = simulated(trace=()), simulated()
    for name in ("regret", "pulls"):
        assert np.array_equal(plain[name], traced[name])
    assert "recommended" not in plain


class Last:
    """A Python class that recommends."""

    def __init__(self, n_arms):
        self.arm, self.n_arms = 0, n_arms

    def select(self):
        return self.arm

    def update(self, arm, reward):
        self.arm = (arm + 1) % self.n_arms

    def recommend(self):
        return self.arm


def test_python_classes_may_recommend():
    assert (simulated(Last).recommended.values[0] == [1, 50 % 3, 200 % 3]).all()
    plain = type("Plain", (), {name: vars(Last)[name] for name in ("__init__", "select", "update")})
    assert (simulated(plain).recommended.values[0] == [0, 0, 0]).all()


def wild(state):
    return 7


def test_an_arm_that_does_not_exist_is_refused():
    class WildAdvice(Policy, state=UCB1State, select=select, update=update, recommend=wild):
        def initial_state(self, n_arms):
            return UCB1State(np.ones(1), np.zeros(n_arms, np.int64), np.zeros(n_arms))

    with pytest.raises(KernelError, match="recommend"):
        simulated(WildAdvice())
    with pytest.raises(KernelError, match="recommend"):
        WildAdvice().start(3).recommend()


def test_a_method_called_recommend_is_refused():
    with pytest.raises(rotting.errors.PolicyDefinitionError, match="recommend is a method"):

        class Bad(Policy, state=UCB1State, select=select, update=update):
            def recommend(self): ...


def test_errors_and_simple_regret_by_hand():
    found = simulated()
    rows = identification(found, PROBLEM, ahead=10)
    for row, policy in zip(rows, found.policy.values, strict=True):
        lost = []
        for run in range(8):
            pulls, chosen = found.pulls.values[list(found.policy.values).index(policy), run], None
            worth = [np.mean([PROBLEM.curves[arm](int(pulls[arm]) + more) for more in range(10)]) for arm in range(3)]
            chosen = int(found.recommended.sel(policy=policy).values[run, -1])
            lost.append(max(worth) - worth[chosen])
        assert row.regret == pytest.approx(np.mean(lost))
        assert row.error == pytest.approx(np.mean(np.array(lost) > 0))
        assert row.error_low <= row.error <= row.error_high
    assert "SuccessiveRejects" in found.rotting.identification_table("markdown", PROBLEM, ahead=10)


def test_arms_can_be_judged_after_a_number_of_pulls():
    chosen, best = outcomes(simulated(), PROBLEM, at=0)
    assert (best == 0.8).all()
    assert set(np.unique(chosen)) <= {0.8, 0.5, 0.3}


def test_restless_arms_follow_the_round():
    problem = Problem([Drop(0.8, 0.1, 40), 0.5], restless=True)
    assert values_to_come(problem, [0, 39], horizon=39, ahead=2).tolist() == [0.45, 0.5]


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(BadValue, match="no recommendations"):
        identification(simulated(trace=()), PROBLEM)
    with pytest.raises(BadValue, match="no text describes"):
        identification(simulated())
    with pytest.raises(BadValue, match="Tally arms"):
        values_to_come(Problem([0.5], dynamics=Tally(m=1)), [1], 1)
    with pytest.raises(BadValue, match="round 50"):
        identification(simulated(rounds=[1, 50]), PROBLEM)
