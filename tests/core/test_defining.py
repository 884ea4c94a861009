"""What classes that bring compiled functions have in common."""

import pytest

from rotting._core.defining import plain_function
from rotting.errors import PolicyDefinitionError


def scaled(factor: float):
    def value(numbers: list[float], n: int) -> float:
        """Return the value."""
        return factor * numbers[n]

    return value


def test_types_are_left_behind_as_numba_would_not_have_them():
    typed = scaled(2.0)
    plain = plain_function(PolicyDefinitionError, "Mine", "value", typed, ("numbers", "n"))
    assert plain.__annotations__ == {}
    assert (plain.__name__, plain.__qualname__, plain.__doc__) == ("value", typed.__qualname__, "Return the value.")
    assert plain([1.0, 3.0], 1) == 6.0
    assert typed.__annotations__  # the user's own stays as it is


def test_arguments_have_the_names_that_are_asked_for():
    with pytest.raises(PolicyDefinitionError, match=r"Mine: value=.*expected value\(numbers, k\)"):
        plain_function(PolicyDefinitionError, "Mine", "value", scaled(2.0), ("numbers", "k"))
