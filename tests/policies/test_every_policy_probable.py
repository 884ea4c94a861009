"""Every policy tells the probability of its choices: exactly, or by shares of draws with other random words."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from every_policy import CLASSES, build, play, reward_of
from rotting.errors import PolicyDefinitionError
from rotting.policies import Agent, EpsilonGreedy, GaussianThompson, Policy
from rotting.policies._contract.probable import replay_key

DRAWS = 100_000
ERROR_RATE = 1e-6  # of one comparison that is right; seeds are fixed
RANDOMISED = sorted(name for name, kind in CLASSES.items() if kind.randomised)
EXACT = [name for name in RANDOMISED if CLASSES[name]._kernel.probabilities is not None]
OTHERS = sorted(set(RANDOMISED) - set(EXACT))
MOMENTS = (0, 1, 2, 3, 5, 8, 40, 300)  # rounds after which probabilities are compared


def at(name: str, rounds: int, arms: int = 4) -> Agent:
    agent = build((name, {}), arms).start(arms, seed=7)
    play(agent, rounds)
    return agent


def other(key: int, number: int) -> np.uint64:
    return np.uint64(replay_key(np.uint64(key), number))


def counts_of(agent: Agent, draws: int) -> np.ndarray:
    """Return how often `select` gives each arm with so many other random words."""
    drawn = [agent.select_at(agent.t + 1, other(99, draw)) for draw in range(draws)]
    return np.bincount(drawn, minlength=agent.n_arms)


def test_which_policies_have_a_closed_form():
    exact = {"AUCBTASW", "AUCBTP", "CTOSIM", "CUSUMUCB", "EpsilonGreedy", "Exp3", "Exp3S", "RecoveringSoftmax", "Rexp3"}
    assert exact | {"Uniform"} <= set(EXACT)
    assert {"BetaThompson", "GaussianThompson", "RGPTS"} <= set(OTHERS)


def p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """Return that of a chi-square; arms without any chance must not be drawn."""
    assert not counts[probabilities == 0.0].any()
    expected = probabilities * counts.sum()
    likely = expected > 0.0
    if likely.sum() == 1:
        return 1.0
    return float(stats.chi2.sf(((counts - expected)[likely] ** 2 / expected[likely]).sum(), likely.sum() - 1))


@pytest.mark.parametrize("name", EXACT)
def test_exact_probabilities_are_the_frequencies(name):
    for rounds in MOMENTS:
        agent = at(name, rounds)
        found = agent.probabilities()
        assert agent.probabilities(replays=0).tolist() == found.tolist()
        assert p_value(counts_of(agent, DRAWS // len(MOMENTS)), found) > ERROR_RATE, (rounds, found)
        assert found[agent.select()] > 0.0


@pytest.mark.parametrize("name", EXACT)
def test_a_wrong_probability_would_be_found(name):
    agent = at(name, 40)
    found = agent.probabilities()
    if found.min() > 0.0:
        least = found.argmin()
        wrong = found.copy()
        wrong[least] *= 1.3
        wrong[least - 1] -= wrong.sum() - 1.0
        assert p_value(counts_of(agent, DRAWS), wrong) < ERROR_RATE


@pytest.mark.parametrize("name", OTHERS)
def test_replays_are_shares_of_draws(name):
    for rounds in (0, 5, 40):
        agent = at(name, rounds)
        found = agent.probabilities(replays=50)
        assert found.tolist() == agent.probabilities(replays=50).tolist()
        assert (found * 51).round(9).tolist() == (found * 51).round().tolist()
        assert found[agent.select()] >= 1 / 51
        many = agent.probabilities(replays=4000)
        assert p_value(counts_of(agent, 4000), np.maximum(many, 1e-3) / np.maximum(many, 1e-3).sum()) > ERROR_RATE


@pytest.mark.parametrize("name", RANDOMISED)
def test_among_some_arms_they_are_those_of_the_choice_among_them(name):
    agent, among = at(name, 40), [0, 2, 3]
    found = agent.probabilities_among(among, np.uint64(3), replays=400)
    drawn = [agent.select_among(among, other(98, draw))[0] for draw in range(1500)]
    counts = np.bincount(drawn, minlength=4)[among]
    if agent.policy.tells_probabilities:
        assert p_value(counts, found) > ERROR_RATE
    else:
        assert abs(counts / counts.sum() - found).max() < 0.15


@pytest.mark.parametrize("name", sorted(set(CLASSES) - set(RANDOMISED)))
def test_without_chance_the_choice_has_probability_one(name):
    agent = at(name, 10, arms=3)
    assert agent.policy.tells_probabilities
    assert agent.probabilities().tolist() == [float(arm == agent.select()) for arm in range(3)]


def test_a_policy_that_keeps_a_plan_draws_it_again_in_each_replay():
    from rotting.policies import RGPTS

    agent = RGPTS(d=2, sigma=0.3).start(3, seed=1)
    for arm in (0, 1, 2, 0, 1, 2):
        agent.update(arm, reward_of(arm, 1))
    key = np.uint64(5)
    found = agent.probabilities_among([0, 1, 2], key, replays=200)
    keys = [key, *(other(key, replay) for replay in range(200))]
    drawn = [agent.select_among([0, 1, 2], each)[0] for each in keys]
    assert found.tolist() == pytest.approx((np.bincount(drawn, minlength=3) / 201).tolist())
    assert found.max() < 1.0


def test_weights_of_replays_have_the_mean_that_is_promised():
    agent = GaussianThompson(sigma=1.0).start(2, seed=1)
    agent.update_many([0, 0, 1, 1], [0.0, 0.0, 0.9, 0.9])
    replays, tries = 20, 6000
    p = stats.norm.cdf(-0.9)
    sums = np.zeros(2)
    for attempt in range(tries):
        key = other(17, attempt)
        arm = agent.select_at(agent.t + 1, key)
        sums[arm] += 1.0 / agent.probabilities_among([0, 1], key, replays)[arm]
    for arm, true in enumerate((p, 1 - p)):
        promised = 1.0 - (1.0 - true) ** (replays + 1)
        assert sums[arm] / tries == pytest.approx(promised, abs=5 * math.sqrt((1 / true) / tries))


class Counts(NamedTuple):
    pulls: np.ndarray


def coin(state, t, word):
    return np.int64(word % np.uint64(2))


def first(state, t, word):
    return 0


def halves(state, t, out):
    out[:] = 0.0
    out[0] = out[1] = 0.5


def thirds(state, t, out):
    out[:] = 1.0 / 3.0


def count(state, arm, reward):
    state.pulls[arm] += 1


class Counting(Policy, abstract=True):
    def initial_state(self, n_arms):
        return Counts(np.zeros(n_arms, np.int64))


@dataclass(frozen=True)
class ProbablyTossing(Counting, state=Counts, select=coin, update=count, probabilities=halves, randomised=True):
    pass


@dataclass(frozen=True)
class ProbablyTossingUntold(Counting, state=Counts, select=coin, update=count, randomised=True):
    pass


def test_a_users_policy_tells_its_own():
    assert ProbablyTossing().start(3).probabilities().tolist() == [0.5, 0.5, 0.0]
    assert ProbablyTossingUntold().start(3, seed=1).probabilities(replays=999) == pytest.approx(
        [0.5, 0.5, 0.0], abs=0.05
    )
    assert not ProbablyTossingUntold().tells_probabilities


def test_a_class_with_another_select_does_not_inherit_probabilities():
    @dataclass(frozen=True)
    class ProbablyFirst(ProbablyTossing, select=first, randomised=False):
        pass

    @dataclass(frozen=True)
    class ProbablyTossed(EpsilonGreedy, select=coin, randomised=True):
        pass

    assert ProbablyFirst().start(3).probabilities().tolist() == [1.0, 0.0, 0.0]
    assert not ProbablyTossed().tells_probabilities


def test_probabilities_of_a_policy_without_chance_are_refused():
    with pytest.raises(PolicyDefinitionError, match="is for randomised policies"):

        @dataclass(frozen=True)
        class ProbablySure(Counting, state=Counts, select=first, update=count, probabilities=halves):
            pass

    with pytest.raises(PolicyDefinitionError, match=r"probabilities\(state, t, out\)"):

        @dataclass(frozen=True)
        class ProbablyOdd(Counting, state=Counts, select=coin, update=count, probabilities=first, randomised=True):
            pass

    with pytest.raises(PolicyDefinitionError, match="probabilities is a method"):

        @dataclass(frozen=True)
        class ProbablyMethod(Counting, state=Counts, select=coin, update=count, randomised=True):
            def probabilities(self):
                pass


def test_what_is_not_a_probability_is_refused():
    from rotting.errors import KernelError

    @dataclass(frozen=True)
    class ProbablyLoose(Counting, state=Counts, select=coin, update=count, probabilities=thirds, randomised=True):
        pass

    with pytest.raises(KernelError, match="not probabilities of the arms"):
        ProbablyLoose().start(4).probabilities()
