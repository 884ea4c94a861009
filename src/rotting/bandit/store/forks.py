"""Forks: no connection is inherited.

A SQLite connection that a child inherits makes the child believe that it holds locks which only its parent holds, even
for connections that it makes itself: when the parent closes its own, the child's writes are lost.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rotting.bandit.store.database import Database

_OPEN: weakref.WeakSet[Database] = weakref.WeakSet()
_FORKING = threading.Lock()
_LOCKED: list[Database] = []


def watch(database: Database) -> None:
    """Disconnect a database before every fork."""
    _OPEN.add(database)


def _before() -> None:
    _FORKING.acquire()
    for database in list(_OPEN):
        database.lock.acquire()
        _LOCKED.append(database)
        database.disconnect()


def _after() -> None:
    while _LOCKED:
        _LOCKED.pop().lock.release()
    _FORKING.release()


def _after_in_child() -> None:
    for database in _LOCKED:
        database.forget_other_threads()
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
