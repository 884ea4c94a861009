"""The bounds that need numbers only: values worked out by hand, growth, refusals."""

import math

import pytest

from rotting.theory import (
    deterministic_lower_bound,
    eff_fewa_bound,
    fewa_bound,
    fewa_high_probability_bound,
    greedy_bound,
    high_probability_delta0,
    stochastic_lower_bound,
)

NUMBERS = {"n_arms": 4, "horizon": 100, "sigma": 0.5, "decay": 2.0}
CONFIDENCE = {"alpha": 4.0, "delta": 0.1}

BOUNDS = [
    (fewa_bound, NUMBERS),
    (eff_fewa_bound, NUMBERS),
    (fewa_high_probability_bound, NUMBERS | CONFIDENCE),
    (stochastic_lower_bound, {name: NUMBERS[name] for name in ("n_arms", "horizon", "sigma")}),
    (deterministic_lower_bound, {name: NUMBERS[name] for name in ("n_arms", "decay")}),
    (greedy_bound, {name: NUMBERS[name] for name in ("n_arms", "decay")}),
]


def test_theorem_1():
    # sqrt(K T) = 20, sqrt(ln 100) = 2.1459660: 13 * 0.5 * 24 * 2.1459660 + 16
    assert fewa_bound(4, 100, 0.5, 2.0) == pytest.approx(350.770702, abs=1e-5)


def test_corollary_5():
    # 68.2842712 + 4 = 72.2842712: 6.5 * 72.2842712 * 2.1459660 + 8
    assert eff_fewa_bound(4, 100, 0.5, 2.0) == pytest.approx(1016.277337, abs=1e-5)


def test_corollary_2():
    # delta0 = 0.2 / (pi^2 / 6); ln(100) - ln(delta0) / 4 = 5.1319547; K - 1 + sqrt(3 T) = 20.3205081
    delta0 = 1.2 / math.pi**2
    expected = 4 * math.sqrt(2 * 4 * 0.25 * (math.log(100) - math.log(delta0) / 4)) * 20.320508076 + 3 * 2.0
    assert fewa_high_probability_bound(4, 100, 0.5, 2.0, 4.0, 0.1) == pytest.approx(expected, abs=1e-6)
    assert expected == pytest.approx(266.4060, abs=1e-4)


def test_delta0():
    assert high_probability_delta0(alpha=4.0, delta=0.1) == pytest.approx(1.2 / math.pi**2)
    assert high_probability_delta0(alpha=6.0, delta=0.5) == pytest.approx(90 / math.pi**4)  # zeta(4)


def test_lower_bounds_and_greedy():
    assert stochastic_lower_bound(4, 100, 0.5) == pytest.approx(1.0)
    assert stochastic_lower_bound(400, 100, 0.5) == pytest.approx(5.0)  # T < sqrt(K T)
    assert deterministic_lower_bound(4, 2.0) == 3.0
    assert greedy_bound(4, 2.0) == 6.0
    assert greedy_bound(1, 2.0) == 0.0


def test_logarithm_is_never_negative():
    # delta0 = 1.8 / zeta(6) = 1.77 > 1, so ln(T / delta0^(1 / alpha)) < 0 at T = 1.
    assert fewa_high_probability_bound(3, 1, 1.0, 0.5, 8.0, 0.9) == 1.0


def test_without_noise_only_decay_is_left():
    assert fewa_bound(4, 100, 0.0, 2.0) == 16.0
    assert eff_fewa_bound(4, 100, 0.0, 2.0) == 8.0
    assert fewa_high_probability_bound(4, 100, 0.0, 2.0, **CONFIDENCE) == 6.0


@pytest.mark.parametrize(("bound", "arguments"), BOUNDS)
def test_bounds_grow_with_every_number(bound, arguments):
    for name in arguments.keys() & NUMBERS.keys():
        values = [bound(**arguments | {name: factor * arguments[name]}) for factor in (1, 2, 5, 50)]
        assert values == sorted(set(values)), name


def test_more_certainty_costs_more():
    values = [fewa_high_probability_bound(**NUMBERS, alpha=4.0, delta=delta) for delta in (0.5, 0.1, 0.001)]
    assert values == sorted(set(values))


def test_upper_bounds_lie_above_lower_bounds():
    for n_arms in (2, 10):
        for horizon in (1, 2, 100, 10**6):
            assert fewa_bound(n_arms, horizon, 1.0, 0.2) >= stochastic_lower_bound(n_arms, horizon, 1.0)
            assert fewa_bound(n_arms, horizon, 0.0, 0.2) >= deterministic_lower_bound(n_arms, 0.2)


BAD = {
    "n_arms": [
        (0, r"n_arms=0 is out of range; expected a whole number >= "),
        (2.5, r"n_arms=2\.5 is not a whole"),
    ],
    "horizon": [(0, r"horizon=0 is out of range"), (math.inf, r"horizon=inf is not a whole")],
    "sigma": [(-0.1, r"sigma=-0\.1 is out of range; expected a finite number >= 0"), (math.nan, "sigma=nan")],
    "decay": [(-1.0, r"decay=-1\.0 is out of range; expected a finite number >= 0"), (math.inf, "decay=inf")],
    "alpha": [(3.0, r"alpha=3\.0 is out of range; expected a finite number > 3"), (math.inf, "alpha=inf")],
    "delta": [
        (0.0, r"delta=0\.0 is out of range; expected a finite number > 0 and < 1"),
        (1.0, r"delta=1\.0"),
    ],
}


@pytest.mark.parametrize(("bound", "arguments"), [*BOUNDS, (high_probability_delta0, CONFIDENCE)])
def test_bad_numbers_are_refused(bound, arguments):
    for name in arguments:
        for value, message in BAD[name]:
            with pytest.raises(ValueError, match=message):
                bound(**arguments | {name: value})
        with pytest.raises(TypeError, match=f"{name}='many' is not a (whole )?number"):
            bound(**arguments | {name: "many"})


def test_one_arm_has_no_stochastic_lower_bound():
    with pytest.raises(ValueError, match=r"n_arms=1 is out of range; expected a whole number >= 2"):
        stochastic_lower_bound(1, 100, 1.0)
