"""The random numbers: known values, distributions, and independence of streams.

Statistical checks use fixed seeds, so they always say the same. Their limits are such that a correct generator would
fail one of them for fewer than one seed in a million (the Gaussian beyond 4.9 standard errors, p-values below 1e-6).
"""

import itertools

import numpy as np
import pytest
from scipy import special, stats

from rotting._core.randomness import (
    CHOICE,
    NOISE,
    checked_seed,
    normal,
    normal_quantile,
    stream_key,
    uniform,
    word,
)

DRAWS = 100_000
ALMOST_NEVER = 1e-6
MASK = 2**64 - 1
GAMMA = 0x9E3779B97F4A7C15


def draws(function, key, count=DRAWS):
    return np.fromiter((function(key, n) for n in range(count)), np.float64, count)


def unshifted(z, shift):
    """Return x with x ^ (x >> shift) == z."""
    x = z
    for _ in range(64 // shift + 1):
        x = z ^ (x >> shift)
    return x


def key_for(wanted):
    """Return the key whose word number 0 is `wanted`, by running SplitMix64 backwards."""
    z = unshifted(wanted, 31)
    z = unshifted(z * pow(0x94D049BB133111EB, -1, 2**64) & MASK, 27)
    z = unshifted(z * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK, 30)
    return np.uint64((z - GAMMA) & MASK)


# Words


def test_words_are_those_of_splitmix64():
    """The published test vector for seed 1234567."""
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert [int(np.uint64(word(np.uint64(1234567), n))) for n in range(5)] == expected


def test_any_word_can_be_asked_for_directly():
    key = np.uint64(99)
    forwards = [word(key, n) for n in range(100)]
    assert [word(key, n) for n in reversed(range(100))] == forwards[::-1]
    # Far out, where the product n * gamma has wrapped around many times.
    far = 10**12
    assert word(key, far) == word(np.uint64((99 + far * GAMMA) & MASK), 0)


# Uniform numbers


@pytest.mark.parametrize(
    ("extreme", "expected"),
    [(0, 2.0**-53), (1, 2.0**-53), (2**12 - 1, 2.0**-53), (2**12, 3 * 2.0**-53), (MASK, 1 - 2.0**-53)],
)
def test_uniform_numbers_stay_strictly_between_0_and_1(extreme, expected):
    key = key_for(extreme)
    assert int(np.uint64(word(key, 0))) == extreme
    assert uniform(key, 0) == expected
    assert 0.0 < uniform(key, 0) < 1.0
    assert np.isfinite(normal(key, 0))


def test_extreme_normal_numbers_mirror_each_other():
    assert normal(key_for(0), 0) == -normal(key_for(MASK), 0) == pytest.approx(special.ndtri(2.0**-53), rel=1e-14)


def test_uniform_numbers_are_uniform():
    numbers = draws(uniform, stream_key(1, NOISE, 0, 0))
    assert stats.kstest(numbers, "uniform").pvalue > ALMOST_NEVER
    # All bits matter, not only the leading ones: the low half of the mantissa is uniform, too.
    low = (numbers * 2**26) % 1.0
    assert stats.kstest(low, "uniform").pvalue > ALMOST_NEVER
    counts = np.bincount((numbers * 256).astype(int), minlength=256)
    assert stats.chisquare(counts).pvalue > ALMOST_NEVER


# Normal numbers


def test_the_normal_quantile_is_that_of_scipy():
    centre = np.linspace(0.001, 0.999, 4001)
    tails = 2.0 ** -np.linspace(1.01, 53, 2000)
    edges = np.array([0.075, 0.925, np.nextafter(0.075, 0), np.nextafter(0.925, 1), np.exp(-25), 0.5 + 1e-9])
    for p in np.concatenate([centre[centre != 0.5], tails, 1 - tails[tails > 1e-15], edges]):
        assert normal_quantile(float(p)) == pytest.approx(special.ndtri(p), rel=1e-14, abs=0), p
    assert normal_quantile(0.5) == 0.0


def test_the_normal_quantile_increases_and_is_odd():
    p = np.sort(np.random.default_rng(0).random(5000))
    z = np.array([normal_quantile(x) for x in p.tolist()])
    assert np.all(np.diff(z) > 0)
    for x in (2.0**-53, 0.001, 0.0625, 0.25, 0.375):
        assert normal_quantile(1 - x) == -normal_quantile(x)


@pytest.mark.parametrize("key", [stream_key(7, NOISE, 3, 1), np.uint64(0), np.uint64(MASK)], ids=hex)
def test_normal_numbers_are_normal(key):
    numbers = draws(normal, key)
    assert stats.kstest(numbers, "norm").pvalue > ALMOST_NEVER
    limit = stats.norm.isf(ALMOST_NEVER / 2)
    # Moments 1 to 4 of N(0, 1), with the variances of z, z^2, z^3, z^4.
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(numbers**power) - mean) < limit * np.sqrt(variance / DRAWS), power


