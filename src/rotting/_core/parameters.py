"""Parameter objects: frozen dataclasses that check themselves and print as the call that makes them.

Policies and mean-reward curves are both "a name and some numbers". They share this base class so that bad
values are refused in one place, with one style of message, and so that `repr` can always be read back by
`rotting._core.parsing`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from rotting._core.validation import LARGEST_WHOLE, expectation, finite_number, whole_number
from rotting.errors import BadValue


def parameter(
    default: Any = dataclasses.MISSING,
    *,
    doc: str,
    above: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[Any, ...] | None = None,
    whole: bool = False,
    optional: bool = False,
    raw: bool = False,
) -> Any:
    """Declare one field of a `Parameters` class: its default, its meaning and what is allowed.

    Parameters
    ----------
    default
        The value when none is given; a field without one is required.
    doc
        One line for the tables that the command line prints.
    above, minimum, maximum
        Bounds: `value > above`, `minimum <= value <= maximum`.
    choices
        The allowed values, for a field that is not a number.
    whole
        The number must be an integer. A field annotated as `int` (or `int | None`) is, without saying so.
    optional
        `None` is allowed and means "not given".
    raw
        The class checks this field itself (sequences, problems, curves).
    """
    rules = {
        "doc": doc,
        "above": above,
        "minimum": minimum,
        "maximum": maximum,
        "choices": choices,
        "whole": whole,
        "optional": optional,
        "raw": raw,
    }
    return dataclasses.field(default=default, metadata=rules)


# Annotations that ask for whole numbers, as types and as the texts that postponed annotations are.
_WHOLE = (int, "int", int | None, "int | None")


@dataclasses.dataclass(frozen=True)
class Parameters:
    """A frozen, hashable, self-checking bundle of parameters."""

    _always_shown: ClassVar[int] = 1

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Dataclasses would write the names of functions that a class is defined in, which cannot be read back.
        if "__repr__" not in vars(cls):
            cls.__repr__ = Parameters.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        fields = [field for field in dataclasses.fields(self) if field.repr]
        return f"{type(self).__name__}({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in fields)})"

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            checked = _checked(type(self).__name__, field, getattr(self, field.name))
            object.__setattr__(self, field.name, checked)

    def __str__(self) -> str:
        """Return the short form: the first parameter and whatever differs from its default."""
        shown = [
            f"{field.name}={_short(getattr(self, field.name))}"
            for place, field in enumerate(dataclasses.fields(self))
            if (place < self._always_shown and getattr(self, field.name) is not None)
            or getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _checked(owner: str, field: dataclasses.Field[Any], value: Any) -> Any:
    """Return `value` as a plain Python number (or choice), or say what is wrong with it."""
    rules = field.metadata
    if not rules or rules["raw"] or (value is None and rules["optional"]):
        return value
    if rules["choices"] is not None:
        # `True == 1` in Python, so compare types too.
        if not any(value == choice and type(value) is type(choice) for choice in rules["choices"]):
            raise BadValue(f"is not one of {_listed(rules)}", owner=owner, name=field.name, value=value)
        return value
    if rules["whole"] or field.type in _WHOLE:
        least = rules["minimum"] if rules["above"] is None else math.floor(rules["above"]) + 1
        limits = {"minimum": least, "maximum": LARGEST_WHOLE if rules["maximum"] is None else rules["maximum"]}
        return whole_number(field.name, value, **limits, owner=owner, or_none=rules["optional"], from_float=True)
    bounds = {name: rules[name] for name in ("above", "minimum", "maximum")}
    return finite_number(field.name, value, **bounds, owner=owner, or_none=rules["optional"])


def accepted(rules: Mapping[str, Any]) -> str:
    """Say in words what a field accepts, for tables."""
    if rules["choices"] is not None:
        return f"one of {_listed(rules)}"
    bounds = {name: rules[name] for name in ("above", "minimum", "maximum")}
    kind = "a whole number" if rules["whole"] else "a finite number"
    return expectation(kind, **bounds, or_none=rules["optional"])


def _listed(rules: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, rules["choices"]))
