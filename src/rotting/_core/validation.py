"""Numbers from users, checked: one way to refuse each kind, with one style of message."""

from __future__ import annotations

import math
import numbers
import operator

import numpy as np
import numpy.typing as npt

from rotting.errors import BadType, BadValue

LARGEST_WHOLE = 2**63 - 1
"""The largest whole number that compiled code can hold."""


def whole_number(
    name: str,
    value: object,
    minimum: int | None = None,
    maximum: int | None = None,
    *,
    owner: str | None = None,
    or_none: bool = False,
    from_float: bool = False,
) -> int:
    """Return a whole number within bounds as a plain int.

    Parameters
    ----------
    name, value, owner
        What messages call it, what was given, and what it is a parameter of (None: an argument).
    minimum, maximum
        The bounds, both allowed.
    or_none
        Whether messages should say that None would do, too (the caller handles it).
    from_float
        Whether a float such as 1000.0 counts.

    Examples
    --------
    >>> whole_number("runs", np.int64(3), minimum=1)
    3
    >>> whole_number("runs", 0, minimum=1)
    Traceback (most recent call last):
    rotting.errors.BadValue: runs=0 is out of range; expected a whole number >= 1
    """
    expected = expectation("a whole number", minimum=minimum, maximum=maximum, or_none=or_none)
    number: int | None = None
    if isinstance(value, float | np.floating) and from_float and math.isfinite(value) and value == int(value):
        number = int(value)
    elif not isinstance(value, bool | np.bool_):
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            number = None
    if number is None:
        kind = BadValue if isinstance(value, float | np.floating) else BadType
        raise kind("is not a whole number", owner=owner, name=name, value=value, expected=expected)
    if (minimum is not None and number < minimum) or (maximum is not None and number > maximum):
        raise BadValue("is out of range", owner=owner, name=name, value=value, expected=expected)
    return number


def whole_numbers(name: str, values: npt.ArrayLike, minimum: int, *, owner: str | None = None) -> npt.NDArray[np.int64]:
    """Return an array of whole numbers >= minimum, of any shape; floats such as 3.0 count.

    >>> whole_numbers("rounds", [1, 2.0], minimum=1)
    array([1, 2])
    >>> whole_numbers("rounds", [1, -2], minimum=1)
    Traceback (most recent call last):
    rotting.errors.BadValue: rounds=-2 is out of range; expected a whole number >= 1 and <= 9223372036854775807
    """

    def checked(value: object) -> int:
        return whole_number(name, value, minimum, LARGEST_WHOLE, owner=owner, from_float=True)

    try:
        given = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise BadValue("is not a regular array", owner=owner, name=name, value=values) from None
    if given.dtype.kind not in "iuf":
        return np.array([checked(value) for value in given.ravel().tolist()], np.int64).reshape(given.shape)
    if given.dtype.kind == "f":  # 2^63 is the first float that is too large
        good = (given >= minimum) & (given < 2.0**63) & (given == np.floor(given))
    else:
        good = (given >= minimum) & (given <= LARGEST_WHOLE)
    bad = given[~good]
    if bad.size:
        checked(bad[0].item())
    return given.astype(np.int64)


def finite_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    below: float | None = None,
    owner: str | None = None,
    or_none: bool = False,
) -> float:
    """Return a finite number within bounds as a plain float; parameters as in `whole_number`.

    >>> finite_number("alpha", -1, above=0, owner="FEWA")
    Traceback (most recent call last):
    rotting.errors.BadValue: FEWA: alpha=-1 is out of range; expected a finite number > 0
    """
    expected = expectation(
        "a finite number", above=above, minimum=minimum, maximum=maximum, below=below, or_none=or_none
    )
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise BadType("is not a number", owner=owner, name=name, value=value, expected=expected)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    inside = (
        math.isfinite(number)
        and (above is None or number > above)
        and (minimum is None or number >= minimum)
        and (maximum is None or number <= maximum)
        and (below is None or number < below)
    )
    if not inside:
        raise BadValue("is out of range", owner=owner, name=name, value=value, expected=expected)
    return number


def expectation(
    kind: str,
    *,
    above: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    below: float | None = None,
    or_none: bool = False,
) -> str:
    """Say in words what is accepted.

    >>> expectation("a finite number", above=0, maximum=1)
    'a finite number > 0 and <= 1'
    """
    bounds = [
        f"{sign} {bound:g}" if isinstance(bound, float) else f"{sign} {bound}"
        for sign, bound in ((">", above), (">=", minimum), ("<=", maximum), ("<", below))
        if bound is not None
    ]
    return f"{kind} {' and '.join(bounds)}".rstrip() + (" or None" if or_none else "")
