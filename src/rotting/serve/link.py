"""Between processes: those that speak HTTP ask the one that writes, in messages that hold whatever waits."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import itertools
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Self

import msgspec
from msgspec import Struct

from rotting import bandit as library
from rotting import errors as general
from rotting.bandit import Choice, Decide, Outcome, Request, Reward, Shown, StorageError, TimedOut
from rotting.errors import NOT_GIVEN, RottingError, shown
from rotting.serve import errors
from rotting.serve.metrics import Samples
from rotting.serve.together import Answer, check_room

SILENCE = 11.0  # seconds after which a process that says nothing does not live; the database has ten
_MODULES = (general, library, errors)
_KINDS = {name: kind for module in _MODULES for name, kind in vars(module).items() if isinstance(kind, type)}
_REQUESTS: tuple[type[Any], ...] = (Shown, Reward, Decide)  # by how many fields they have, less one


class Failure(Struct):
    """An error: its class, if it is one of ours, and its fields."""

    kind: str
    fields: dict[str, Any]

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return what is sent of an error."""
        known = vars(error) if isinstance(error, RottingError) else {}
        fields = {name: value for name, value in known.items() if value is not NOT_GIVEN}
        if not isinstance(fields.get("value", ""), str | float | int):
            fields["value"] = shown(fields["value"])
        return cls(type(error).__name__, fields)

    def error(self) -> Exception:
        """Return the error."""
        error: Exception = _KINDS.get(self.kind, RuntimeError)()
        vars(error).update(self.fields)
        return error


class Hello(Struct, array_like=True, tag=6):
    """Whoever says this lives: it is said at the start, and in reply.

    With a `nonce`, questions are answered of who proves to know what the database holds.
    """

    nonce: bytes


class Proof(Struct, array_like=True, tag=7):
    """That somebody knows the secret of a bandit, without telling it."""

    token: str
    digest: bytes

    @classmethod
    def of(cls, token: str, secret: str, nonce: bytes) -> Self:
        """Return the proof for a nonce."""
        return cls(token, hmac.digest(secret.encode(), nonce, "sha256"))


class Asked(Struct, array_like=True, tag=0):
    """Requests to a bandit."""

    number: int
    bandit: str
    requests: list[list[Any]]

    @classmethod
    def of(cls, number: int, bandit: str, requests: Sequence[Request]) -> Self:
        """Return what is sent of some requests."""
        return cls(number, bandit, [_packed(each) for each in requests])

    def unpacked(self) -> list[Request]:
        """Return the requests."""
        return [_REQUESTS[len(parts) - 1](*parts) for parts in self.requests]


def _packed(request: Request) -> list[Any]:
    if isinstance(request, Decide):
        return [request.n, request.among, request.key]
    assert isinstance(request, Shown | Reward)
    return [request.decision] if isinstance(request, Shown) else [request.decision, request.value]


class Answered(Struct, array_like=True, tag=1):
    """What became of requests."""

    number: int
    outcomes: list[list[Choice] | bool | Failure] | Failure


class Relayed(Struct, array_like=True, tag=2):
    """A request over HTTP that the process that writes answers."""

    number: int
    method: str
    path: bytes
    query: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Replied(Struct, array_like=True, tag=3):
    """The reply to it."""

    number: int
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Counted(Struct, array_like=True, tag=4):
    """What a process that speaks HTTP has counted."""

    process: str
    samples: Samples


class Changed(Struct, array_like=True, tag=5):
    """There are other bandits than before."""


Message = Asked | Answered | Relayed | Replied | Counted | Changed | Hello | Proof
_decode = msgspec.msgpack.Decoder(list[Message]).decode
_encode = msgspec.msgpack.Encoder().encode


class Messages(asyncio.Protocol):
    """One end of a connection. What is to be sent in one turn of the event loop is sent together."""

    largest = 1 << 28  # bytes
    _transport: asyncio.Transport | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin with nothing."""
        self._transport, self._rest = transport, bytearray()
        self._to_send: list[Message] = []

    def connection_lost(self, exc: Exception | None) -> None:
        """Send nothing any more."""
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Take messages as they come, in pieces."""
        self._rest += data
        while len(self._rest) >= 4 and len(self._rest) >= (end := 4 + int.from_bytes(self._rest[:4], "big")):
            content = bytes(self._rest[4:end])
            del self._rest[:end]
            for message in _decode(content):
                self.got(message)
        if len(self._rest) > self.largest:
            self.close()

    def close(self) -> None:
        """End the connection."""
        if self._transport is not None:
            self._transport.abort()

    def got(self, message: Message) -> None:
        """Do what a message says."""
        raise NotImplementedError

    def send(self, message: Message) -> None:
        """Send a message soon."""
        if not self._to_send:
            asyncio.get_running_loop().call_soon(self._send)
        self._to_send.append(message)

    def _send(self) -> None:
        content, self._to_send = _encode(self._to_send), []
        if self._transport is not None:
            self._transport.write(len(content).to_bytes(4, "big") + content)


