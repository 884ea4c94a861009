"""HTTP connections that do not wait for ever: a request's head has limits of time and size.

uvicorn limits neither. It has an upper bound in pyproject.toml for this: tests/serve/test_uvicorn.py lists what
is used of it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 1 << 14  # bytes; the time to parse a line that comes in pieces grows with its square
_TOO_LARGE = b"HTTP/1.1 431 \r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class PatientForAWhile(HttpToolsProtocol):  # type: ignore[misc,unused-ignore]
    """Closes a connection whose request does not arrive, or whose head does not end."""

    _deadline: asyncio.TimerHandle | None = None
    _outside_bodies = 0  # bytes since a head, a part of a body or a request ended

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Parse what arrives, as long as heads, and trailers after bodies, are small."""
        while data and not self.transport.is_closing():
            room = LARGEST_HEAD - self._outside_bodies
            part, data = data[:room], data[room:]
            self._outside_bodies += len(part)
            super().data_received(part)
            if self._outside_bodies >= LARGEST_HEAD and not self.transport.is_closing():
                if self.cycle is None or self.cycle.response_complete:  # else, a reply is on its way
                    self.transport.write(_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a request's head."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """Stop waiting: from here on, the application has limits of its own."""
        self._wait(False)
        self._outside_bodies = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body, whose size the application limits."""
        self._outside_bodies = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Begin to count the next head."""
        self._outside_bodies = 0
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait(False)
        super().connection_lost(exc)

    def _wait(self, begin: bool = True) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        application: Any = self.config.app
        patience = application.service.options.patience
        self._deadline = self.loop.call_later(patience, self.transport.close) if begin else None
