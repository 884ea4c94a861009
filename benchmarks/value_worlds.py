"""Worlds whose truth is known: logs collected there with exact probabilities, and what running a policy earns."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rotting._core.compiling import entry, helper
from rotting._core.randomness import normal, uniform, word
from rotting.policies._contract.kernel import select, update
from rotting.policies._contract.probable import fill_probabilities
from rotting.value.along import Learnt
from rotting.value.logged import Logged

CONSTANT, WEARS, DRIFTS, JUMPS, DROPS, RECOVERS, WEARS_AND_DRIFTS = range(7)
RATES, NORMAL, AMOUNTS = range(3)


class World(NamedTuple):
    """Arms whose mean depends on exposures, time (from 0 to 1) or rests."""

    base: np.ndarray
    kind: int
    scale: float
    rewards: int = RATES
    noise: float = 0.3


@helper
def mean_of(world, arm, exposures, time, rest):
    """Return the mean reward of an arm now."""
    base = world.base[arm]
    if world.kind == WEARS or world.kind == WEARS_AND_DRIFTS:
        base *= 0.3 + 0.7 * math.exp(-exposures / (world.scale * (1.0 + 0.3 * arm)))
    if world.kind == DRIFTS or world.kind == WEARS_AND_DRIFTS:
        base *= 1.0 + 0.6 * math.sin(6.2831853 * (world.scale * time + 0.37 * arm))
    if world.kind == JUMPS and time > 0.5:
        base = world.base[len(world.base) - 1 - arm]
    if world.kind == DROPS and exposures > world.scale * (1.0 + arm):
        base *= 0.4
    if world.kind == RECOVERS:
        base *= 1.0 - 0.8 * math.exp(-rest / world.scale)
    return base


@helper
def reward_of(world, mean, key, n):
    """Return a reward."""
    if world.rewards == RATES:
        return 1.0 if uniform(key, n) < mean else 0.0
    if world.rewards == NORMAL:
        return mean + world.noise * normal(key, n)
    return mean * math.exp(world.noise * normal(key, n) - 0.5 * world.noise**2)


@entry
def collect(
    state, world, lag, epsilon, replays, key, shares, exposures, shown, chances, arms, rewards, probability, means
):
    """Fill in a log: the state's policy decides, or, with a share epsilon, the given shares do."""
    n_arms, rows = len(world.base), len(arms)
    for row in range(rows):
        if row > lag:
            update(state, arms[row - lag - 1], rewards[row - lag - 1])
        fill_probabilities(state, max(row - lag, 0) + 1, word(key, 3 * row), replays, chances)
        left, arm = uniform(key, 3 * row + 1), -1
        for each in range(n_arms):
            chances[each] = (1.0 - epsilon) * chances[each] + epsilon * shares[each]
            left -= chances[each]
            if arm < 0 and left < 0.0:
                arm = each
            means[row, each] = mean_of(world, each, exposures[each], row / rows, row - shown[each])
        arm = n_arms - 1 if arm < 0 else arm
        arms[row], probability[row] = arm, chances[arm]
        rewards[row] = reward_of(world, means[row, arm], word(key, 3 * row + 2), 0)
        exposures[arm] += 1.0
        shown[arm] = row


@entry
def run(state, world, kept, rows, key, exposures, shown, totals):
    """Run a policy on a share of the rows; write down what its decisions are worth, as a running total."""
    t, total = 0, 0.0
    for row in range(rows):
        if t == len(totals):
            return t
        if uniform(key, 3 * row + 2) >= kept:
            continue
        arm = select(state, t + 1, word(key, 3 * row))
        mean = mean_of(world, arm, exposures[arm], row / rows, row - shown[arm])
        update(state, arm, reward_of(world, mean, word(key, 3 * row + 1), 0))
        exposures[arm] += 1.0
        shown[arm] = row
        total += mean
        totals[t] = total
        t += 1
    return t


class Collected(NamedTuple):
    """A log, and the true mean of every arm at every row."""

    logged: Logged
    means: np.ndarray


def collected(
    world: World, policy: Any, epsilon: float, rows: int, seed: int, lag: int = 0, shares: Any = None
) -> Collected:
    """Return a log that a policy collected, with a share of exposures in given shares (else uniform)."""
    n_arms = len(world.base)
    shares = np.full(n_arms, 1 / n_arms) if shares is None else np.array(shares, float)
    state = policy.reserve(fresh(policy, n_arms), rows)
    arms, rewards, probability = np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows)
    means = np.zeros((rows, n_arms))
    replays = 0 if policy.tells_probabilities else 49
    key = np.uint64(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint64)[0])
    room = np.zeros(n_arms), np.full(n_arms, -1.0), np.zeros(n_arms)
    collect(state, world, lag, epsilon, replays, key, shares, *room, arms, rewards, probability, means)
    logged = Logged(
        name="the log",
        arms=tuple(f"arm {each}" for each in range(n_arms)),
        arm=arms,
        reward=rewards,
        probability=probability,
        known=np.maximum(np.arange(rows) - lag, 0),
        learnt=Learnt(arms, rewards),
        times=np.arange(float(rows)),
    )
    return Collected(logged, means)


def fresh(policy: Any, n_arms: int) -> Any:
    """Return a policy's first state."""
    from rotting.policies._contract.states import fresh_state

    return fresh_state(policy, n_arms)


def truth_of_running(
    world: World, policy: Any, rows: int, kept: float, decisions: int, runs: int, seed: int
) -> np.ndarray:
    """Return the mean reward of the first 1, 2, ... decisions of a policy, over many runs."""
    sums, number = np.zeros(decisions), np.zeros(decisions)
    for each in range(runs):
        totals = np.zeros(decisions)
        key = np.uint64(np.random.SeedSequence([seed, 2, each]).generate_state(1, np.uint64)[0])
        room = np.zeros(len(world.base)), np.full(len(world.base), -1.0)
        t = run(policy.reserve(fresh(policy, len(world.base)), decisions), world, kept, rows, key, *room, totals)
        sums[:t] += totals[:t]
        number[:t] += 1
    return sums / np.maximum(number, 1) / np.arange(1, decisions + 1)
