"""A bandit with a policy that a user has written."""

import dataclasses
from typing import NamedTuple

import numpy as np

from rotting import Bandit, Policy
from rotting.randomness import uniform


class CoinState(NamedTuple):
    pulls: np.ndarray


def select(state, t, word):
    return int(uniform(word, 0) * len(state.pulls))


def update(state, arm, reward):
    state.pulls[arm] += 1


@dataclasses.dataclass(frozen=True)
class CoinOfAUser(Policy, state=CoinState, select=select, update=update, randomised=True):
    def initial_state(self, n_arms):
        return CoinState(np.zeros(n_arms, np.int64))


ARMS = ["red", "green", "blue"]


def test_a_randomised_policy_uses_the_seed_and_new_randomness_for_each_decision(url):
    chosen = {}
    for seed in (1, 2):
        bandit = Bandit.open(url, f"seed {seed}", CoinOfAUser(), ARMS, seed=seed)
        bandit.reward_many([(choice.id, 0.0) for choice in bandit.decide(3)])
        batch = bandit.decide(40)
        assert {choice.arm for choice in batch} == set(ARMS)
        assert {choice.probability for choice in batch} == {None}
        chosen[seed] = [choice.arm for choice in batch]
        bandit.verify()
    assert chosen[1] != chosen[2]
    assert bandit.report().arms[0].active is None
