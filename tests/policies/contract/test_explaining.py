"""Explanations: every number they give, against a literal computation from the rewards themselves."""

import json
import math

import numpy as np
import pytest

import rotting.policies
from rotting.policies import FEWA, RAWUCB, EffFEWA, EffRAWUCB, Policy
from rotting.problems import stationary
from rotting.problems.curves import Constant

FILTERS = [
    FEWA(alpha=0.06, sigma=0.3),
    FEWA(alpha=1.0, sigma=0.1, delta0=0.5),
    EffFEWA(alpha=0.06, sigma=0.3),
    EffFEWA(alpha=0.06, sigma=0.3, refresh="blocks"),
    EffFEWA(alpha=0.06, sigma=0.3, grid=1.3),
]
INDICES = [RAWUCB(sigma=0.3), RAWUCB(alpha=4.0, sigma=0.3), EffRAWUCB(sigma=0.3), EffRAWUCB(sigma=0.3, grid=1.5)]
EXPLAINING = FILTERS + INDICES
ARMS = 5

filters = pytest.mark.parametrize("policy", FILTERS, ids=str)
indices = pytest.mark.parametrize("policy", INDICES, ids=str)
every = pytest.mark.parametrize("policy", EXPLAINING, ids=str)


def rounds_of(policy, rounds=400, seed=0):
    """Play; before every round, yield the agent and each arm's rewards so far."""
    rng = np.random.default_rng(seed)
    agent = policy.start(ARMS)
    rewards = [[] for _ in range(ARMS)]
    for _ in range(rounds):
        yield agent, rewards
        # Arms differ, the best one drops, and some pulls stray, so that arms differ in how often they were pulled.
        arm = agent.select() if rng.random() < 0.9 else int(rng.integers(ARMS))
        mean = 1.0 - 0.2 * arm - (0.7 if arm == 0 and len(rewards[0]) > 40 else 0.0)
        reward = float(rng.normal(mean, 0.3))
        agent.update(arm, reward)
        rewards[arm].append(reward)


