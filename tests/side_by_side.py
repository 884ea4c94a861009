"""Drive a policy's compiled agent next to a literal transcription of its rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from rotting._core.randomness import CHOICE, stream_key, uniform, word
from rotting.policies._contract.agent import Agent
from rotting.policies._contract.policy import Policy

History = list[tuple[int, float]]  # (arm, reward) of every pull so far
Uniforms = Callable[[int], float]  # the j-th uniform number of the round
Literal = Callable[[History, int, int, Uniforms], int]  # (history, n_arms, t, uniforms) -> arm


class Reference(Protocol):
    """A literal policy that keeps its own history, as those in `tests/reference`."""

    def select(self) -> int: ...

    def update(self, arm: int, reward: float) -> None: ...


# Few values, exact in floating point: ties between arms are frequent and real.
TIES = (-1.0, -0.5, 0.0, 0.5, 1.0)


def assert_same_decisions(
    policy: Policy,
    literal: Literal,
    *,
    n_arms: int,
    rounds: int,
    seed: int,
    values: Sequence[float] = (),
    stray: float = 0.1,
) -> list[int]:
    """Assert that the agent chooses what the literal rule chooses, round by round; return the choices.

    Rewards are drawn from `values`, or are normal around means that differ from arm to arm. A share `stray`
    of the rewards goes to a random arm, chosen or not.
    """
    rng = np.random.default_rng(seed)
    agent = policy.start(n_arms, seed)
    key = stream_key(seed, CHOICE)
    history: History = []
    choices = []
    for t in range(1, rounds + 1):
        chosen = agent.select()
        # Compiled functions return a plain int, which would be taken for a signed number.
        expected = literal(history, n_arms, t, partial(uniform, np.uint64(word(key, t))))
        assert chosen == expected, f"round {t}: {chosen} instead of {expected}, after {history}"
        choices.append(chosen)
        arm = int(rng.integers(n_arms)) if rng.random() < stray else chosen
        reward = float(rng.choice(values)) if values else float(rng.normal(0.5 * arm, 1.0))
        agent.update(arm, reward)
        history.append((arm, reward))
    assert agent.pulls.tolist() == [sum(arm == i for arm, _ in history) for i in range(n_arms)]
    return choices


def rewards_of(history: History, n_arms: int) -> list[list[float]]:
    """Return each arm's rewards, in order."""
    return [[reward for arm, reward in history if arm == i] for i in range(n_arms)]


def first_best(indices: Sequence[float]) -> int:
    """Return the lowest position of the largest value."""
    return max(range(len(indices)), key=lambda i: (indices[i], -i))


def assert_survives_extremes(policy: Policy, rounds: int = 300) -> None:
    """Assert that huge rewards neither break a policy nor blind it, and that one arm alone works."""
    alone = policy.start(n_arms=1, seed=0)
    for reward in (1e100, -1e100, 0.0) * 20:
        assert alone.select() == 0
        alone.update(0, reward)
    agent = policy.start(n_arms=3, seed=0)
    for _ in range(rounds):
        arm = agent.select()
        agent.update(arm, (-1e100, 1e100, 0.0)[arm])
    assert agent.pulls.argmax() == 1
    assert agent.pulls[1] > 0.6 * rounds
    # The other way round: huge rewards alternate, and every answer must still be an arm.
    for sign in (1.0, -1.0) * 50:
        arm = agent.select()
        assert arm in (0, 1, 2)
        agent.update(arm, sign * 1e100)


def assert_same_run(
    policy: Policy,
    reference: Reference,
    rewards: Sequence[Sequence[float]],
    *,
    rounds: int,
    seed: int = 0,
    stray: float = 0.1,
    look: Callable[[int], bool] = lambda t: True,
    compare: Callable[[Agent, Any], None] = lambda agent, reference: None,
) -> Agent:
    """Assert that the agent chooses what a reference from `tests/reference` chooses; return the agent.

    The n-th pull of an arm brings the n-th of its `rewards`. A share `stray` of the pulls goes to a random arm,
    chosen or not. The slow side is only asked in rounds at which to `look`; `compare` may ask for more than equal arms.
    """
    rng = np.random.default_rng(seed)
    n_arms = len(rewards)
    agent = policy.start(n_arms)
    pulls = [0] * n_arms
    for t in range(1, rounds + 1):
        arm = agent.select()
        if look(t):
            expected = reference.select()
            assert arm == expected, f"{policy}, round {t}: {arm} instead of {expected}, pulls {pulls}"
            compare(agent, reference)
        if rng.random() < stray:
            arm = int(rng.integers(n_arms))
        reward = rewards[arm][pulls[arm]]
        agent.update(arm, reward)
        reference.update(arm, reward)
        pulls[arm] += 1
    assert agent.pulls.tolist() == pulls
    return agent


def assert_same_keyed_decisions(
    policy: Policy,
    literal: Callable[[History, int, np.uint64], int],
    *,
    n_arms: int,
    rounds: int,
    seed: int,
    values: Sequence[float] = (),
) -> None:
    """Assert the same as `assert_same_decisions`, of a literal rule that takes the round's random word itself."""
    key = stream_key(seed, CHOICE)

    def keyed(history: History, n_arms: int, t: int, uniforms: Uniforms) -> int:
        return literal(history, n_arms, np.uint64(word(key, t)))

    assert_same_decisions(policy, keyed, n_arms=n_arms, rounds=rounds, seed=seed, values=values)


def assert_same_choices(one: Policy, other: Policy, *, rounds: int, values: Sequence[float], n_arms: int = 3) -> None:
    """Assert that two policies choose the same in every round, given the same rewards and random numbers.

    The higher its number, the better are an arm's chances of the later `values`. Some rewards go to a random arm.
    """
    rng = np.random.default_rng(rounds)
    agents = [policy.start(n_arms, seed=3) for policy in (one, other)]
    for t in range(1, rounds + 1):
        arm, same = (agent.select() for agent in agents)
        assert arm == same, f"round {t}: {arm} and {same}"
        if rng.random() < 0.1:
            arm = int(rng.integers(n_arms))
        reward = float(values[int(len(values) * rng.random() ** (1 / (1 + arm)))])
        for agent in agents:
            agent.update(arm, reward)
