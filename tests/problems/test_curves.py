"""Every family of curves against its formula, and what curves say about themselves against their values."""

import bisect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import BadType, BadValue
from rotting.policies import CTO, parse_policy
from rotting.problems.curves import (
    Constant,
    Curve,
    Drop,
    Drops,
    Exponential,
    Growth,
    Linear,
    Logistic,
    Power,
    Sigmoid,
    Table,
    as_curve,
)
from rotting.problems.polynomial import Polynomial

checked = settings(deadline=None, max_examples=100, derandomize=True)
PLACES = np.array([0, 1, 2, 3, 5, 8, 40, 99, 100, 101, 999, 10**5, 10**7, 10**12])

values = st.floats(-100, 100)
positive = st.floats(0, 10)
places = st.integers(1, 60)


@st.composite
def start_and_floor(draw):
    low, high = sorted((draw(values), draw(values)))
    return high, low


constants = st.builds(Constant, values)
drop_curves = st.builds(Drop, values, values, places)
drops_curves = st.lists(places, max_size=5, unique=True).flatmap(
    lambda at: st.builds(Drops, st.lists(values, min_size=len(at) + 1, max_size=len(at) + 1), st.just(sorted(at)))
)
tables = st.builds(Table, st.lists(values, min_size=1, max_size=20))
linears = st.builds(lambda ends, slope: Linear(ends[0], slope, ends[1]), start_and_floor(), positive)
exponentials = st.builds(lambda ends, rate: Exponential(ends[0], rate, ends[1]), start_and_floor(), positive)
powers = st.builds(
    lambda ends, theta, step: Power(theta, step, *ends), start_and_floor(), positive, st.integers(1, 200)
)
logistics = st.builds(
    lambda ends, middle, width: Logistic(ends[0], middle, width, ends[1]),
    start_and_floor(),
    st.floats(0, 200),
    st.floats(0.01, 50),
)
falling_curves = st.one_of(constants, linears, exponentials, powers, logistics)
growths = st.builds(lambda ends, rate: Growth(ends[1], rate, ends[0]), start_and_floor(), positive)
sigmoids = st.builds(Sigmoid, positive, positive, st.floats(-50, 50))
any_curves = st.one_of(falling_curves, drop_curves, drops_curves, tables, growths, sigmoids)
polynomials = st.builds(Polynomial, st.lists(st.floats(-3, 3), min_size=1, max_size=6))


