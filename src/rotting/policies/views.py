"""A policy's choice among some of its arms: states in which only those arms exist."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.policies.history import History

if TYPE_CHECKING:
    from rotting.policies.base import Policy


def view_of(policy: Policy, state: Any, arms: Sequence[int]) -> Any:
    """Return a state in which only `arms` (increasing) exist, to be selected from; learning goes to the whole state.

    Whatever selecting writes to is copied, so the whole state stays as it is. Reward histories are shared.
    """
    blank, axes = _anatomy(policy)
    return _view(state, blank, axes, np.array(arms, np.int64), "")


def _view(part: Any, blank: Any, axes: dict[str, int], arms: np.ndarray, prefix: str) -> Any:
    """Return the view of a state or of a part of it. `blank` is that part of a fresh state."""
    shared = isinstance(part, History)
    values = []
    for name, value, fresh in zip(part._fields, part, blank, strict=True):
        path = prefix + name
        axis = axes.get(path)
        if axis is not None:
            value = value.take(arms, axis)
        elif not isinstance(value, tuple):
            value = value if shared else value.copy()
        elif any(other.startswith(path + ".") for other in axes):
            value = _view(value, fresh, axes, arms, path + ".")
        else:  # no place per arm: notes from round to round, which may speak of other arms
            value = type(fresh)(*(array.copy() for array in fresh))
        values.append(value)
    view = type(part)(*values)
    if shared:
        view = view._replace(used=np.array([part.used[0], np.count_nonzero(view.pulls == 0)]))
    return view


@lru_cache(maxsize=256)
def _anatomy(policy: Policy) -> tuple[Any, dict[str, int]]:
    """Return a fresh state, and the axis of each array of a state that has a place per arm along it."""
    blank = policy.initial_state(2)
    two, three = dict(_arrays(blank)), dict(_arrays(policy.initial_state(3)))
    axes = {
        name: axis
        for name in two
        for axis, sizes in enumerate(zip(two[name].shape, three[name].shape, strict=True))
        if sizes == (2, 3)
    }
    return blank, axes


def _arrays(part: Any, prefix: str = "") -> list[tuple[str, np.ndarray]]:
    found: list[tuple[str, np.ndarray]] = []
    for name, value in zip(part._fields, part, strict=True):
        found += _arrays(value, f"{prefix}{name}.") if isinstance(value, tuple) else [(prefix + name, value)]
    return found
