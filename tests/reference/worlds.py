"""Rewards that are hard on window policies: ties, drops, drifts, spikes, and numbers that do not add up exactly."""

from __future__ import annotations

import numpy as np

from side_by_side import TIES


def ties(shape, rng):
    """Few values, exact in floating point."""
    return rng.choice(TIES, shape)


def equal(shape, rng):
    """The same reward always, and one whose sums round."""
    return np.full(shape, rng.choice([0.0, 0.1, -1.0]))


def tenths(shape, rng):
    """Few values whose sums round: equal windows must still compare as equal."""
    return rng.integers(-3, 4, shape) / 10


def levels(shape, rng):
    """Steps down, at different times, without noise."""
    rewards = np.repeat(rng.integers(0, 5, shape[0])[:, None] / 4, shape[1], axis=1)
    for _ in range(3):
        for arm, drop in enumerate(rng.integers(1, max(2, shape[1] // 2), shape[0])):
            rewards[arm, drop:] -= rng.integers(0, 3) / 4
    return rewards


def drops(shape, rng):
    """Arms far apart that drop at different times, with noise."""
    return 2 * levels(shape, rng) + rng.normal(size=shape)


def close(shape, rng):
    """Arms so close that only long windows tell them apart, dropping at different times, with noise."""
    return 0.3 * levels(shape, rng) + rng.normal(size=shape)


def walk(shape, rng):
    """Random walks."""
    return np.cumsum(rng.normal(size=shape), axis=1)


def drift(shape, rng):
    """Straight lines far from 0, with a little noise."""
    slopes = rng.uniform(-2, 0, (shape[0], 1)) / shape[1]
    return 1000 + rng.uniform(-1, 1, (shape[0], 1)) + slopes * np.arange(shape[1]) + 0.3 * rng.normal(size=shape)


def coins(shape, rng):
    """Rewards 0 and 1, less likely 1 after a while."""
    chances = np.clip(0.5 + 0.3 * levels(shape, rng), 0.05, 0.95)
    return (rng.random(shape) < chances).astype(float)


def spikes(shape, rng):
    """Mostly nothing, sometimes a lot, up or down."""
    sizes = 2.0 ** rng.integers(-5, 8, shape) * rng.choice([-1, 1], shape)
    return np.where(rng.random(shape) < 0.02, sizes, 0.0)


def apart(shape, rng):
    """Every arm on a scale of its own, from 1e-12 to 1e12."""
    return rng.normal(size=shape) * 10.0 ** rng.integers(-12, 13, (shape[0], 1))


def fallen(shape, rng):
    """Large rewards at first, whose sums round, then small ones."""
    large = rng.uniform(0, 1e6, shape) / 3
    return np.where(np.arange(shape[1]) < rng.integers(1, 60, (shape[0], 1)), large, tenths(shape, rng))


WORLDS = {
    world.__name__: world
    for world in (ties, equal, tenths, levels, drops, close, walk, drift, coins, spikes, apart, fallen)
}


def rewards_in(world, n_arms, rounds, seed, scale=1.0):
    """Return the rewards of each arm, as lists: the n-th pull of an arm brings the n-th of them."""
    table = WORLDS[world]((n_arms, rounds), np.random.default_rng(seed)) * scale
    return table.tolist()
