"""The description of the API (OpenAPI 3.1), made of the routes and of the bodies that check requests."""

from __future__ import annotations

from collections.abc import Iterable
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
    found: dict[int, dict[str, Any]] = {}
    for status in route.statuses:
        is_empty = route.reply is None or status == 304
        first, *others = route.kinds
        content = {first: {"schema": refer.get(route.reply)}} | {
            each: {"schema": {"type": "string"}} for each in others
        }
        found[status] = {} if is_empty else {"content": content}
    for status in sorted(_errors(route) - set(found)):
        found[status] = _error(route, status, refer)
    return {str(status): {"description": HTTPStatus(status).phrase, **each} for status, each in found.items()}


def _errors(route: Route) -> set[int]:
    """Return the statuses of errors that such a route may have."""
    if route.style == "ofrep":
        return {400, 401, 403, 404, 429, 500}
    is_named, has_body = "{" in route.path, route.body is not None
    statuses = {400} | ({401, 403, 429, 503} if route.role else set())
    statuses |= {408, 413, 415, 422} if has_body else set()
    statuses |= {404, 422} if is_named else set()
    return statuses | ({409} if is_named and has_body else set())


def _error(route: Route, status: int, refer: dict[Any, Any]) -> dict[str, Any]:
    if route.style != "ofrep":
        return {"content": {"application/problem+json": {"schema": refer[Problem]}}}
    kind = NotEvaluated if status in (400, 404) else EvaluationFailed
    return {} if status in (401, 403) else {"content": {"application/json": {"schema": refer[kind]}}}
