import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting import simulate
from rotting.errors import BadValue
from rotting.policies import EEP
from rotting.problems import Linear, Problem, Satiation


class Literal:
    """Explore, estimate, plan: satiation from the list of all pulls, fits by NumPy, every sequence tried."""

    def __init__(self, n_arms, m, window, grid):
        self.K, self.m, self.window, self.gammas = n_arms, m, window, [k / grid for k in range(1, grid)]
        self.arms, self.rewards, self.fits, self.plan, self.lead = [], [], {}, [], np.inf

    def satiation(self, arm, gamma, arms):
        s = 0.0
        for other in arms:
            s = gamma * (s + (other == arm))
        return s

    def estimate(self, arm):
        rounds = [t for t, other in enumerate(self.arms) if other == arm][: self.m]
        x, found = np.array([self.rewards[t] for t in rounds]), []
        for gamma in self.gammas:
            s = np.array([self.satiation(arm, gamma, self.arms[:t]) for t in rounds])
            (b, c), *_ = np.linalg.lstsq(np.stack([np.ones(len(s)), -s], axis=1), x, rcond=None)
            b, c = (b, c) if c >= 0 else (x.mean(), 0.0)
            found.append((np.sum((x - b + c * s) ** 2), gamma, b, c))
        squares = sorted(found)
        self.near = min(self.near, squares[1][0] - squares[0][0]) if len(squares) > 1 else self.near
        return min(found)[1:]

    near = np.inf

    def worth(self, sequence):
        arms, total = list(self.arms), 0.0
        for arm in sequence:
            gamma, b, c = self.fits[arm]
            total += b - c * self.satiation(arm, gamma, arms)
            arms.append(arm)
        return total

    def select(self):
        for arm in range(self.K):
            if self.arms.count(arm) < self.m:
                return arm
        if not self.plan:
            values = {each: self.worth(each) for each in itertools.product(range(self.K), repeat=self.window)}
            first, second = (*sorted(values.values(), reverse=True), -np.inf)[:2]
            self.lead, self.plan = first - second, list(max(values, key=values.get))
        return self.plan[0]

    def update(self, arm, reward):
        self.arms.append(arm)
        self.rewards.append(reward)
        self.plan = self.plan[1:]
        if self.arms.count(arm) == self.m:
            self.fits[arm] = self.estimate(arm)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 3),
    m=st.integers(4, 9),
    window=st.integers(1, 3),
    grid=st.sampled_from([2, 5]),
)
def test_decides_as_the_literal_rule(seed, n_arms, m, window, grid):
    """Until two fits, or two sequences, are as good to 1e-8: then either is right."""
    rng = np.random.default_rng(seed)
    agent, reference = EEP(m, window, grid).start(n_arms), Literal(n_arms, m, window, grid)
    for t in range(m * n_arms + 12):
        chosen = agent.select()
        if chosen != reference.select():
            assert min(reference.lead, reference.near) < 1e-8, f"round {t + 1}"
            return
        reward = float(rng.normal(1.0 - 0.3 * reference.satiation(chosen, 0.6, reference.arms)))
        agent.update(chosen, reward)
        reference.update(chosen, reward)


def test_without_noise_it_finds_out_and_is_greedy_then():
    """Of equal arms that satiate greedy is the best there is."""
    problem = Problem([Linear(1.0, 0.4, -9.0)] * 3, dynamics=Satiation(gamma=0.6), noise="none", horizon=600)
    result = simulate(EEP(m=8, grid=5), problem, runs=1, rounds=[100, 600], progress=False)
    early, late = result.regret.values.ravel().tolist()
    assert late - early < 0.01 * 500
    state = EEP(m=8, grid=5).start(3)
    earned, s = [], 0.0
    for _ in range(8):
        earned.append(1.0 - 0.4 * s)
        state.update(0, earned[-1])
        s = 0.6 * (s + 1)
    assert state._state.estimates[0] == pytest.approx([1.0, 0.4, 0.6])


def test_looking_further_ahead_pays():
    """Two arms: greedy never lets the better one rest."""
    arms = [Linear(1.0, 0.5, -9.0), Linear(0.45, 0.0, -9.0)]
    problem = Problem(arms, dynamics=Satiation(gamma=0.9), sigma=0.05, horizon=3000)
    policies = [EEP(m=60), EEP(m=60, window=6)]
    result = simulate(policies, problem, runs=10, seed=0, progress=False)
    greedy, ahead = result.regret.isel(round=-1).mean("run").values
    assert ahead <= greedy


def test_too_many_sequences_are_refused():
    with pytest.raises(BadValue, match=r"window=7.* 2\^20"):
        EEP(m=4, window=7).start(10)
