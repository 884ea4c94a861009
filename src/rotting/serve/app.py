"""The ASGI application: finds the route, checks the key, reads the body, calls the handler, shows errors."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from rotting._core.isotonic import non_increasing_fit
from rotting.bandit import Bandit, BanditError, open_store, warm_up
from rotting.serve import api, health, ofrep
from rotting.serve.access import Access
from rotting.serve.bandits import Directory, Entry
from rotting.serve.errors import TooLarge, TooSlow
from rotting.serve.following import Follower
from rotting.serve.keys import Key, read_keys
from rotting.serve.metrics import Metrics
from rotting.serve.page import pages
from rotting.serve.page.changes import Changes
from rotting.serve.problems import note, problem_of, reply_headers, status_of
from rotting.serve.requests import LARGEST_BODY, encode
from rotting.serve.routing import JSON, Answer, Headers, Request, Router
from rotting.serve.writer import Writer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Result = TypeVar("Result")

BODY_SECONDS = 10.0  # in which a body must arrive
KEYS_SECONDS = 2.0  # after which a key that was added or revoked elsewhere is known here
READING_THREADS = 2
WARMED_BANDITS = 100  # opened and compiled before the first request
ROUTER = Router((*api.ROUTES, *ofrep.ROUTES, *health.ROUTES, *pages.ROUTES))
_ALWAYS: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with "no-referrer", browsers hide where forms come from
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"),
]


@dataclasses.dataclass(frozen=True)
class Options:
    """How to serve. `open_to_all`: whoever reaches the server needs no key while there is none."""

    url: str
    open_to_all: bool = True
    origins: tuple[str, ...] = ()
    rate_limit: float = 1000.0
    demo: bool = False
    workers: int = 1
    secret: bytes = dataclasses.field(default_factory=lambda: secrets.token_bytes(32), repr=False)


class Service:
    """Everything that a running server holds. What talks to the database does so outside the event loop."""

    writer: Writer
    follower: Follower

    def __init__(self, options: Options):
        self.options = options
        self.metrics = Metrics(str(os.getpid()) if options.workers > 1 else "")
        self.access = Access(options.open_to_all, options.rate_limit, options.origins, options.secret)
        self.store = open_store(options.url)  # for reading, by one thread at a time
        self.directory = Directory(self.store)
        self.changes = Changes()
        self._threads = ThreadPoolExecutor(READING_THREADS, "rotting-reader")
        self._tasks: list[asyncio.Task[None]] = []
        self.closing = False

    # Life.

    async def start(self) -> None:
        """Open the database and start the threads."""
        await self.in_thread(self._prepare)
        await self._read_keys()
        await self.refresh(at_once=True)
        loop = asyncio.get_running_loop()
        self.follower = Follower(
            self.options.url,
            self.directory,
            lambda name: _quietly(lambda: loop.call_soon_threadsafe(self.changes.note, name)),
        )
        self.writer = Writer(self.options.url, self.metrics, self.follower.want)
        self.metrics.watch(lambda: self.writer.waiting, lambda: list(self.follower.tallies.values()))
        for name in self.directory.names():
            self.follower.want(name)
        self._tasks.append(asyncio.create_task(self._keep_reading_keys()))
        await self.in_thread(lambda: non_increasing_fit([1.0]))  # imports what the first page would wait for
        for name in self.directory.names()[:WARMED_BANDITS]:
            with contextlib.suppress(BanditError):  # a damaged one is reported to those who ask for it
                bandit = await self.in_thread(partial(self.writer.get, name))
                await self.in_thread(partial(warm_up, bandit.policy))
        if self.options.demo:
            from rotting.serve.demo import live

            self._tasks.append(asyncio.create_task(live(self)))

    def _prepare(self) -> None:
        with self.store.lock:
            self.store.prepare()

    async def stop(self) -> None:
        """Carry out what waits, and end the threads."""
        self.closing = True
        self.changes.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self.writer.close)
        await asyncio.to_thread(self.follower.close)
        self._threads.shutdown(wait=True)
        self.store.close()

    async def _keep_reading_keys(self) -> None:
        while True:
            await asyncio.sleep(KEYS_SECONDS)
            try:
                await self._read_keys()
            except BanditError as error:
                note(error, "reading the keys")

    async def _read_keys(self) -> None:
        self.access.ring = await self.in_thread(lambda: read_keys(self.store))

    # What handlers need.

    async def in_thread(self, work: Callable[[], Result]) -> Result:
        """Return what a function returns that talks to the database."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call(self, bandit: str, work: Callable[[Bandit], Result]) -> Result:
        """Return what a function returns that looks at a bandit."""
        return await self.in_thread(lambda: work(self.writer.get(bandit)))

    async def refresh(self, at_once: bool = False) -> None:
        """Look which bandits there are."""
        await self.in_thread(lambda: self.directory.refresh(at_once))

    async def entry(self, bandit: str) -> Entry:
        """Return a bandit by its name."""
        if not self.directory.knows(bandit):
            await self.refresh()
        return self.directory.find(bandit)

    async def entry_of(self, decision: str) -> Entry:
        """Return the bandit of a decision."""
        if not self.directory.knows_decision(decision):
            await self.refresh()
        return self.directory.of_decision(decision)

    async def names(self, key: Key | None) -> list[str]:
        """Return the names of the bandits that a key may see."""
        await self.refresh()
        only = None if key is None else key.bandit
        return [name for name in self.directory.names() if only is None or name == only]

    async def is_ready(self) -> bool:
        """Say whether the database can be written."""

        def work() -> None:
            with self.store.lock:
                self.store.check_writable()

        try:
            await asyncio.wait_for(self.in_thread(work), 5.0)
        except (TimeoutError, BanditError) as error:
            note(error, "readyz") if isinstance(error, BanditError) else None
            return False
        return not self.closing

    # ASGI.

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._reply(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.start()
        except BanditError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _reply(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        path, request = "unknown", None
        shared = self.access.sharing(scope) if self.options.origins else []
        if shared and scope["method"] == "OPTIONS":
            await _send(Answer(204, headers=shared), send)
            return
        try:
            route, params = ROUTER.find(scope["method"], scope["raw_path"])
            path = route.path
            request = Request(scope, route, params)
            self.access.check(request)
            if scope["method"] not in ("GET", "HEAD"):
                request.body = await _read_body(request, receive)
            answer = await route.handler(self, request)
        except Exception as error:
            note(error, path)
            self.metrics.refused(type(error).__name__)
            answer = self._refusal(request, error)
        if shared and (request is None or request.route.style != "page"):
            answer = answer._replace(headers=[*answer.headers, *shared])
        await _send(answer, send)
        self.metrics.replied(path, scope["method"], answer.status, time.perf_counter() - began)

    def _refusal(self, request: Request | None, error: Exception) -> Answer:
        style = "problem" if request is None else request.route.style
        if request is not None and style == "ofrep":
            return ofrep.error_answer(request.params.get("key", ""), error)
        if request is not None and style == "page":
            return pages.error_answer(request, error)
        body = encode(problem_of(error))
        return Answer(status_of(error), body, b"application/problem+json", reply_headers(error))


async def _read_body(request: Request, receive: Receive) -> bytes:
    """Return the body, if it is small enough and arrives in time."""
    length = request.headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length) > LARGEST_BODY:
        raise _too_large()
    message = await _received(receive)
    body = message.get("body", b"")
    if not message.get("more_body"):
        return bytes(body)
    parts, size = [body], len(body)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while message.get("more_body"):
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise TooSlow("the client has gone")
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > LARGEST_BODY:
                    raise _too_large()
    except TimeoutError:
        raise TooSlow(f"the body took longer than {BODY_SECONDS:g} s") from None
    return b"".join(parts)


async def _received(receive: Receive) -> MutableMapping[str, Any]:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await receive()
    except TimeoutError:
        raise TooSlow(f"the body took longer than {BODY_SECONDS:g} s") from None


def _too_large() -> TooLarge:
    return TooLarge("the body is too large", expected=f"at most {LARGEST_BODY} bytes")


async def _send(answer: Answer, send: Send) -> None:
    headers = [*_ALWAYS, *answer.headers]
    if answer.status not in (204, 304):
        headers.append((b"content-type", answer.kind or JSON))
    body = answer.body
    if isinstance(body, bytes):
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": int(answer.status), "headers": headers})
        await send({"type": "http.response.body", "body": body})
        return
    await send({"type": "http.response.start", "status": int(answer.status), "headers": headers})
    await _send_parts(body, send)


async def _send_parts(parts: AsyncIterator[bytes], send: Send) -> None:
    async with contextlib.aclosing(parts) as open_parts:  # type: ignore[type-var]
        async for part in open_parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _quietly(call: Callable[[], object]) -> None:
    with contextlib.suppress(RuntimeError):  # the event loop has ended
        call()