class Link(Messages):
    """A carrier that asks a process that writes. When it has ended, another may take its place.

    `connect` makes the connection, `changed` is called when there are other bandits, `prove` answers a nonce.
    """

    def __init__(
        self,
        connect: Callable[[Callable[[], Messages]], Awaitable[object]],
        changed: Callable[[], None] = lambda: None,
        prove: Callable[[bytes], Proof | None] = lambda nonce: None,
    ) -> None:
        self.waiting = 0
        self._connect, self._changed, self._prove = connect, changed, prove
        self._numbers = itertools.count()
        self._lost = asyncio.Event()
        self.answers = asyncio.Event()  # whoever is asked
        # What is asked: what will have the answer, and how many requests it is.
        self._asked: dict[int, tuple[asyncio.Future[Any], int]] = {}

    async def keep(self) -> None:
        """Connect, and whenever the connection is lost, again."""
        while True:
            with contextlib.suppress(OSError):
                self._lost.clear()
                await self._connect(lambda: self)
                await self._lost.wait()
            await asyncio.sleep(0.05)

    def connection_made(self, transport: Any) -> None:
        """Begin to listen."""
        super().connection_made(transport)
        self._heard = time.monotonic()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all who wait that their answers are lost."""
        super().connection_lost(exc)
        self._lost.set()
        self.answers.clear()
        self._fail(StorageError("the process that writes has ended"))

    def data_received(self, data: bytes) -> None:
        """Take note that somebody lives."""
        self._heard = time.monotonic()
        super().data_received(data)

    def lives(self, seconds: float = SILENCE) -> bool:
        """Say whether anything has been heard for so many seconds."""
        return self.answers.is_set() and time.monotonic() < self._heard + seconds

    def look(self) -> None:
        """Ask for a sign of life; without one for long, tell all who wait, and connect again."""
        if self._transport is None or time.monotonic() > self._heard + SILENCE:
            self._fail(TimedOut("the process that writes does not answer"))
            self.close()
        elif self.answers.is_set():
            self.send(Hello(b""))

    def _fail(self, error: StorageError) -> None:
        error.may_be_written = True
        for number in list(self._asked):
            self._tell(number, error)

    def _ask(self, message: Any, size: int) -> asyncio.Future[Any]:
        if self._transport is None:
            raise StorageError("the process that writes starts again")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[message.number] = answer, size
        self.waiting += size
        self.send(message)
        return answer

    def exchange(self, bandit: str, requests: Sequence[Request]) -> Answer:
        """Return what will have the outcomes of some requests, once they are durable."""
        check_room(self, requests)
        return self._ask(Asked.of(next(self._numbers), bandit, requests), len(requests))

    def relay(self, scope: Any, body: bytes) -> asyncio.Future[Replied]:
        """Return what will have the reply to a request over HTTP."""
        parts = scope["method"], scope["raw_path"], scope["query_string"], list(scope["headers"]), body
        return self._ask(Relayed(next(self._numbers), *parts), 0)

    def got(self, message: Message) -> None:
        """Give an answer to whoever asked."""
        if isinstance(message, Hello):
            proof = self._prove(message.nonce) if message.nonce else None
            if proof is not None:
                self.send(proof)
            if proof is None and message.nonce:
                self.close()  # and try again: nothing is known yet
            else:
                self.answers.set()
        elif isinstance(message, Changed):
            self._changed()
        elif isinstance(message, Replied):
            self._tell(message.number, message)
        elif isinstance(message, Answered):
            self._tell(message.number, _outcomes(message))

    def _tell(self, number: int, found: Any) -> None:
        answer, size = self._asked.pop(number, (None, 0))
        self.waiting -= size
        if answer is not None and not answer.done():
            answer.set_exception(found) if isinstance(found, Exception) else answer.set_result(found)


def _outcomes(message: Answered) -> Exception | list[Outcome]:
    if isinstance(message.outcomes, Failure):
        return message.outcomes.error()
    return [each.error() if isinstance(each, Failure) else each for each in message.outcomes]  # type: ignore[misc]
