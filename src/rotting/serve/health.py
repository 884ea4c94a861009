"""What machines ask about the server itself: is it alive, can it write, its metrics, its description."""

from __future__ import annotations

import asyncio
import secrets
from functools import lru_cache

from starlette.responses import Response

from rotting.bandit import BanditError, Event, Store
from rotting.bandit.store import BanditRow, Deadline
from rotting.serve.errors import NotAllowed
from rotting.serve.openapi import describe
from rotting.serve.problems import JSON, note
from rotting.serve.requests import Health, encode
from rotting.serve.routing import ROUTES, Request, route
from rotting.serve.writer import Writer

PATIENCE = 5.0  # seconds in which the database must be written
_ROOM = " " * (1 << 15)  # so much that no room left over in the database is enough for it


@route("GET", "/livez", None, here=True)
async def livez(request: Request) -> Health:
    """Say whether the server is alive."""
    return Health(status="ok")


@route("GET", "/readyz", None, 200, 503)
async def readyz(request: Request) -> tuple[int, Health]:
    """Say whether the database can be written."""
    service = request.service
    if service.closing or not await service.shared.get("readyz", lambda: _can_write(service)):
        return 503, Health(status="failing")
    return 200, Health(status="ok")


async def _can_write(service: Writer) -> bool:
    try:
        await asyncio.wait_for(service.probing.run(write_and_forget), PATIENCE)
    except TimeoutError:
        return False
    except BanditError as error:
        note(error, "readyz")
        return False
    return True


def write_and_forget(store: Store) -> None:
    """Write what a decision writes, the log of a bandit, durably, and delete it: a disk that is full must show.

    A connection that hangs keeps the next probe no longer than a caller of this one would wait. The name is one that no
    user's bandit has, and another each time: after a lost answer, the one before may still be there.
    """
    deadline = Deadline(PATIENCE)
    row = BanditRow(0, f"\n{secrets.token_hex(8)}", secrets.token_hex(5), "", _ROOM)
    row = store.add(row, [Event(1, "added", store.clock(), 0, name="probe")], deadline=deadline)
    store.delete_events(row.id, 1, 1, deadline=deadline)
    store.delete_rest(row.id, deadline=deadline)


@route("GET", "/metrics", "reader")
async def metrics(request: Request) -> Response:
    """Return the metrics for Prometheus, of all bandits: a key for one of them does not allow it."""
    if request.key is not None and request.key.bandit is not None:
        raise NotAllowed("this key is for one bandit, the metrics are of all", expected="a reader key for all bandits")
    text = await request.service.following.run(lambda store: request.service.metrics.text())
    return Response(text, media_type="text/plain; version=0.0.4")


@lru_cache(maxsize=1)
def _description(prefix: str) -> bytes:
    return encode(describe(ROUTES, prefix))


@route("GET", "/openapi.json", None)
async def openapi(request: Request) -> Response:
    """Return the description of the API."""
    return Response(_description(request.service.options.prefix), media_type=JSON)
