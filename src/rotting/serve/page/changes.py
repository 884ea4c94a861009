"""Telling open pages that something has changed, at most once a second each."""

from __future__ import annotations

import asyncio


class Changes:
    """What has changed, for those who wait for it. All methods belong to the event loop."""

    def __init__(self) -> None:
        self._events: dict[str, asyncio.Event] = {}
        self.closed = False
        self.streams = 0  # pages that are open

    def note(self, bandit: str) -> None:
        """Wake those who wait for a bandit, and those who wait for any ("")."""
        for name in (bandit, ""):
            event = self._events.pop(name, None)
            if event is not None:
                event.set()

    async def wait(self, bandit: str, seconds: float) -> bool:
        """Wait until a bandit changes, so many seconds at most; say whether it did."""
        event = self._events.setdefault(bandit, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Wake everybody, for the last time."""
        self.closed = True
        for bandit in list(self._events):
            self.note(bandit)
