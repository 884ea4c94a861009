"""Forks: no connection is inherited.

A SQLite connection that a child inherits makes the child believe that it holds locks which only its parent holds, even
for connections that it makes itself: when the parent closes its own, the child's writes are lost.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rotting.bandit.store.connection import Connected

_OPEN: weakref.WeakSet[Connected] = weakref.WeakSet()
_FORGETFUL: weakref.WeakSet[Forgetful] = weakref.WeakSet()
_FORKING = threading.Lock()
_LOCKED: list[Connected] = []


class Forgetful(Protocol):
    """What knows other threads: in a child, they are the parent's."""

    def forget_other_threads(self) -> None:
        """Forget them."""
        ...


def watch(store: Connected) -> None:
    """Disconnect a store before every fork."""
    _OPEN.add(store)


def in_child(knows: Forgetful) -> None:
    """Let something forget other threads in a child, after a fork, as long as it is there."""
    _FORGETFUL.add(knows)


def _before() -> None:
    _FORKING.acquire()
    for store in list(_OPEN):
        store.lock.acquire()
        _LOCKED.append(store)
        store.disconnect()


def _after() -> None:
    while _LOCKED:
        _LOCKED.pop().lock.release()
    _FORKING.release()


def _after_in_child() -> None:
    for each in list(_FORGETFUL):
        each.forget_other_threads()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