def formula(curve: Curve, n: int) -> float:
    """Return mu(n) as the documentation writes it."""
    match curve:
        case Constant(value):
            return value
        case Drop(before, after, at):
            return before if n < at else after
        case Drops(steps, at):
            return steps[bisect.bisect_right(at, n)]
        case Linear(start, slope, floor):
            return max(floor, start - slope * n)
        case Exponential(start, rate, floor):
            return floor + (start - floor) * math.exp(-rate * n)
        case Power(theta, step, start, floor):
            return floor + (start - floor) * (n // step + 1) ** -theta
        case Logistic(start, midpoint, width, floor):
            exponent = (n - midpoint) / width
            return floor + (start - floor) / (1 + math.exp(exponent)) if exponent < 700 else floor
        case Growth(start, rate, top):
            return top - (top - start) * math.exp(-rate * n)
        case Sigmoid(height, rate, midpoint):
            exponent = -rate * (n - midpoint)
            return height / (1 + math.exp(exponent)) if exponent < 700 else 0.0
        case Polynomial(coefficients):
            return math.fsum(c * n**j for j, c in enumerate(coefficients))
        case Table(entries):
            return entries[min(n, len(entries) - 1)]
    raise AssertionError(f"no formula for {curve!r}: add it")


def scale(curve: Curve) -> float:
    highest, lowest = curve.highest_and_lowest()
    return max(1.0, abs(highest), abs(lowest))


@checked
@given(any_curves)
def test_every_family_follows_its_formula(curve):
    expected = [formula(curve, n) for n in PLACES.tolist()]
    np.testing.assert_allclose(curve(PLACES), expected, rtol=0, atol=1e-12 * scale(curve))


def test_every_family_has_a_formula_here():
    package = {curve for curve in Curve.known.values() if curve.__module__.startswith("rotting.")}
    assert package == {Constant, Drop, Drops, Linear, Exponential, Power, Logistic, Table, Growth, Sigmoid, Polynomial}


@checked
@given(polynomials, st.floats(0, 3))
def test_polynomials_follow_their_formula_and_keep_to_their_bounds(curve, x):
    """They are evaluated at small numbers, such as recencies."""
    places = np.append(np.linspace(0.0, x, 50), x)
    values = curve.values_at(places)
    np.testing.assert_allclose(values, [formula(curve, place) for place in places.tolist()], rtol=0, atol=1e-9)
    highest, lowest = curve.highest_and_lowest_up_to(x)
    assert lowest - 1e-9 <= values.min() <= values.max() <= highest + 1e-9
    steps = np.diff(values)
    assert not curve.is_nonincreasing() or np.all(steps <= 1e-9)
    assert not curve.is_nondecreasing() or np.all(steps >= -1e-9)
    every_highest, every_lowest = curve.highest_and_lowest()
    assert every_lowest <= lowest + 1e-9
    assert every_highest >= highest - 1e-9


@checked
@given(any_curves)
def test_is_nondecreasing_says_what_the_values_show(curve):
    shown = curve(np.arange(300))
    if curve.is_nondecreasing():
        assert np.all(np.diff(shown) >= 0)
    elif isinstance(curve, Drop | Drops | Table):
        assert np.any(np.diff(shown) < 0)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        (Constant(0.3), {0: 0.3, 99: 0.3}),
        (Drop(before=1.0, after=0.4, at=3), {0: 1.0, 2: 1.0, 3: 0.4, 4: 0.4}),
        (Drop(before=1.0, after=0.4, at=0), {0: 0.4}),
        (Drops(values=(3.0, 2.0, 1.0), at=(2, 5)), {0: 3.0, 1: 3.0, 2: 2.0, 4: 2.0, 5: 1.0, 50: 1.0}),
        (Drops(values=(3.0,), at=()), {0: 3.0, 50: 3.0}),
        (Linear(start=1.0, slope=0.25, floor=0.5), {0: 1.0, 1: 0.75, 2: 0.5, 3: 0.5}),
        (Linear(start=1.0, slope=0.0), {0: 1.0, 10**9: 1.0}),
        (Exponential(start=1.0, rate=math.log(2)), {0: 1.0, 1: 0.5, 2: 0.25}),
        (Exponential(start=3.0, rate=math.log(2), floor=1.0), {0: 3.0, 1: 2.0, 2: 1.5}),
        (Power(theta=0.5, step=100), {0: 1.0, 99: 1.0, 100: 2**-0.5, 299: 3**-0.5, 300: 0.5}),
        (Power(theta=1.0, start=5.0, floor=1.0), {0: 5.0, 1: 3.0, 3: 2.0}),
        (Logistic(start=2.0, midpoint=10, width=3.0), {10: 1.0, 10**6: 0.0}),
        (Logistic(start=2.0, midpoint=1000, width=1.0, floor=1.0), {0: 2.0, 1000: 1.5, 10**6: 1.0}),
        (Table([3.0, 1.0, 2.0]), {0: 3.0, 1: 1.0, 2: 2.0, 3: 2.0, 10**12: 2.0}),
    ],
    ids=repr,
)
def test_values_by_hand(curve, expected):
    np.testing.assert_allclose(curve(list(expected)), list(expected.values()), rtol=0, atol=1e-15)


def test_curves_take_a_number_or_an_array_of_any_shape():
    curve = Table([3.0, 2.0, 1.0])
    assert curve(1) == 2.0
    assert type(curve(1)) is float
    assert curve([]).shape == (0,)
    np.testing.assert_array_equal(curve(np.array([[0, 1], [2, 3]])), [[3.0, 2.0], [1.0, 1.0]])
    np.testing.assert_array_equal(curve(range(3)), [3.0, 2.0, 1.0])


EVERY_FAMILY = [
    Constant(1.0),
    Drop(1.0, 0.0, 3),
    Drops((1.0, 0.5), (2,)),
    Linear(1.0, 0.1),
    Exponential(1.0, 0.1),
    Power(0.5),
    Logistic(1.0, 5.0, 1.0),
    Table((1.0, 2.0)),
    Growth(0.0, 0.1, 1.0),
    Sigmoid(1.0, 0.1, 5.0),
    Polynomial((1.0, -0.5)),
]


