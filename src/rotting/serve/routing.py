"""Routes: what is served where, to whom, and with which bodies. The same table answers requests and describes the API.

Names of bandits may hold any visible character, so paths are split before they are decoded: a bandit called `a/b` is at
`/v1/bandits/a%2Fb`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from urllib.parse import parse_qsl, unquote

import msgspec

from rotting.errors import literal, quoted
from rotting.serve.errors import BadBody, BadRequest, NoSuchPage, WrongContentType, WrongMethod
from rotting.serve.keys import Key, Role

if TYPE_CHECKING:
    from rotting.serve.app import Service

JSON, HTML, TEXT = b"application/json", b"text/html; charset=utf-8", b"text/plain; charset=utf-8"
Headers = list[tuple[bytes, bytes]]
Parsed = TypeVar("Parsed")


class Answer(NamedTuple):
    """A reply, whole or as parts that are sent one after the other."""

    status: int
    body: bytes | AsyncIterator[bytes] = b""
    kind: bytes = JSON
    headers: Headers = []  # noqa: RUF012 - never changed


class Query(NamedTuple):
    """A parameter after the `?`: its name, its type, what it means."""

    name: str
    type: Any
    meaning: str


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Route:
    """One method of one path.

    `role` is what a key must allow (None: no key is needed). `style` says how errors are shown: as "problem" details,
    as "ofrep" or on a "page". `replies` maps statuses to bodies, None for none; routes without any are not in the API's
    description.
    """

    method: str
    path: str
    handler: Callable[[Service, Request], Awaitable[Answer]]
    role: Role | None
    summary: str = ""
    body: Any = None
    body_is_optional: bool = False
    query: tuple[Query, ...] = ()
    takes_key: bool = False  # the header Idempotency-Key
    replies: Mapping[int, Any] = dataclasses.field(default_factory=dict)
    kinds: tuple[str, ...] = ("application/json",)
    errors: tuple[int, ...] = ()
    style: str = "problem"


class Request:
    """A request that has found its route."""

    __slots__ = ("body", "headers", "key", "params", "route", "scope")

    def __init__(self, scope: Mapping[str, Any], route: Route, params: dict[str, str]):
        self.scope = scope
        self.route = route
        self.params = params
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.body = b""
        self.key: Key | None = None  # None: nobody needs one

    def header(self, name: bytes) -> str | None:
        """Return a header as a text."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def only_header(self, name: bytes) -> str | None:
        """Return a header as a text, if it is not there twice: which of the two is meant, nobody knows."""
        if sum(given == name for given, _ in self.scope["headers"]) > 1:
            raise BadRequest(f"the header {name.decode()} is given more than once")
        return self.header(name)

    def decoded(self, kind: type[Parsed], empty: bytes = b"{}") -> Parsed:
        """Return the body, checked."""
        if not self.body and self.route.body_is_optional:
            return cast(Parsed, checked(kind, empty))
        content_type = self.headers.get(b"content-type", b"")
        if content_type.partition(b";")[0].strip().lower() != JSON:
            raise WrongContentType(
                f"the content type {quoted(content_type.decode('latin-1'))} is not JSON", expected="application/json"
            )
        encoding = self.header(b"content-encoding") or "identity"
        if encoding.lower() != "identity":
            raise WrongContentType(f"the content encoding {quoted(encoding)} is not read", expected="identity")
        try:
            self.body.decode()  # the parser does not look at what it skips
        except UnicodeDecodeError:
            raise BadRequest("the body is not JSON: it is not UTF-8") from None
        return cast(Parsed, checked(kind, self.body))

    def query(self) -> dict[str, Any]:
        """Return the parameters after the `?`, checked; those that were not given are left out."""
        given = dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))
        known = {each.name: each.type for each in self.route.query}
        for name in given:
            if name not in known:
                raise BadBody(f"there is no parameter {quoted(name)}", value=name, expected=", ".join(known) or "none")
        found = {}
        for name, text in given.items():
            try:
                found[name] = msgspec.convert(text, known[name], strict=False)
            except msgspec.ValidationError as error:
                raise BadBody(literal(str(error)), name=name, value=text) from None
        return found


_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return what decodes a kind of body, made once."""
    found = _DECODERS.get(kind)
    if found is None:
        found = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return found


def checked(kind: Any, content: bytes | msgspec.Raw) -> Any:
    """Return a body, or a part of one, as what it must be; whatever goes wrong is the mistake of its author."""
    try:
        return decoder(kind).decode(content)
    except msgspec.ValidationError as error:
        raise BadBody(literal(str(error))) from None
    except Exception as error:
        raise BadRequest(f"the body is not JSON: {literal(str(error))}") from None


class _Node:
    """A place in the tree of paths: what follows it, by name or for any name, and what is served here."""

    __slots__ = ("any", "named", "parameter", "routes")

    def __init__(self) -> None:
        self.named: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.parameter = ""
        self.routes: dict[str, Route] = {}


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]):
        self.routes = tuple(routes)
        self._root = _Node()
        for route in self.routes:
            node = self._root
            for part in route.path[1:].split("/"):
                if part.startswith("{"):
                    node.any = node.any or _Node()
                    node.any.parameter = part[1:-1]
                    node = node.any
                else:
                    node = node.named.setdefault(part, _Node())
            assert route.method not in node.routes, route
            node.routes[route.method] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        """Return the route, and the parameters in the path."""
        node, params = self._root, {}
        for part in raw_path.partition(b"?")[0].decode("latin-1")[1:].split("/"):
            if part in node.named:
                node = node.named[part]
            elif node.any is not None and part:
                node = node.any
                params[node.parameter] = _unquoted(part)
            else:
                raise NoSuchPage("there is nothing at this address", hint="see /reference")
        if not node.routes:
            raise NoSuchPage("there is nothing at this address", hint="see /reference")
        route = node.routes.get("GET" if method == "HEAD" else method)
        if route is None:
            raise WrongMethod(f"the method {quoted(method)} is not allowed here", ", ".join(sorted(node.routes)))
        return route, params


def _unquoted(part: str) -> str:
    try:
        return unquote(part, errors="strict") if "%" in part else part.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise BadRequest("the address is not UTF-8") from None


def redirect(where: str, headers: Headers | None = None) -> Answer:
    """Return the reply that sends a browser elsewhere, to GET it."""
    return Answer(HTTPStatus.SEE_OTHER, kind=TEXT, headers=[(b"location", where.encode("ascii")), *(headers or [])])
