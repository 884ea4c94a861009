"""Deadlines: until when a call may wait for other writers and for the database."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rotting._core.validation import finite_number
from rotting.bandit.errors import BadSettings, TimedOut
from rotting.errors import BadValue

DEFAULT_TIMEOUT = 30.0  # seconds
LONGEST_TIMEOUT = 1e6


_clock: Callable[[], float] = time.monotonic


@contextlib.contextmanager
def kept_by(clock: Callable[[], float]) -> Iterator[None]:
    """Let another clock say when deadlines are over, of this whole process: for worlds that are simulated."""
    global _clock
    before, _clock = _clock, clock
    try:
        yield
    finally:
        _clock = before


class Deadline:
    """A moment until which a call may wait; `timeout` is in seconds from now, None for the default.

    >>> Deadline(60.0).is_over()
    False
    """

    def __init__(self, timeout: float | None = None):
        self.timeout = DEFAULT_TIMEOUT if timeout is None else _checked(timeout)
        self.at = _clock() + self.timeout

    def remaining(self, grace: float = 0.0) -> float:
        """Return the seconds that are left, at least 0; or until so many seconds after the deadline."""
        return max(0.0, self.at + grace - _clock())

    def is_over(self) -> bool:
        """Say whether no time is left."""
        return _clock() >= self.at

    def error(self, waited_for: str, may_be_written: bool = False) -> TimedOut:
        """Return the error that the time is over."""
        error = TimedOut(
            f"no answer within {self.timeout:g} s: waited for {waited_for}; "
            + ("it is not known whether anything was written" if may_be_written else "nothing was written"),
            hint="the same reward, or the same {key} of decisions, may be given again",
        )
        error.may_be_written = may_be_written
        return error


def _checked(timeout: object) -> float:
    try:
        return finite_number("timeout", timeout, minimum=0.0, maximum=LONGEST_TIMEOUT)
    except BadValue as error:
        raise BadSettings.from_error(error) from None
