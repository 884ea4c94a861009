"""Arrays of whole numbers, checked (single numbers are checked by the tests of all that takes them)."""

import math

import numpy as np
import pytest

from rotting._core.validation import whole_numbers
from rotting.errors import BadType, BadValue


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (3, 3),
        (3.0, 3),
        ([], []),
        (range(3), [0, 1, 2]),
        ([0.0, 2.0**53], [0, 2**53]),
        (np.array([[1, 2]], np.uint8), [[1, 2]]),
        ([2**63 - 1], [2**63 - 1]),
        (np.array([1, 2], object), [1, 2]),
    ],
)
def test_whole_numbers_become_int64(values, expected):
    checked = whole_numbers("n", values, minimum=0)
    assert checked.dtype == np.int64
    assert checked.tolist() == expected


@pytest.mark.parametrize(
    "value", [-1, -1.0, 2.5, math.nan, math.inf, -math.inf, 2**63, 2.0**63, 10**30, 1e300, np.float32(0.5)]
)
def test_other_numbers_are_refused_by_value(value):
    for given in (value, [value], [[0, value], [1, 2]]):
        with pytest.raises(BadValue, match=r"^n=.* expected a whole number >= 0") as caught:
            whole_numbers("n", given, minimum=0)
        assert caught.value.name == "n"
        assert caught.value.value == value or math.isnan(value)


@pytest.mark.parametrize("value", ["7", None, True, [True], ["a"], 1j, {}, object()])
def test_what_is_no_number_is_a_type_error(value):
    with pytest.raises(BadType, match=r"^Drops: at=.* is not a whole number; expected a whole number >= 0"):
        whole_numbers("at", value, minimum=0, owner="Drops")


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(BadValue, match=r"n=\[\[1\], \[1, 2\]\] is not a regular array"):
        whole_numbers("n", [[1], [1, 2]], minimum=0)
