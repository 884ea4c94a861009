"""A policy's choice among some of its arms: states in which only those arms exist."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting.policies.history import History

if TYPE_CHECKING:
    from rotting.policies.base import Policy


def view_of(policy: Policy, state: Any, arms: Sequence[int]) -> Any:
    """Return a state in which only `arms` (increasing) exist, to be selected from; learning goes to the whole state.

    Whatever selecting writes to is copied, so the whole state stays as it is. Reward histories are shared.
    """
    return _view(state, policy.initial_state(len(arms)), _arm_axes(policy), np.asarray(arms, np.int64), "")


def _view(part: Any, blank: Any, axes: dict[str, int], arms: np.ndarray, prefix: str) -> Any:
    """Return the view of a state or of a part of it. `blank` is that part of a fresh state."""
    if not any(name.startswith(prefix) for name in axes):
        return blank  # no place per arm: notes from round to round, which may speak of other arms
    shared = isinstance(part, History)
    values = []
    for name, value, fresh in zip(part._fields, part, blank, strict=True):
        axis = axes.get(prefix + name)
        if isinstance(value, tuple):
            value = _view(value, fresh, axes, arms, f"{prefix}{name}.")
        elif axis is not None:
            value = np.ascontiguousarray(value.take(arms, axis))
        elif not shared:
            value = value.copy()
        values.append(value)
    view = type(part)(*values)
    if shared:
        view = view._replace(used=np.array([part.used[0], np.count_nonzero(view.pulls == 0)]))
    return view


@cache
def _arm_axes(policy: Policy) -> dict[str, int]:
    """Return, for every array of a policy's state that has a place per arm, the axis along which it has."""
    two, three = dict(_arrays(policy.initial_state(2))), dict(_arrays(policy.initial_state(3)))
    return {
        name: axis
        for name in two
        for axis, sizes in enumerate(zip(two[name].shape, three[name].shape, strict=True))
        if sizes == (2, 3)
    }


def _arrays(part: Any, prefix: str = "") -> list[tuple[str, np.ndarray]]:
    found: list[tuple[str, np.ndarray]] = []
    for name, value in zip(part._fields, part, strict=True):
        found += _arrays(value, f"{prefix}{name}.") if isinstance(value, tuple) else [(prefix + name, value)]
    return found
