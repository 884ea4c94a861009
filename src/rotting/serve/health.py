"""What machines ask about the server itself: is it alive, can it write, its metrics, its description."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rotting.serve.errors import NotAllowed
from rotting.serve.requests import Health, encode
from rotting.serve.routing import Answer, Request, Route

if TYPE_CHECKING:
    from rotting.serve.app import Service


async def livez(service: Service, request: Request) -> Answer:
    """Say that the server answers."""
    return Answer(200, encode(Health(status="ok")))


async def readyz(service: Service, request: Request) -> Answer:
    """Say whether the database can be written."""
    ready = await service.is_ready()
    return Answer(200 if ready else 503, encode(Health(status="ok" if ready else "failing")))


async def metrics(service: Service, request: Request) -> Answer:
    """Return the metrics for Prometheus, of all bandits: a key for one of them does not allow it."""
    if request.key is not None and request.key.bandit is not None:
        raise NotAllowed("this key is for one bandit, the metrics are of all", expected="a reader key for all bandits")
    return Answer(200, service.metrics.text(), b"text/plain; version=0.0.4; charset=utf-8")


async def openapi(service: Service, request: Request) -> Answer:
    """Return the description of the API."""
    return Answer(200, _document())


@lru_cache(maxsize=1)
def _document() -> bytes:
    from rotting.serve.app import ROUTER
    from rotting.serve.openapi import describe

    return encode(describe(ROUTER.routes))


ROUTES = (
    Route(method="GET", path="/livez", handler=livez, role=None, summary="Is the server alive?", replies={200: Health}),
    Route(
        method="GET",
        path="/readyz",
        handler=readyz,
        role=None,
        summary="Can the database be written?",
        replies={200: Health, 503: Health},
    ),
    Route(method="GET", path="/metrics", handler=metrics, role="reader"),
    Route(method="GET", path="/openapi.json", handler=openapi, role=None),
)
