"""Thompson sampling that forgets, literally: from all (arm, reward) so far, with the samplers of the package."""

from __future__ import annotations

import math

import numpy as np

from reference.kl_ucb import clipped
from rotting._core.gamma import beta_sample_logit
from rotting._core.randomness import normal, word


def beta_choice(weighted, n_arms, prior, key):
    """Return the arm that samples highest; `weighted` holds (arm, reward, weight) of what is remembered."""
    samples = []
    for i in range(n_arms):
        own = [(clipped(reward), weight) for arm, reward, weight in weighted if arm == i]
        successes = math.fsum([prior[0], *(reward * weight for reward, weight in own)])
        failures = math.fsum([prior[1], *((1 - reward) * weight for reward, weight in own)])
        samples.append(beta_sample_logit(np.uint64(word(key, i)), successes, failures))
    return samples.index(max(samples))


def gaussian_choice(remembered, n_arms, sigma, key):
    """Return the arm that samples highest, those without a reward first; `remembered` holds (arm, reward)."""
    samples = []
    for i in range(n_arms):
        own = [reward for arm, reward in remembered if arm == i]
        if not own:
            return i
        samples.append(math.fsum(own) / len(own) + sigma / math.sqrt(len(own)) * normal(key, i))
    return samples.index(max(samples))


def discounted(history, gamma):
    """Return (arm, reward, weight): the last reward weighs 1, the one s rounds before it gamma^s."""
    return [(arm, reward, gamma**age) for age, (arm, reward) in enumerate(reversed(history))]