@pytest.mark.parametrize("curve", EVERY_FAMILY, ids=repr)
@pytest.mark.parametrize("n", [-5, -1, 2.5, math.nan, math.inf, 2**63, 10**30, -(10**30), "3", None])
def test_pulls_that_cannot_be_are_refused(curve, n):
    """Table((1., 2.))(-5) once returned what happened to lie in memory before the table."""
    for given_n in (n, [n], [0, n], np.array([[1, n]])):
        with pytest.raises(BadValue, match=r"^n=.*; expected a whole number >= 0") as caught:
            curve(given_n)
        assert caught.value.name == "n"


@pytest.mark.parametrize("curve", EVERY_FAMILY, ids=repr)
def test_pulls_may_be_floats_that_are_whole_and_very_large(curve):
    assert curve(3.0) == curve(3)
    np.testing.assert_array_equal(curve([0.0, 4.0]), curve([0, 4]))
    highest, lowest = curve.highest_and_lowest()
    assert lowest <= curve(2**63 - 1) <= highest


# What curves say about themselves


@checked
@given(any_curves)
def test_is_nonincreasing_says_what_the_values_show(curve):
    shown = curve(np.arange(300))  # beyond the last change of every curve that may increase
    falling = bool(np.all(np.diff(shown) <= 0))
    # Growth may be too slow to be seen.
    assert curve.is_nonincreasing() == falling or (isinstance(curve, Growth | Sigmoid) and falling)


@pytest.mark.parametrize("high", [1.0, 1e-300, -1e9])
def test_the_smallest_increase_is_noticed(high):
    up = float(np.nextafter(high, math.inf))
    for curve in (Drop(high, up, 5), Drops((high, up), (5,)), Table((high, up)), Table((2e9, high, up, -2e9))):
        assert not curve.is_nonincreasing()
    for curve in (Drop(up, high, 5), Drops((up, high), (5,)), Table((up, high)), Table((high, high))):
        assert curve.is_nonincreasing()


def test_a_step_that_is_never_seen_does_not_count():
    """With a change at pull 0, the first value is never paid: mu = 1 from the first pull on."""
    for curve in (Drop(before=0.0, after=1.0, at=0), Drops(values=(0.0, 1.0), at=(0,))):
        np.testing.assert_array_equal(curve(np.arange(5)), 1.0)
        assert curve.is_nonincreasing(), curve


@checked
@given(any_curves)
def test_no_value_leaves_the_stated_bounds(curve):
    highest, lowest = curve.highest_and_lowest()
    shown = curve(np.concatenate([np.arange(300), PLACES]))
    tolerance = 1e-13 * scale(curve)
    assert lowest - tolerance <= shown.min()
    assert shown.max() <= highest + tolerance
    # Tight, too: both bounds are reached, or come close far out.
    reached = np.append(shown, curve.limit())
    assert reached.max() == pytest.approx(highest, abs=tolerance)
    assert reached.min() == pytest.approx(lowest, abs=tolerance)


@checked
@given(any_curves)
def test_nothing_changes_after_the_last_change(curve):
    last = curve.last_change()
    if last == math.inf or last > 10**15:
        return
    after = curve(int(last) + np.arange(1, 50))
    np.testing.assert_array_equal(after, curve.limit())


@checked
@given(st.one_of(drop_curves, drops_curves, tables, linears, constants))
def test_curves_that_stop_changing_say_when(curve):
    assert curve.last_change() < math.inf


@pytest.mark.parametrize(
    "curve",
    [
        Exponential(start=2.0, rate=0.01, floor=-1.0),
        Power(theta=2.0, start=2.0, floor=-1.0),
        Logistic(start=2.0, midpoint=50, width=5.0, floor=-1.0),
    ],
    ids=repr,
)
def test_the_limit_is_where_the_curve_goes(curve):
    assert curve.last_change() == math.inf
    assert curve(10**9) == pytest.approx(curve.limit(), abs=1e-9)
    assert curve.limit() == -1.0


