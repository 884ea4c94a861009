"""The end of the process that writes: it carries out what others ask, and answers what they relay."""

from __future__ import annotations

import asyncio
import signal
import socket
from functools import partial
from typing import Any

from starlette.types import Message as Sent

from rotting.bandit import BanditError
from rotting.errors import RottingError
from rotting.serve.app import Application, settle
from rotting.serve.link import HELLO, Answered, Asked, Counted, Failure, Message, Messages, Relayed, Replied
from rotting.serve.problems import note
from rotting.serve.service import Options
from rotting.serve.together import Answer
from rotting.serve.writer import Writer


class Answering(Messages):
    """The writer's end of a connection: carries out what is asked, and answers requests over HTTP."""

    def __init__(self, writer: Writer, application: Application):
        self._writer = writer
        self._application = application
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        """Say that questions are answered."""
        super().connection_made(transport)
        self._writer.links.add(self)
        self.send(Answered(HELLO, []))

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave."""
        super().connection_lost(exc)
        self._writer.links.discard(self)

    def got(self, message: Message) -> None:
        """Begin to answer."""
        if isinstance(message, Asked):
            try:
                answer = self._writer.carrier.exchange(message.bandit, message.unpacked())
            except RottingError as error:
                self.send(Answered(message.number, Failure.of(error)))
            else:
                answer.add_done_callback(partial(self._answer, message.number))
        elif isinstance(message, Relayed):
            self._tasks.add(task := asyncio.create_task(self._reply(message)))
            task.add_done_callback(self._tasks.discard)
        elif isinstance(message, Counted):
            self._writer.metrics.others[message.process] = message.samples

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


async def answer_links(options: Options, meeting: socket.socket) -> None:
    """Answer those who connect at a socket; at SIGTERM, until they have gone."""
    writer, stop, loop = Writer(options, "writer"), asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    await writer.start()
    application = Application(writer, origins=())  # that some may read replies is said by whoever sends them
    server = await loop.create_unix_server(lambda: Answering(writer, application), sock=meeting)
    settle()
    await stop.wait()
    while writer.links:
        await asyncio.sleep(0.05)
    server.close()
    await writer.stop()
