"""The ASGI application: Starlette, the table of routes, and everything that a running server holds."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from starlette import routing
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request as AnyRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rotting._core.isotonic import non_increasing_fit
from rotting.bandit import Bandit, BanditError, open_store, warm_up
from rotting.bandit.store import BanditRow
from rotting.serve import api, health, ofrep
from rotting.serve.access import Access
from rotting.serve.bandits import Directory, token_of
from rotting.serve.errors import NoSuchPage, WrongMethod
from rotting.serve.following import Follower
from rotting.serve.keys import Key, read_keys
from rotting.serve.lanes import Lane, Shared
from rotting.serve.metrics import Metrics
from rotting.serve.page import pages
from rotting.serve.problems import note, problem_reply
from rotting.serve.routing import Endpoint, Request, finished
from rotting.serve.writer import Writer

Result = TypeVar("Result")

READING_THREADS = 2  # for reports, logs, pages and administration, none of which must be quick
WARMED_BANDITS = 100  # opened and compiled before the first request
ROUTES = (*api.ROUTES, *ofrep.ROUTES, *health.ROUTES, *pages.ROUTES)
_DECISIONS = re.compile(api.ROUTES[0].path.replace("{bandit}", "([^/]+)").encode())


@dataclasses.dataclass(frozen=True)
class Options:
    """How to serve. `open_to_all`: whoever reaches the server needs no key while there is none."""

    url: str
    open_to_all: bool = True
    origins: tuple[str, ...] = ()
    rate_limit: float = 1000.0
    demo: bool = False
    workers: int = 1
    patience: float = 10.0  # seconds in which the head of a request must arrive, and its body
    keys_seconds: float = 1.0  # after which a key that was added or revoked elsewhere is known here
    longest_queue: int = 10_000  # requests that may wait for the database


class Service:
    """Everything that a running server holds. What talks to the database does so outside the event loop."""

    writer: Writer
    follower: Follower

    def __init__(self, options: Options, started: Callable[[], None] = lambda: None):
        self.options = options
        self._say_started = started
        self.metrics = Metrics(str(os.getpid()) if options.workers > 1 else "")
        self.access = Access(options.open_to_all, options.rate_limit, options.origins)
        self.quick = Lane(open_store(options.url))  # for keys and names, ...
        self.probing = Lane(open_store(options.url))  # ... for probes: neither waits for reports, nor for the other
        self.directory = Directory(self.quick.store)
        self.shared = Shared()
        self.making = asyncio.Lock()  # of whoever makes a bandit
        self.closing = False
        self._threads = ThreadPoolExecutor(READING_THREADS, "rotting-reader")
        self._tasks: list[asyncio.Task[None]] = []
        self._starlette = Starlette(
            routes=[routing.Route(each.path, Endpoint(self, each), methods=[each.method]) for each in ROUTES],
            middleware=[_sharing(options.origins)] if options.origins else [],
            exception_handlers={HTTPException: self._lost},
        )
        self._starlette.router.redirect_slashes = False
        self._decide = None if options.origins else Endpoint(self, api.ROUTES[0])

    # Life.

    async def start(self) -> None:
        """Open the database and start the threads."""
        await self.quick.run(lambda store: store.prepare())
        await self._read_keys()
        await self.refresh(at_once=True)
        self.follower = Follower(self.options.url, self.directory)
        self.writer = Writer(self.options.url, self.options.longest_queue, self.metrics, self.follower.want)
        self.metrics.watch(lambda: self.writer.waiting, self.follower)
        for name in self.directory.by_name:
            self.follower.want(name)
        self._tasks.append(asyncio.create_task(self._keep_reading_keys()))
        await self.in_thread(lambda: non_increasing_fit([1.0]))  # imports what the first page would wait for
        for name in list(self.directory.by_name)[:WARMED_BANDITS]:
            with contextlib.suppress(BanditError):  # a damaged one is reported to those who ask for it
                bandit = await self.in_thread(partial(self.writer.bandits.get, name))
                await self.in_thread(partial(warm_up, bandit.policy))
        if self.options.demo:
            from rotting.serve.demo import live

            self._tasks.append(asyncio.create_task(live(self)))

    async def stop(self) -> None:
        """Carry out what waits, and end the threads."""
        self.closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in (self.writer, self.follower, self.quick, self.probing):
            await asyncio.to_thread(each.close)
        await asyncio.to_thread(self._threads.shutdown)

    async def _keep_reading_keys(self) -> None:
        while True:
            await asyncio.sleep(self.options.keys_seconds)
            try:
                await self._read_keys()
            except BanditError as error:
                note(error, "reading the keys")

    async def _read_keys(self) -> None:
        self.access.ring = await self.quick.run(read_keys)

    # What handlers need.

    async def in_thread(self, work: Callable[[], Result]) -> Result:
        """Return what a function returns that may take long."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call(self, bandit: str, work: Callable[[Bandit], Result]) -> Result:
        """Return what a function returns that looks at a bandit."""
        return await self.in_thread(lambda: work(self.writer.bandits.get(bandit)))

    async def refresh(self, at_once: bool = False) -> None:
        """Look which bandits there are."""
        await self.quick.run(lambda store: self.directory.refresh(at_once))

    async def entry(self, bandit: str) -> BanditRow:
        """Return a bandit by its name."""
        if bandit not in self.directory.by_name:
            await self.refresh()
        return self.directory.find(bandit)

    async def entry_of(self, decision: str) -> BanditRow:
        """Return the bandit of a decision."""
        if token_of(decision) not in self.directory.by_token:
            await self.refresh()
        return self.directory.find_of(decision)

    async def names(self, key: Key | None) -> list[str]:
        """Return the names of the bandits that a key may see."""
        await self.refresh()
        only = None if key is None else key.bandit
        return [name for name in self.directory.by_name if only is None or name == only]

    # ASGI.

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Decisions, of which there are most by far, find their way without Starlette."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            path: bytes = scope["raw_path"]
            found = _DECISIONS.fullmatch(path) if self._decide and scope["method"] == "POST" else None
            if found and self._decide:
                scope["path_params"] = {"bandit": found[1].decode("latin-1")}
                await self._decide(scope, receive, send)
            else:
                scope["path"] = path.decode("latin-1")  # names are decoded when the path was split
                await self._starlette(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.start()
        except BanditError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        # Compilers and libraries leave some hundred thousand objects behind, which stay as long as the server does.
        # Without this, all clients wait a tenth of a second whenever the garbage collector looks at them.
        gc.collect()
        gc.freeze()
        self._say_started()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _lost(self, request: AnyRequest, error: Exception) -> Response:
        """Answer where there is nothing, or not for this method."""
        found: Endpoint | None = request.scope.get("endpoint")
        allowed = ", ".join(sorted(route.method for route in ROUTES if found and route.path == found.route.path))
        if not allowed:
            nothing = NoSuchPage("there is nothing at this address", hint="see /reference")
            return finished(self.refusal("unknown", None, nothing))
        wrong = WrongMethod("this method is not allowed here", expected=allowed)
        response = finished(self.refusal("unknown", None, wrong))
        response.headers["allow"] = allowed
        return response

    def refusal(self, path: str, request: Request | None, error: Exception) -> Response:
        """Return the reply to a request that failed, in the style of its route, and note it."""
        note(error, path)
        self.metrics.refused(type(error).__name__)
        if request is not None and request.route.style == "ofrep":
            return ofrep.error_reply(request.params.get("key", ""), error)
        if request is not None and request.route.style == "page":
            return pages.error_reply(request, error)
        return problem_reply(error)


def _sharing(origins: tuple[str, ...]) -> Middleware:
    """Return what lets pages of other sites read replies (CORS)."""
    return Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PUT", "PATCH"),
        allow_headers=("authorization", "content-type", "idempotency-key", "if-none-match", "x-api-key"),
        expose_headers=("etag", "retry-after"),
    )
