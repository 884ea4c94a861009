"""The description of the API (OpenAPI 3.1), made of the routes and of the bodies that check requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from rotting import __version__
from rotting.serve.requests import LARGEST_BODY, EvaluationFailed, NotEvaluated, Problem, RequestKey
from rotting.serve.routing import Route

_DESCRIPTION = "Decide what to show next when everything wears out as you show it. What is answered is durable."
_SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_OFREP_ERRORS = {
    400: NotEvaluated,
    401: None,
    403: None,
    404: NotEvaluated,
    429: EvaluationFailed,
    500: EvaluationFailed,
}


def describe(routes: Iterable[Route], prefix: str = "") -> dict[str, Any]:
    """Return the OpenAPI document."""
    listed = [route for route in routes if route.is_described]
    kinds = {Problem, NotEvaluated, EvaluationFailed}
    kinds.update(kind for route in listed for kind in (route.body, route.reply) if kind is not None)
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    refer = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in listed:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refer)
    return {
        "openapi": "3.1.0",
        "info": {"title": "rotting", "version": __version__, "description": _DESCRIPTION},
        "servers": [{"url": prefix or "/"}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SECURITY},
    }


def _operation(route: Route, refer: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": (route.handler.__doc__ or "").partition("\n")[0].rstrip("."),
        "operationId": route.handler.__name__,
        "description": f"Needs a key with the role {route.role} or admin." if route.role else "Needs no key.",
        "parameters": _parameters(route),
        "responses": _responses(route, refer),
    }
    if route.role is not None:
        operation["security"] = [{name: []} for name in _SECURITY]
    if route.body is not None:
        operation["requestBody"] = {
            "required": not route.body_is_optional,
            "description": f"At most {LARGEST_BODY} bytes.",
            "content": {"application/json": {"schema": refer[route.body], "example": route.example}},
        }
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    in_path = {name: kind for name, kind in route.types.items() if f"{{{name}}}" in route.path}
    query = route.types.get("query")
    in_query = {field.name: field.type for field in msgspec.structs.fields(query)} if query else {}
    header = {"Idempotency-Key": RequestKey} if route.takes_key else {}
    found = []
    for where, kinds in {"path": in_path, "query": in_query, "header": header}.items():
        for name, kind in kinds.items():
            schema = msgspec.json.schema(kind)
            required = {"required": True} if where == "path" else {}
            description = schema.pop("description")
            found.append({"name": name, "in": where, "description": description, "schema": schema, **required})
    return found


def _responses(route: Route, refer: dict[Any, Any]) -> dict[str, Any]:
    found = {status: (None if status == 304 else route.reply, route.kinds) for status in route.statuses}
    media = "application/json" if route.style == "ofrep" else "application/problem+json"
    for status, kind in sorted(_errors(route).items()):
        found.setdefault(status, (kind, (media,)))
    return {str(status): _response(status, kind, media, refer) for status, (kind, media) in found.items()}


def _response(status: int, kind: Any, media: Sequence[str], refer: dict[Any, Any]) -> dict[str, Any]:
    """Return the description of a reply of a kind, or of none; of the media types, those after the first are text."""
    first, *others = media
    content = {first: {"schema": refer.get(kind)}} | {each: {"schema": {"type": "string"}} for each in others}
    return {"description": HTTPStatus(status).phrase} | ({} if kind is None else {"content": content})


def _errors(route: Route) -> dict[int, Any]:
    """Return the statuses of errors that such a route may have, and what says so."""
    if route.style == "ofrep":
        return _OFREP_ERRORS
    is_named, has_body = "{" in route.path, route.body is not None
    statuses = {400} | ({401, 403, 429, 503} if route.role else set())
    statuses |= {408, 413, 415, 422} if has_body else set()
    statuses |= {404, 422} if is_named else set()
    statuses |= {409} if is_named and has_body else set()
    return dict.fromkeys(statuses, Problem)