def stored_windows(policy, n):
    """Return (h, end) for each window of an arm with n pulls: its statistic is the mean of rewards[end - h:end]."""
    if isinstance(policy, FEWA | RAWUCB):
        return [(h, n) for h in range(1, n + 1)]
    h, period, found = 1, 1, []
    while h <= n:
        if getattr(policy, "refresh", "nested") == "blocks":
            period = h
        found.append((h, h + (n - h) // period * period))
        step = math.ceil(policy.grid * h) - h
        h, period = h + step, period * math.ceil(step / period)
    return found


def statistics(policy, rewards):
    """Return a dictionary from windows to means for each arm."""
    return [{h: math.fsum(own[end - h : end]) / h for h, end in stored_windows(policy, len(own))} for own in rewards]


def literal_filter(policy, rewards, t):
    """Return (window, mean, best mean, threshold) for every arm that the filter drops in round t."""
    means = statistics(policy, rewards)
    active, dropped = set(range(len(rewards))), {}
    for h in sorted({h for own in means for h in own}):
        if any(h not in means[arm] for arm in active):
            break
        threshold = 2 * math.sqrt(2 * policy.sigma**2 * max(0.0, math.log(t**policy.alpha / policy.delta0)) / h)
        best = max(means[arm][h] for arm in active)
        for arm in sorted(active):
            if best - means[arm][h] > threshold:
                dropped[arm] = (h, means[arm][h], best, threshold)
        active -= set(dropped)
    return dropped


@filters
def test_filters_are_explained_by_their_numbers(policy):
    seen = 0
    for agent, rewards in rounds_of(policy):
        if agent.t % 7 or min(map(len, rewards)) == 0:
            continue
        explanation = agent.explain()
        expected = literal_filter(policy, rewards, agent.t + 1)
        assert {verdict.arm for verdict in explanation.arms if not verdict.survived} == set(expected)
        for verdict in explanation.arms:
            assert verdict.pulls == len(rewards[verdict.arm])
            if verdict.survived:
                assert (verdict.window, verdict.mean, verdict.best_mean, verdict.threshold) == (None,) * 4
                continue
            window, *numbers = expected[verdict.arm]
            assert verdict.window == window
            np.testing.assert_allclose(
                [verdict.mean, verdict.best_mean, verdict.threshold], numbers, rtol=1e-9, atol=1e-12
            )
            assert verdict.best_mean - verdict.mean > verdict.threshold
            seen += window > 1
    assert seen > 20  # windows beyond the first were at work


@filters
def test_the_decision_is_the_least_pulled_survivor(policy):
    for agent, rewards in rounds_of(policy):
        if min(map(len, rewards)) == 0:
            continue
        explanation = agent.explain()
        survivors = [verdict for verdict in explanation.arms if verdict.survived]
        assert explanation.decision == min(survivors, key=lambda verdict: (verdict.pulls, verdict.arm)).arm


@indices
def test_indices_are_the_smallest_bounds_over_windows(policy):
    for agent, rewards in rounds_of(policy):
        if agent.t % 7 or min(map(len, rewards)) == 0:
            continue
        explanation = agent.explain()
        for verdict, means in zip(explanation.arms, statistics(policy, rewards), strict=True):
            bounds = {
                h: mean + math.sqrt(2 * policy.sigma**2 * policy.alpha * math.log(agent.t + 1) / h)
                for h, mean in means.items()
            }
            assert verdict.index == pytest.approx(min(bounds.values()), rel=1e-12)
            assert bounds[verdict.window] == pytest.approx(min(bounds.values()), rel=1e-12)
            assert verdict.pulls == len(rewards[verdict.arm])
        best = max(explanation.arms, key=lambda verdict: (verdict.index, -verdict.arm))
        assert explanation.decision == best.arm


@every
def test_the_decision_is_that_of_select(policy):
    for agent, _ in rounds_of(policy, rounds=250):
        before = agent.select()
        explanation = agent.explain()
        assert explanation.decision == before == agent.select()
        assert explanation.t == agent.t + 1
        assert explanation.policy == str(policy)
        assert [verdict.arm for verdict in explanation.arms] == list(range(ARMS))


@every
def test_explaining_changes_no_decision(policy):
    asked = [agent.select() for agent, _ in rounds_of(policy) if agent.explain()]
    quiet = [agent.select() for agent, _ in rounds_of(policy)]
    assert asked == quiet


@every
def test_arms_without_a_pull_come_first(policy):
    agent = policy.start(3)
    for t, arm in enumerate((0, 1, 2)):
        explanation = agent.explain()
        assert explanation.decision == arm
        assert [verdict.pulls for verdict in explanation.arms] == [1] * t + [0] * (3 - t)
        assert all(verdict.window is None for verdict in explanation.arms[t:])
        assert len(str(explanation).splitlines()) == 5
        json.dumps(explanation.to_dict())
        agent.update(arm, 0.5)
    assert policy.start(1).explain().decision == 0


@every
def test_the_table_has_one_line_per_arm(policy):
    for agent, rewards in rounds_of(policy, rounds=120):
        if agent.t not in (0, 3, 119):
            continue
        explanation = agent.explain()
        title, names, *lines = str(explanation).splitlines()
        assert str(policy) in title
        assert f"round {agent.t + 1}" in title
        assert f"pull arm {explanation.decision}" in title
        assert "arm" in names
        assert "pulls" in names
        assert len(lines) == ARMS
        for arm, line in enumerate(lines):
            assert line.startswith(">") == (arm == explanation.decision)
            assert line.lstrip("> ").split()[:2] == [str(arm), str(len(rewards[arm]))]
        assert len({len(line) for line in [names, *lines]}) == 1  # columns are aligned


def kinds(value):
    """Return the types that occur in nested data."""
    if isinstance(value, dict):
        return {dict}.union(*map(kinds, value), *map(kinds, value.values()))
    if isinstance(value, list | tuple):
        return {type(value)}.union(*map(kinds, value))
    return {type(value)}


@every
def test_to_dict_is_plain_data(policy):
    """Nothing but dictionaries and lists of Python's own numbers, as JSON has them."""
    for agent, _ in rounds_of(policy, rounds=100):
        if agent.t < ARMS:
            continue
        plain = agent.explain().to_dict()
        assert kinds(plain) <= {dict, list, str, int, float, bool, type(None)}
        assert json.loads(json.dumps(plain)) == plain
        assert plain["decision"] == agent.select()
        assert len(plain["arms"]) == ARMS


@every
def test_to_dict_can_be_written_before_all_arms_are_pulled(policy):
    """Strictly: JSON knows no infinity."""
    agent = policy.start(ARMS)
    agent.update(0, 1.0)
    json.dumps(agent.explain().to_dict(), allow_nan=False)


def test_policies_without_an_explanation_say_so():
    needs = {
        **{name: {"curves": (Constant(0.0),)} for name in ("CTO", "CTOSIM", "DCTOUCB")},
        "Oracle": {"problem": stationary([0.0, 1.0])},
    }
    refused = []
    for name, policy_class in rotting.policies.POLICIES.items():
        known = {"horizon": 10} if "horizon" in policy_class.knows else {}
        agent = policy_class(**needs.get(name, known)).start(2)
        if policy_class.explain is not Policy.explain:
            assert agent.explain().decision == agent.select()
            continue
        with pytest.raises(NotImplementedError, match=f"{name} .*explain"):
            agent.explain()
        refused.append(name)
    assert {"UCB1", "Uniform", "WSWA"} <= set(refused)
    assert not {"FEWA", "EffFEWA", "RAWUCB", "EffRAWUCB"} & set(refused)
