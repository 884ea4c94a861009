"""Gamma and Beta numbers as functions of a random key."""

from __future__ import annotations

import math

from rotting._core.compiling import helper
from rotting._core.randomness import normal, uniform, word


@helper
def log_gamma_sample(key, shape):
    """Return the logarithm of a Gamma(shape, 1) number (Marsaglia, Tsang 2000), from the stream at `key`.

    The logarithm, because for a small shape the number itself would often round to 0.
    """
    boost = 0.0
    if shape < 1.0:
        # Gamma(a) = Gamma(a + 1) U^(1/a). The bound keeps a difference of two such numbers defined.
        boost = max(math.log(uniform(key, 0)) / shape, -1e300)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    place = 1
    while True:
        x, u = normal(key, place), uniform(key, place + 1)
        place += 2
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        # The first test is cheap and nearly always settles it; the second is the exact one.
        if u < 1.0 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
            return math.log(d) + math.log(v) + boost


@helper
def beta_sample_logit(key, a, b):
    """Return ln(p / (1 - p)) for p from Beta(a, b): X / (X + Y) with X from Gamma(a) and Y from Gamma(b)."""
    return log_gamma_sample(word(key, 0), a) - log_gamma_sample(word(key, 1), b)
