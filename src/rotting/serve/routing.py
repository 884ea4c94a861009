"""Routes: what is served where, to whom, and with which bodies. They answer requests and describe the API.

Starlette finds the route of a request. Names of bandits may hold any visible character, so paths are matched before
they are decoded: a bandit called `a/b` is at `/v1/bandits/a%2Fb`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeVar, get_args, get_type_hints
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette import requests
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rotting.bandit import Key
from rotting.errors import literal, quoted
from rotting.serve.errors import BadBody, BadRequest, TooLarge, TooSlow, WrongContentType
from rotting.serve.keys import Role
from rotting.serve.problems import JSON, problem_reply, reply
from rotting.serve.requests import LARGEST_BODY
from rotting.serve.writer import Writer

Handler = TypeVar("Handler", bound=Callable[..., Awaitable[Any]])
Style = Literal["problem", "ofrep", "page"]
_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with "no-referrer", browsers hide where forms come from
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"),
]


class Request(requests.Request):
    """A request that has found its route. `params` are the parts of its path."""

    key: Key | None = None  # None: nobody needs one
    content = b""

    def __init__(self, scope: Scope, receive: Receive, route: Route):
        super().__init__(scope, receive)
        self.service: Writer = scope["service"]  # or less, on routes that are answered here
        self.route = route
        self.params: dict[str, str] = scope["path_params"]
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
        declared, content = int(self.header(b"content-length") or 0), bytearray()
        more = declared <= LARGEST_BODY
        try:
            async with asyncio.timeout(seconds):
                while more and len(content) <= LARGEST_BODY:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise TooSlow("the client has gone")
                    content += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            raise TooSlow(f"the body took longer than {seconds:g} s") from None
        if declared > LARGEST_BODY or len(content) > LARGEST_BODY:
            raise TooLarge("the body is too large", expected=f"at most {LARGEST_BODY} bytes")
        self.content = bytes(content)

    def decoded(self, kind: Any) -> Any:
        """Return the body, checked."""
        if self.route.style == "page":
            return _converted("the form", self.content, kind)
        content_type = self.header(b"content-type") or ""
        if content_type != JSON and content_type.partition(";")[0].strip().lower() != JSON:
            raise WrongContentType(f"the content type {quoted(content_type)} is not JSON", expected=JSON)
        encoding = self.header(b"content-encoding") or "identity"
        if encoding.lower() != "identity":
            raise WrongContentType(f"the content encoding {quoted(encoding)} is not read", expected="identity")
        try:
            self.content.decode()  # the parser does not look at what it skips
        except UnicodeDecodeError:
            raise BadRequest("the body is not JSON: it is not UTF-8") from None
        return checked(kind, self.content)


@dataclasses.dataclass(frozen=True, eq=False)
class Route:
    """One method of one path, as an ASGI application: checks the key, reads the body, calls the handler, shows errors.

    `role` is what a key must allow (None: no key is needed). The handler is called with the request, with the parts of
    the path and, where it has arguments of these names, with `body` (which may be absent if it has a default) and the
    parameters after the `?` as `query`; both are of the kinds that its annotations say. It returns a body, which is
    sent with the first of `statuses`, a pair of one of them and a body, or a response. One that returns nothing but
    responses is not in the API's description. `refuse` shows errors in its `style`; the body
    of a page is a form.
    """

    method: str
    path: str
    role: Role | None
    handler: Callable[..., Awaitable[Any]]
    statuses: tuple[int, ...] = (200,)
    example: object = None  # of the body
    described_body: Any = None  # where it is described otherwise than it is read
    takes_key: bool = False  # the header Idempotency-Key
    here: bool = False  # where several processes speak HTTP: whichever is asked answers, not the one that writes
    kinds: tuple[str, ...] = (JSON,)  # media types of replies
    style: Style = "problem"
    refuse: Callable[[Exception, Request], Response] = problem_reply

    @cached_property
    def types(self) -> dict[str, Any]:
        """What the handler's annotations say, by the names of its arguments and `return`."""
        return get_type_hints(self.handler, include_extras=True)

    @property
    def is_described(self) -> bool:
        """Whether it is in the API's description."""
        return self.types["return"] is not Response

    @property
    def body(self) -> Any:
        """The kind of its body, as it is described."""
        return self.described_body or self.types.get("body")

    @property
    def body_is_optional(self) -> bool:
        """Whether its body may be absent."""
        return bool(self.handler.__defaults__)

    @property
    def reply(self) -> Any:
        """The kind of its replies, None where they have no body."""
        returned = self.types["return"]
        kinds = (each for each in (returned, *get_args(returned)) if hasattr(each, "__struct_fields__"))
        return next(kinds, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began, request, method = time.perf_counter(), Request(scope, receive, self), scope["method"]
        service, given = request.service, {}
        relay = None if self.here or service.link is None else service.link.relay
        try:
            request.params = {name: _unquoted(part) for name, part in request.params.items()}
            if relay is None:
                service.access.check(request)
            if method not in ("GET", "HEAD"):
                await request.read(service.options.patience)
            if relay is not None:
                replied = await relay(scope, request.content)
                response = Response(replied.body, replied.status)
                response.raw_headers = replied.headers
                await response(scope, receive, send)
                return
            if "body" in self.types and (request.content or not self.body_is_optional):
                given["body"] = request.decoded(self.types["body"])
            if "query" in self.types:
                given["query"] = _converted(f"?{request.url.query}", scope["query_string"], self.types["query"])
            response = self._response(await self.handler(request, **request.params, **given))
        except Exception as error:
            service.refused(error, self.path)
            response = self.refuse(error, request)
        await finished(response)(scope, receive, send)
        service.metrics.replied(self.path, method, response.status_code, time.perf_counter() - began)

    def _response(self, found: Any) -> Response:
        """Return the response that a handler returned, or that sends the body that it did."""
        if isinstance(found, Response):
            return found
        status, body = found if isinstance(found, tuple) else (self.statuses[0], found)
        return Response(status_code=status) if body is None else reply(status, body)


ROUTES: list[Route] = []


def route(method: str, path: str, role: Role | None, *statuses: int, **options: Any) -> Callable[[Handler], Handler]:
    """Add a route to all of them: to that of the function below."""

    def add(handler: Handler) -> Handler:
        ROUTES.append(Route(method, path, role, handler, statuses or (200,), **options))
        return handler

    return add


def finished(response: Response) -> Response:
    """Return a response with the headers that all have."""
    response.raw_headers += _ALWAYS
    return response


_decoder = lru_cache(msgspec.json.Decoder)


def checked(kind: Any, content: bytes | msgspec.Raw) -> Any:
    """Return a body, or a part of one, as what it must be; whatever goes wrong is the mistake of its author."""
    try:
        return _decoder(kind).decode(content)
    except msgspec.ValidationError as error:
        raise BadBody(literal(str(error))) from None
    except Exception as error:
        raise BadRequest(f"the body is not JSON: {literal(str(error))}") from None


def _converted(where: str, content: bytes, kind: Any) -> Any:
    """Return a form, or the parameters after a `?`, as what they must be."""
    try:
        found = dict(parse_qsl(content.decode(), keep_blank_values=True, max_num_fields=20))
        return msgspec.convert(found, kind, strict=False)
    except ValueError as error:  # of which those of msgspec are some
        raise BadBody(literal(f"{where}: {error}")) from None


def _unquoted(part: str) -> str:
    try:
        return unquote(part, errors="strict") if "%" in part else part
    except UnicodeDecodeError:
        raise BadRequest("the address is not UTF-8") from None