# Streams


def correlations(rows):
    return np.corrcoef(np.asarray(rows))


def test_neighbouring_streams_are_uncorrelated():
    count = 5000
    paths = list(itertools.product((0, 1), (NOISE, CHOICE), (0, 1, 2), (0, 1, 2)))
    derived = [draws(uniform, stream_key(*path), count) for path in paths]
    raw = [draws(uniform, np.uint64(key), count) for key in (0, 1, 2, 3, 2**63, 2**63 + 1)]
    matrix = correlations(derived + raw)
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    limit = stats.norm.isf(ALMOST_NEVER / (2 * len(pairs))) / np.sqrt(count)
    assert np.max(np.abs(pairs)) < limit
    # Together they are as spread out as independent ones: the sum of their squares is chi-squared.
    assert stats.chi2.sf(count * np.sum(pairs**2), len(pairs)) > ALMOST_NEVER


def test_streams_are_not_shifted_copies_of_each_other():
    """Every stream walks through the same cycle of words: two that start close to each other would overlap."""
    seen = {}
    for path in itertools.product(range(5), (NOISE, CHOICE), range(5), range(4)):
        for n in range(50):
            value = word(stream_key(*path), n)
            assert seen.setdefault(value, path) == path
    assert len(seen) == 5 * 2 * 5 * 4 * 50


def test_successive_numbers_are_uncorrelated():
    numbers = draws(normal, stream_key(5, NOISE, 0, 0))
    limit = stats.norm.isf(ALMOST_NEVER / 2 / 20) / np.sqrt(DRAWS)
    for lag in range(1, 21):
        assert abs(np.corrcoef(numbers[:-lag], numbers[lag:])[0, 1]) < limit, lag


def test_stream_keys_do_not_collide():
    keys = {
        int(stream_key(seed, purpose, run, arm))
        for seed, purpose, run, arm in itertools.product(range(10), (NOISE, CHOICE), range(25), range(20))
    }
    assert len(keys) == 10_000
    # Neither do paths of different lengths.
    shorter = {int(stream_key(seed, CHOICE, run)) for seed in range(10) for run in range(100)}
    assert len(shorter) == 1000
    assert not shorter & keys


def test_every_bit_of_a_seed_matters():
    seeds = [0, *(2**bit for bit in range(200)), 2**200 - 1]
    assert len({int(stream_key(seed, NOISE, 0, 0)) for seed in seeds}) == len(seeds)


def test_a_long_seed_is_not_a_short_one_with_a_longer_path():
    assert stream_key(2**64, 2, 3) != stream_key(0, 1, 2, 3)


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, [1], np.float64(1)], ids=repr)
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ValueError, match="expected a whole number >= 0 or None"):
        checked_seed(seed)


def test_seeds():
    assert checked_seed(0) == 0
    assert type(checked_seed(np.int64(3))) is int
    assert checked_seed(2**100) == 2**100
    assert len({checked_seed(None) for _ in range(10)}) == 10
