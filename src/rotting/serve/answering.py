"""The end of the process that writes: it carries out what others ask, and answers what they relay."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp
from starlette.types import Message as Sent

from rotting.bandit import BanditError
from rotting.errors import RottingError
from rotting.serve.link import Answered, Asked, Counted, Failure, Hello, Message, Messages, Proof, Relayed, Replied
from rotting.serve.problems import note
from rotting.serve.together import Answer

if TYPE_CHECKING:
    from rotting.serve.writer import Writer

STRANGERS = 1024  # bytes that somebody may say who has not proved anything


class Answering(Messages):
    """The writer's end of a connection: carries out what is asked, and answers requests over HTTP."""

    def __init__(self, writer: Writer, application: ASGIApp | None = None):
        self._writer = writer
        self._application = application  # None: it is another host that asks
        self._carrier = writer.carrier if application else writer.together
        self._nonce = b"" if application else secrets.token_bytes(16)
        self.largest = STRANGERS if self._nonce else Messages.largest
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        """Say that questions are answered."""
        super().connection_made(transport)
        self._writer.links.add(self)
        self.send(Hello(self._nonce))

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave."""
        super().connection_lost(exc)
        self._writer.links.discard(self)

    def got(self, message: Message) -> None:
        """Begin to answer."""
        if self._nonce and not (isinstance(message, Proof) and self._is_right(message)):
            self.close()
        elif self._nonce:
            self._nonce, self.largest = b"", Messages.largest
        elif isinstance(message, Hello):
            self.send(message)
        elif isinstance(message, Asked):
            try:
                answer = self._carrier.exchange(message.bandit, message.unpacked())
            except RottingError as error:
                self.send(Answered(message.number, Failure.of(error)))
            else:
                answer.add_done_callback(partial(self._answer, message.number))
        elif isinstance(message, Relayed) and self._application is not None:
            self._tasks.add(task := asyncio.create_task(self._reply(message)))
            task.add_done_callback(self._tasks.discard)
        elif isinstance(message, Counted):
            self._writer.metrics.others[message.process] = message.samples

    def _is_right(self, proof: Proof) -> bool:
        row = self._writer.directory.by_token.get(proof.token)
        return row is not None and hmac.compare_digest(
            proof.digest, Proof.of(row.token, row.secret, self._nonce).digest
        )

    def _answer(self, number: int, answer: Answer) -> None:
        error = answer.exception()
        if isinstance(error, Exception):
            if not isinstance(error, RottingError):
                note(error, "writing")
            self.send(Answered(number, Failure.of(error)))
            return
        outcomes: Any = answer.result()
        failed = (Failure.of(each) if isinstance(each, BanditError) else each for each in outcomes)
        self.send(Answered(number, list(failed)))

    async def _reply(self, asked: Relayed) -> None:
        assert self._application is not None
        sent: list[Sent] = []

        async def receive() -> Sent:
            return {"type": "http.request", "body": asked.body}

        async def send(message: Sent) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": asked.method,
            "scheme": "http",
            "root_path": "",
            "raw_path": asked.path,
            "query_string": asked.query,
            "headers": asked.headers,
        }
        await self._application(scope, receive, send)
        start, *rest = sent
        body = b"".join(each["body"] for each in rest)
        self.send(Replied(asked.number, start["status"], start["headers"], body))
