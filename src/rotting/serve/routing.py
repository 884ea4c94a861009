"""Routes: what is served where, to whom, and with which bodies. They answer requests and describe the API.

Starlette finds the route of a request. Names of bandits may hold any visible character, so paths are matched before
they are decoded: a bandit called `a/b` is at `/v1/bandits/a%2Fb`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast
from urllib.parse import unquote

import msgspec
from starlette import requests
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rotting.errors import literal, quoted
from rotting.serve.errors import BadBody, BadRequest, TooLarge, TooSlow, WrongContentType
from rotting.serve.keys import Key, Role
from rotting.serve.requests import LARGEST_BODY, encode

if TYPE_CHECKING:
    from rotting.serve.app import Service

JSON, HTML = "application/json", "text/html"
Parsed = TypeVar("Parsed")
_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with "no-referrer", browsers hide where forms come from
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"),
]


@dataclasses.dataclass(frozen=True, eq=False)
class Route:
    """One method of one path.

    `role` is what a key must allow (None: no key is needed). `replies` maps statuses to bodies, None for none; routes
    without any are not in the API's description. A handler returns a body, which is sent with the first of these
    statuses, a pair of a status and a body, or a response. `style` says how errors are shown. `query` has the
    parameters after the `?`, and `example` is a body.
    """

    method: str
    path: str
    handler: Callable[[Service, Request], Awaitable[Any]]
    role: Role | None
    body: Any = None
    replies: Mapping[int, Any] = dataclasses.field(default_factory=dict)
    example: object = None
    body_is_optional: bool = False
    takes_key: bool = False  # the header Idempotency-Key
    query: type[msgspec.Struct] | None = None
    kinds: tuple[str, ...] = (JSON,)
    style: Literal["problem", "ofrep", "page"] = "problem"

    @property
    def summary(self) -> str:
        """What it does, in a few words."""
        return (self.handler.__doc__ or "").partition("\n")[0].rstrip(".")


class Request(requests.Request):
    """A request that has found its route."""

    key: Key | None = None  # None: nobody needs one
    content = b""

    def __init__(self, scope: Scope, receive: Receive, route: Route):
        super().__init__(scope, receive)
        self.route = route
        self.params = {name: _unquoted(part) for name, part in scope["path_params"].items()}
        self._given: dict[bytes, bytes] = dict(scope["headers"])

    def header(self, name: bytes) -> str | None:
        """Return a header as a text."""
        value = self._given.get(name)
        return None if value is None else value.decode("latin-1")

    def only_header(self, name: bytes) -> str | None:
        """Return a header as a text; refuse two of it, since nothing says which of them is meant."""
        if len(self._given) < len(self.scope["headers"]) and len(self.headers.getlist(name.decode())) > 1:
            raise BadRequest(f"the header {name.decode()} is given more than once")
        return self.header(name)

    async def read(self, seconds: float) -> None:
        """Read the body, if it is small enough and arrives in time."""
        length, parts, size, more = self.header(b"content-length") or "0", [], 0, True
        try:
            async with asyncio.timeout(seconds):
                while more:
                    if size > LARGEST_BODY or not length.isdecimal() or int(length) > LARGEST_BODY:
                        raise TooLarge("the body is too large", expected=f"at most {LARGEST_BODY} bytes")
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise TooSlow("the client has gone")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    more = message.get("more_body", False) or size > LARGEST_BODY
        except TimeoutError:
            raise TooSlow(f"the body took longer than {seconds:g} s") from None
        self.content = b"".join(parts)

    def decoded(self, kind: type[Parsed]) -> Parsed:
        """Return the body, checked."""
        if not self.content and self.route.body_is_optional:
            return cast(Parsed, checked(kind, b"{}"))
        content_type = self.header(b"content-type") or ""
        if content_type.partition(";")[0].strip().lower() != JSON:
            raise WrongContentType(f"the content type {quoted(content_type)} is not JSON", expected=JSON)
        encoding = self.header(b"content-encoding") or "identity"
        if encoding.lower() != "identity":
            raise WrongContentType(f"the content encoding {quoted(encoding)} is not read", expected="identity")
        try:
            self.content.decode()  # the parser does not look at what it skips
        except UnicodeDecodeError:
            raise BadRequest("the body is not JSON: it is not UTF-8") from None
        return cast(Parsed, checked(kind, self.content))

    def query(self) -> Any:
        """Return the parameters after the `?`, checked."""
        try:
            return msgspec.convert(dict(self.query_params), self.route.query, strict=False)
        except msgspec.ValidationError as error:
            raise BadBody(literal(f"?{self.url.query}: {error}")) from None


class Endpoint:
    """Answers the requests of one route: checks the key, reads the body, calls the handler, shows errors."""

    def __init__(self, service: Service, route: Route):
        self.service = service
        self.route = route
        self._status = next(iter(route.replies), HTTPStatus.OK)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began, service, path = time.perf_counter(), self.service, self.route.path
        request = None
        try:
            request = Request(scope, receive, self.route)
            service.access.check(request)
            if scope["method"] not in ("GET", "HEAD"):
                await request.read(service.options.patience)
            response = self._response(await self.route.handler(service, request))
        except Exception as error:
            response = service.refusal(path, request, error)
        await finished(response)(scope, receive, send)
        service.metrics.replied(path, scope["method"], response.status_code, time.perf_counter() - began)

    def _response(self, found: Any) -> Response:
        if isinstance(found, Response):
            return found
        status, body = found if isinstance(found, tuple) else (self._status, found)
        return Response(status_code=status) if body is None else reply(status, body)


def reply(status: int, body: object, kind: str = JSON, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response that sends a body as JSON."""
    return Response(encode(body), status, headers, kind)


def finished(response: Response) -> Response:
    """Return a response with the headers that all have."""
    response.raw_headers += _ALWAYS
    return response


@lru_cache
def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return what decodes a kind of body, made once."""
    return msgspec.json.Decoder(kind)


def checked(kind: Any, content: bytes | msgspec.Raw) -> Any:
    """Return a body, or a part of one, as what it must be; whatever goes wrong is the mistake of its author."""
    try:
        return decoder(kind).decode(content)
    except msgspec.ValidationError as error:
        raise BadBody(literal(str(error))) from None
    except Exception as error:
        raise BadRequest(f"the body is not JSON: {literal(str(error))}") from None


def _unquoted(part: str) -> str:
    try:
        return unquote(part, errors="strict") if "%" in part else part
    except UnicodeDecodeError:
        raise BadRequest("the address is not UTF-8") from None
