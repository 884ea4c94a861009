"""Exp3, literally: Auer, Cesa-Bianchi, Freund, Schapire (2002), figure 1."""

from __future__ import annotations

import math


def probabilities(history, n_arms, gamma, low, high):
    """Return the probability of each arm after `history`, a list of (arm, reward)."""
    weights = [1.0] * n_arms

    def mixed():
        return [(1 - gamma) * weight / sum(weights) + gamma / n_arms for weight in weights]

    for arm, reward in history:
        x = min(max((reward - low) / (high - low), 0.0), 1.0)
        estimate = x / mixed()[arm]
        weights[arm] *= math.exp(gamma * estimate / n_arms)
    return mixed()


def draw(chances, u):
    """Return the arm at which the cumulated probabilities pass the uniform number u."""
    cumulated = 0.0
    for arm, chance in enumerate(chances):
        cumulated += chance
        if u < cumulated:
            return arm
    return len(chances) - 1
