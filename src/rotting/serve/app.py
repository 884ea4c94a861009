"""The ASGI application: Starlette with all routes, around one hot path."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable

from starlette import routing
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rotting.bandit import BanditError
from rotting.serve import api, health, ofrep  # noqa: F401 - all have routes
from rotting.serve.errors import NoSuchPage, ServiceError, WrongMethod
from rotting.serve.page import pages  # noqa: F401 - so do these
from rotting.serve.problems import problem_reply
from rotting.serve.routing import ROUTES, Route, finished
from rotting.serve.service import Service

_DECISIONS = re.compile(api.DECISIONS.replace("{bandit}", "([^/]+)").encode())


class Application:
    """Answers requests with what a service holds; `started` is called when it is ready.

    `origins` are sites whose pages may read replies.
    """

    def __init__(
        self, service: Service, started: Callable[[], None] = lambda: None, origins: tuple[str, ...] | None = None
    ):
        self.service = service
        self._say_started = started
        self._prefix = f"{service.options.prefix}/".encode()
        origins = service.options.origins if origins is None else origins
        self._starlette = Starlette(
            routes=[routing.Route(each.path, each, methods=[each.method]) for each in ROUTES],
            middleware=[_sharing(origins)] if origins else [],
            exception_handlers={HTTPException: self._lost},
        )
        self._starlette.router.redirect_slashes = False
        decide = next(each for each in ROUTES if each.path == api.DECISIONS)
        self._decide = None if origins else decide  # else, Starlette's CORS must see it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Decisions, of which there are most by far, find their way without Starlette."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            scope["service"], path = self.service, scope["raw_path"]
            if path.startswith(self._prefix):
                path = path[len(self._prefix) - 1 :]
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
            await self.service.start()
        except BanditError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        settle()
        self._say_started()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.service.stop()
        await send({"type": "lifespan.shutdown.complete"})

    async def _lost(self, request: Request, error: Exception) -> Response:
        """Answer where there is nothing, or not for this method."""
        found: Route | None = request.scope.get("endpoint")
        allowed = ", ".join(sorted(each.method for each in ROUTES if found and each.path == found.path))
        lost: ServiceError = NoSuchPage("there is nothing at this address", hint="see /reference")
        if allowed:
            lost = WrongMethod("this method is not allowed here", expected=allowed)
        self.service.refused(lost, "unknown")
        response = finished(problem_reply(lost))
        response.headers.update({"allow": allowed} if allowed else {})
        return response


def settle() -> None:
    """Leave what is there to itself: libraries leave some hundred thousand objects, which stay as long as the server.

    Without this, all clients wait a tenth of a second whenever the garbage collector looks at them.
    """
    gc.collect()
    gc.freeze()


def _sharing(origins: tuple[str, ...]) -> Middleware:
    """Return what lets pages of other sites read replies (CORS)."""
    return Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PUT", "PATCH"),
        allow_headers=("authorization", "content-type", "idempotency-key", "if-none-match", "x-api-key"),
        expose_headers=("etag", "retry-after"),
    )
