"""HTTP connections that wait neither for ever nor for everything: a request's head has limits of time and size."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from rotting.serve.errors import HeadTooLarge
from rotting.serve.problems import problem_of
from rotting.serve.requests import encode

HEAD_SECONDS = 10.0  # in which the head of a request must arrive
LARGEST_HEAD = 1 << 14  # bytes; the time to parse a line that comes in pieces grows with its square


class PatientForAWhile(HttpToolsProtocol):  # type: ignore[misc,unused-ignore]
    """Closes a connection whose request does not arrive, or whose head does not end; uvicorn itself limits neither."""

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
            if self._outside_bodies >= LARGEST_HEAD:
                self._refuse_head()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a request's head."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """Stop waiting: from here on, the application has limits of its own."""
        self._stop_waiting()
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
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()

    def _refuse_head(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:  # else, a reply to the request before is on its way
            problem = problem_of(HeadTooLarge("the head is too large", expected=f"less than {LARGEST_HEAD} bytes"))
            body = encode(problem)
            head = b"content-type: application/problem+json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(
                body
            )
            self.transport.write(STATUS_LINE[problem.status] + head + body)
        self.transport.close()
