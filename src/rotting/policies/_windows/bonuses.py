"""What the proofs of `index_proofs` ask of a bonus, whatever it is: RAW-UCB's width / sqrt(h), or another one.

RAW-UCB's is given by a number, its width. Another one is given by a NamedTuple, whose class registers its answers here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from numba.extending import overload

from rotting._core.compiling import INLINED


class Bonus(NamedTuple):
    """The answers of a kind of bonus: plain functions, which are compiled."""

    # at(bonus, h): the bonus at window h, as the policy defines it.
    at: Callable[..., Any]
    # rises(bonus, h, g): two numbers, no more than h and g times the bonus there (h >= g), such that h times the bonus
    # lies above the straight line between them at all windows in between.
    rises: Callable[..., Any]
    # largest(bonus): no less than sqrt(h) times the bonus, at any window h.
    largest: Callable[..., Any]
    # recent(bonus, roots): an array and a factor; their product is no more than h times the bonus at windows
    # len(roots), ..., 2, 1, whose square roots are given.
    recent: Callable[..., Any]


def _root_at(bonus, h):
    return bonus / math.sqrt(h)


def _root_rises(bonus, h, g):
    return bonus * math.sqrt(h), bonus * math.sqrt(g)


def _root_largest(bonus):
    return bonus


def _root_recent(bonus, roots):
    return roots, bonus


_ROOT = Bonus(_root_at, _root_rises, _root_largest, _root_recent)
_KINDS: dict[type, Bonus] = {}


def register_bonus(kind: type, bonus: Bonus) -> None:
    """Make these the answers of NamedTuples of this class."""
    _KINDS[kind] = bonus


def bonus_at(bonus, h):
    """Return the bonus at window h (compiled code resolves this by the bonus's class; so does plain Python)."""
    return _KINDS.get(type(bonus), _ROOT).at(bonus, h)


def rises(bonus, h, g):
    """Return no more than h and g times the bonus at windows h >= g, with a straight line that is safe in between."""
    return _KINDS.get(type(bonus), _ROOT).rises(bonus, h, g)


def largest_of(bonus):
    """Return no less than sqrt(h) times the bonus, at any window."""
    return _KINDS.get(type(bonus), _ROOT).largest(bonus)


def recent_of(bonus, roots):
    """Return an array and a factor, whose product is no more than h times the bonus at the latest windows."""
    return _KINDS.get(type(bonus), _ROOT).recent(bonus, roots)


def _kind_of(bonus: Any) -> Bonus:
    return _KINDS.get(getattr(bonus, "instance_class", type(None)), _ROOT)


@overload(bonus_at, jit_options=INLINED)
def _bonus_at(bonus, h):
    return _kind_of(bonus).at


@overload(rises, jit_options=INLINED)
def _rises(bonus, h, g):
    return _kind_of(bonus).rises


@overload(largest_of, jit_options=INLINED)
def _largest_of(bonus):
    return _kind_of(bonus).largest


@overload(recent_of, jit_options=INLINED)
def _recent_of(bonus, roots):
    return _kind_of(bonus).recent
