"""A policy's choice among some of its arms: states in which only those arms exist."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rotting._core.compiling import belongs_to_package
from rotting.errors import KernelError
from rotting.policies._contract.states import fresh_state
from rotting.policies._windows.history import History

if TYPE_CHECKING:
    from rotting.policies._contract.policy import Policy


def view_of(policy: Policy, state: Any, arms: Sequence[int]) -> Any:
    """Return a state in which only `arms` (increasing) exist, to be selected from; learning goes to the whole state.

    Whatever selecting writes to is copied, so the whole state stays as it is. Reward histories are shared.
    """
    return _view(state, _anatomy(policy), np.array(arms, np.int64))


def check_views(policy: Policy) -> None:
    """Refuse a user's policy that does not choose among some arms as if the others had never existed.

    Which array has a place per arm is seen from its shape. Numbers of arms in a state, or two arrays in one, would go
    wrong in silence, so a few games are played and compared.
    """
    if belongs_to_package(policy.State):
        return
    agent = policy.start(4)
    if len({agent.select_at(1, np.uint64(7)) for _ in range(4)}) > 1:
        problem = "select gives another arm when it is asked again"
        raise KernelError(problem, owner=str(policy), hint="remember in update: what select writes down is lost")
    if policy.shared_memory:
        return
    for rounds in (3, 20, 90):
        random = np.random.default_rng(rounds)
        arms, rewards = random.integers(0, 4, rounds), random.integers(0, 2, rounds).astype(float)
        whole = policy.start(4)
        whole.update_many(arms, rewards)
        for keep in ([1, 2, 3], [0, 2], [0, 1, 3]):
            among = np.isin(arms, keep)
            alone = policy.start(len(keep))
            alone.update_many(np.searchsorted(keep, arms[among]), rewards[among])
            if whole.select_among(keep, np.uint64(7))[0] != keep[alone.select_at(rounds + 1, np.uint64(7))]:
                raise KernelError(
                    "its choice among some of the arms depends on the others, or its state holds numbers of arms",
                    owner=str(policy),
                    expected="arrays with one place per arm (as long as there are arms), and nothing else about arms",
                    hint="shared_memory=True in the class line says that this is meant",
                )


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
    return _compared(fresh_state(policy, 2), fresh_state(policy, 3))


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
