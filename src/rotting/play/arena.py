"""One thread's working memory: arrays that lie apart from those of other threads, and from each other.

Processors hand memory to each other in lines of 64 bytes, which some of them fetch in pairs. Small arrays of different
threads, side by side in one line, make every write wait for the other thread (false sharing). So all that a thread
writes while it plays lies in one buffer of its own, and words of a known content keep its arrays apart: whoever writes
beyond the end of an array is found out.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from rotting.play.loop import Reset
from rotting.problems.curve_kernels import CurveArrays
from rotting.problems.kernel import ProblemArrays

_APART = 128  # bytes between two arrays, at least
_WORD = 8
_GUARD = np.float64(0.123456789).view(np.int64)  # an ordinary number: whatever is added to it changes it


class Arena:
    """Copies of arrays in one buffer, with all that is needed to play run after run on them.

    Parameters
    ----------
    arrays
        Nested NamedTuples of arrays before the first round. Problems, curves and arrays that cannot be written are used
        as they are. Fields that are `written_first` (`rotting._core.defining`) are not reset: their content does not
        matter before the first round.
    """

    def __init__(self, arrays: tuple[Any, ...]):
        found: dict[int, tuple[np.ndarray, bool]] = {}
        for value in arrays:
            _collect(value, True, found)
        # What is reset comes first, so that one copy does it.
        ordered = sorted(found.values(), key=lambda each: not each[1])
        sizes = [-(-array.nbytes // _APART) * _APART + _APART for array, _ in ordered]
        *starts, end = itertools.accumulate(sizes, initial=_APART)
        room = np.zeros(end + _APART, np.uint8)
        skipped = -room.ctypes.data % _APART
        self._words = room[skipped : skipped + end].view(np.int64)
        views, guards = {}, np.ones(end // _WORD, bool)
        for (array, _), start in zip(ordered, starts, strict=True):
            first = start // _WORD
            own = slice(first, first - (-array.nbytes // _WORD))
            guards[own] = False
            view = self._words[own].view(np.uint8)[: array.nbytes].view(array.dtype).reshape(array.shape)
            if array.any():  # zeros cost no memory before they are written
                view[...] = array
            views[id(array)] = view
        self._guards = guards.nonzero()[0]
        self._words[self._guards] = _GUARD
        self.arrays = tuple(_moved(value, views) for value in arrays)
        count = sum(each[1] for each in ordered)
        dirty = self._words[: [*starts, end][count] // _WORD]
        self.reset = Reset(dirty, dirty.copy())

    def is_intact(self) -> bool:
        """Say whether nothing was written outside the arrays."""
        return bool((self._words[self._guards] == _GUARD).all())


def _collect(value: Any, reset: bool, found: dict[int, tuple[np.ndarray, bool]]) -> None:
    """Find all arrays that can be written, and whether they are to be reset."""
    if isinstance(value, tuple) and not isinstance(value, CurveArrays | ProblemArrays):
        first = getattr(type(value), "written_first", ())
        for name, part in zip(value._fields, value, strict=True):  # type: ignore[attr-defined]
            _collect(part, reset and name not in first, found)
    elif isinstance(value, np.ndarray) and value.flags.writeable:
        _, before = found.get(id(value), (value, False))
        found[id(value)] = value, before or reset


def _moved(value: Any, views: dict[int, np.ndarray]) -> Any:
    """Return the same tuples, of views."""
    if isinstance(value, tuple) and not isinstance(value, CurveArrays | ProblemArrays):
        return type(value)(*(_moved(part, views) for part in value))
    return views.get(id(value), value)
