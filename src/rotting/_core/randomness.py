"""Random numbers as a pure function of where they are used.

Every random number is `word(key, n)`: the n-th output of SplitMix64 (Steele, Lea, Flood 2014) started at
`key`. There is no hidden state to advance, so the noise of arm i's n-th pull in run r depends on (seed, r, i, n)
and on nothing else: not on the policy, the thread, or what was drawn before.
"""

from __future__ import annotations

import math
import secrets

import numpy as np

from rotting._core.compiling import helper
from rotting._core.validation import whole_number

_GAMMA = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd: the Weyl increment of SplitMix64
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _12 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(12)

# What a stream is for; the first step on the path of `stream_key`.
NOISE, CHOICE, START, DELAY = 1, 2, 3, 4


@helper
def word(key, n):
    """Return the n-th 64-bit word (n = 0, 1, ...) of the stream that starts at `key`."""
    z = key + (np.uint64(n) + np.uint64(1)) * _GAMMA
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


@helper
def uniform(key, n):
    """Return the n-th uniform number of a stream, strictly between 0 and 1."""
    return (np.float64(word(key, n) >> _12) + 0.5) * 2.0**-52


@helper
def normal(key, n):
    """Return the n-th standard normal number of a stream."""
    return normal_quantile(uniform(key, n))


@helper
def normal_quantile(p):
    """Return z with P(N(0,1) <= z) = p, to about 1e-16 (Wichura 1988, algorithm AS 241).

    Turning one uniform number into one normal number keeps the n-th reward a function of n alone, which
    rejection methods would not, and costs about as much as three of them.
    """
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * _ratio_centre(r)
    r = math.sqrt(-math.log(min(p, 1.0 - p)))
    z = _ratio_shoulder(r - 1.6) if r <= 5.0 else _ratio_tail(r - 5.0)
    return z if q > 0.0 else -z


@helper
def _ratio_centre(r):
    top = 2.5090809287301226727e3
    for c in (
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ):
        top = top * r + c
    bottom = 5.2264952788528545610e3
    for c in (
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ):
        bottom = bottom * r + c
    return top / bottom


@helper
def _ratio_shoulder(r):
    top = 7.74545014278341407640e-4
    for c in (
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ):
        top = top * r + c
    bottom = 1.05075007164441684324e-9
    for c in (
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ):
        bottom = bottom * r + c
    return top / bottom


@helper
def _ratio_tail(r):
    top = 2.01033439929228813265e-7
    for c in (
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ):
        top = top * r + c
    bottom = 2.04426310338993978564e-15
    for c in (
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ):
        bottom = bottom * r + c
    return top / bottom


def stream_key(seed: int, *path: int) -> np.uint64:
    """Return the key of the stream found by walking `path` (purpose, run, arm, ...) from `seed`.

    Each step mixes thoroughly, so streams on neighbouring paths have nothing in common.

    >>> len({int(stream_key(seed, NOISE, run, arm)) for seed in range(9) for run in range(9) for arm in range(9)})
    729
    """
    mask = 2**64 - 1
    # A seed may be larger than one word.
    words = [seed & mask]
    while seed := seed >> 64:
        words.append(seed & mask)
    # Digits of pi, an arbitrary constant; long seeds start elsewhere, so that none equals a short one and a path.
    key = 0x243F6A8885A308D3 + len(words) - 1
    for step in (*words, *path):
        z = ((key ^ step) + int(_GAMMA)) & mask
        for shift, factor in ((30, int(_MIX_1)), (27, int(_MIX_2))):
            z = ((z ^ (z >> shift)) * factor) & mask
        key = z ^ (z >> 31)
    return np.uint64(key)


def stream_keys(key: np.uint64 | np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return what `stream_key` gives one step further on than `key`, for many steps at once.

    >>> keys = stream_keys(stream_key(7, NOISE), np.arange(3))
    >>> keys[2] == stream_key(7, NOISE, 2)
    np.True_
    """
    z = (key ^ steps.astype(np.uint64)) + _GAMMA
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


def checked_seed(seed: int | None) -> int:
    """Return a usable seed: the given whole number >= 0, or fresh entropy for None."""
    if seed is None:
        return secrets.randbits(63)
    return whole_number("seed", seed, minimum=0, or_none=True)
