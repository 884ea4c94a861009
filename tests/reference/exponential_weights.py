"""Exp3 and Exp3.S, literally: Auer, Cesa-Bianchi, Freund, Schapire (2002), figures 1 and 5."""

from __future__ import annotations

import math


def probabilities(history, n_arms, gamma, low, high, alpha=0.0):
    """Return the probability of each arm after `history`, a list of (arm, reward); alpha > 0 is Exp3.S."""
    weights = [1.0] * n_arms

    def mixed():
        return [(1 - gamma) * weight / sum(weights) + gamma / n_arms for weight in weights]

    for arm, reward in history:
        x = min(max((reward - low) / (high - low), 0.0), 1.0)
        estimate = x / mixed()[arm]
        share = math.e * alpha / n_arms * sum(weights)
        weights[arm] *= math.exp(gamma * estimate / n_arms)
        weights = [weight + share for weight in weights]
    return mixed()


def draw(chances, u):
    """Return the arm at which the cumulated probabilities pass the uniform number u."""
    cumulated = 0.0
    for arm, chance in enumerate(chances):
        cumulated += chance
        if u < cumulated:
            return arm
    return len(chances) - 1
