"""The time of events. In a log it never runs backwards, and after a clock was ahead it goes on from there."""

from __future__ import annotations

import time

from rotting.bandit.core.events import LATEST_TIME
from rotting.bandit.errors import StorageError

# A log whose time is ahead of the clock runs so much more slowly than the clock, until they agree again.
HEALING = 0.1


class LogClock:
    """Turns the clock's time into the time of the next event.

    If a clock was once ahead, events have been written that lie in the future. Time then goes on from the last of them,
    nine tenths as fast as the clock, so that waits still end and the log and the clock meet again.

    >>> clock = LogClock()
    >>> clock.next_time(clock=1000.0, last=990.0)
    1000.0
    >>> clock.next_time(clock=1001.0, last=4600.0)  # an hour ahead
    4600.0
    >>> round(clock.next_time(clock=1011.0, last=4600.0))  # ten seconds later, by the clock
    4609
    """

    def __init__(self) -> None:
        self._ahead, self._since = 0.0, 0.0  # how far the log was ahead of the clock, and when, by the clock

    def next_time(self, clock: float, last: float) -> float:
        """Return the time of an event that is written now, after one at `last`."""
        ahead = max(0.0, self._ahead - HEALING * max(0.0, clock - self._since))
        if last - clock > ahead:
            ahead = last - clock
        self._ahead, self._since = ahead, clock
        return checked_time(max(last, clock + ahead))


def checked_time(at: float) -> float:
    """Return a time that a log can have; what could not be read again is not written."""
    if not 0.0 <= at < LATEST_TIME:
        raise StorageError(
            f"the clock says {at:.0f} seconds since 1970 ({time.strftime('%Y', time.gmtime(min(max(at, 0), 1e11)))})",
            value=at,
            expected=f"a time before {LATEST_TIME:.0f}",
            hint="set the clock",
        )
    return at
