"""A policy's choice among some of its arms: states in which only those arms exist."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rotting.policies._engine.history import History

if TYPE_CHECKING:
    from rotting.policies._engine.policy import Policy


def view_of(policy: Policy, state: Any, arms: Sequence[int]) -> Any:
    """Return a state in which only `arms` (increasing) exist, to be selected from; learning goes to the whole state.

    Whatever selecting writes to is copied, so the whole state stays as it is. Reward histories are shared.
    """
    return _view(state, _anatomy(policy), np.array(arms, np.int64))


def _view(part: Any, anatomy: tuple[Any, ...], arms: np.ndarray) -> Any:
    """Return the view of a state or of a part of it."""
    shared = isinstance(part, History)
    values = []
    for value, how in zip(part, anatomy, strict=True):
        if isinstance(how, int):
            values.append(value.take(arms, how))
        elif how is None:
            values.append(value if shared else value.copy())
        elif isinstance(how, _Notes):
            values.append(type(value)(*(array.copy() for array in how.blank)))
        else:
            values.append(_view(value, how, arms))
    view = type(part)(*values)
    if shared:
        view = view._replace(used=np.array([part.used[0], np.count_nonzero(view.pulls == 0)]))
    return view


class _Notes(NamedTuple):
    """A part of a state without a place per arm: notes from round to round, which may speak of other arms."""

    blank: Any  # as they are at first


@lru_cache(maxsize=256)
def _anatomy(policy: Policy) -> tuple[Any, ...]:
    """Return what each field of a state is: an axis with a place per arm, None without one, notes, or a part."""
    return _compared(policy.initial_state(2), policy.initial_state(3))


def _compared(two: Any, three: Any) -> tuple[Any, ...]:
    """Return the anatomy, from states of two and of three arms."""
    found: list[Any] = []
    for mine, other in zip(two, three, strict=True):
        if isinstance(mine, tuple):
            inner = _compared(mine, other)
            found.append(_Notes(mine) if all(how is None for how in inner) else inner)
        else:
            sizes = list(zip(mine.shape, other.shape, strict=True))
            found.append(sizes.index((2, 3)) if (2, 3) in sizes else None)
    return tuple(found)