@pytest.mark.parametrize(
    "curve", [Exponential(2.0, 0.0, -1.0), Power(theta=0.0, start=2.0, floor=-1.0), Linear(2.0, 0.0, -1.0)], ids=repr
)
def test_without_a_decline_the_limit_is_the_start(curve):
    assert curve.limit() == curve(10**9) == 2.0
    assert curve.highest_and_lowest() == (2.0, 2.0)


# Construction


@checked
@given(any_curves)
def test_repr_can_be_read_back(curve):
    policy = CTO(curves=(curve,))
    assert parse_policy(repr(policy)).curves == (curve,)
    assert hash(parse_policy(repr(policy))) == hash(policy)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(float("nan")),
        lambda: Constant(float("inf")),
        lambda: Constant("1"),
        lambda: Drop(1.0, 0.0, -1),
        lambda: Drop(1.0, 0.0, 1.5),
        lambda: Drops((1.0, 0.5), (1, 2)),
        lambda: Drops((1.0,), (1,)),
        lambda: Drops((1.0, 0.5, 0.2), (2, 1)),
        lambda: Drops((1.0, 0.5, 0.2), (2, 2)),
        lambda: Drops((1.0, 0.5), (-1,)),
        lambda: Drops((1.0, 0.5), (1.5,)),
        lambda: Drops((1.0, float("nan")), (1,)),
        lambda: Drops("ab", (1,)),
        lambda: Linear(1.0, -0.1),
        lambda: Linear(1.0, 0.1, floor=2.0),
        lambda: Exponential(1.0, -0.1),
        lambda: Exponential(1.0, 0.1, floor=2.0),
        lambda: Power(-0.1),
        lambda: Power(0.1, step=0),
        lambda: Power(0.1, step=1.5),
        lambda: Power(0.1, start=0.0, floor=1.0),
        lambda: Logistic(1.0, 10.0, 0.0),
        lambda: Logistic(1.0, -1.0, 1.0),
        lambda: Logistic(1.0, 1.0, 1.0, floor=2.0),
        lambda: Table([]),
        lambda: Table([1.0, float("inf")]),
        lambda: Table([[1.0], [2.0]]),
        lambda: Table("abc"),
        lambda: Table(None),
        lambda: Drop(1.0, 0.0, 2**63),
        lambda: Drop(1.0, 0.0, 10**400),
        lambda: Power(0.1, step=2**60),
        lambda: Drops((1.0, 0.5), ("a",)),
        lambda: Drops((1.0, 0.5), 1),
    ],
)
def test_what_is_no_curve_is_refused(make):
    with pytest.raises(BadValue) as caught:
        make()
    # The message begins with the name of the curve.
    assert str(caught.value).startswith(tuple(Curve.known))


def test_numbers_and_sequences_stand_for_curves():
    assert as_curve(1) == as_curve(1.0) == as_curve(np.float32(1)) == Constant(1.0)
    assert as_curve([2, 1]) == as_curve(np.array([2.0, 1.0])) == Table((2.0, 1.0))
    curve = Drop(1.0, 0.0, 5)
    assert as_curve(curve) is curve


@pytest.mark.parametrize("wrong", [True, "x", b"x", None, {}, {1.0, 2.0}, 1j, object()])
def test_what_stands_for_no_curve_is_refused(wrong):
    with pytest.raises(
        BadType, match=r"^curve=.* is not a curve; expected a curve such as Drop\(1, 0, 100\), a number,"
    ):
        as_curve(wrong)


@pytest.mark.parametrize("function", [lambda n: 1, math.sqrt, Drop, np.exp])
def test_functions_are_refused_with_what_to_do(function):
    with pytest.raises(
        BadType,
        match=r"is a (function|class), which compiled code cannot call.*Table\(\[mu\(n\) for n in range\(horizon\)\]\)",
    ):
        as_curve(function)


@pytest.mark.parametrize("base", [Curve, Table, Drop])
def test_subclasses_elsewhere_that_bring_no_function_are_refused_when_they_are_defined(base):
    """Compiled code would not call what they define: they would silently be something else."""
    before = dict(Curve.known)
    with pytest.raises(BadType, match=r"Mine is a subclass of a curve.*put its values into a table: Table\("):

        class Mine(base):
            def __call__(self, n):
                return 7.0

    assert Curve.known == before
