"""The description of the API (OpenAPI 3.1), made of the routes and of the bodies that check requests."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from rotting import __version__
from rotting.serve.requests import LARGEST_BODY, EvaluationFailed, NotEvaluated, Problem
from rotting.serve.routing import Route

_DESCRIPTION = "Decide what to show next when everything wears out as you show it. What is answered is durable."
_PARAMETERS = {
    "bandit": {"description": "The name of a bandit.", "schema": {"type": "string", "minLength": 1, "maxLength": 200}},
    "decision": {"description": "The id of a decision.", "schema": {"type": "string", "minLength": 1}},
    "key": {
        "description": "The name of a bandit: letters, digits and ._~- only.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._~-]+$"},
    },
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same key again gives the same decisions: a new one for each request, repeated on a retry.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}


def describe(routes: Iterable[Route]) -> dict[str, Any]:
    """Return the OpenAPI document."""
    listed = [route for route in routes if route.replies]
    kinds = {Problem, NotEvaluated, EvaluationFailed}
    kinds |= {kind for route in listed for kind in (route.body, *route.replies.values()) if kind is not None}
    ordered = sorted(kinds, key=lambda kind: str(kind.__name__))
    schemas, components = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    refer = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in listed:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refer)
    security = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "rotting", "version": __version__, "description": _DESCRIPTION},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": security},
    }


def _operation(route: Route, refer: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": route.handler.__name__,
        "description": f"Needs a key with the role {route.role} or admin." if route.role else "Needs no key.",
        "parameters": _parameters(route),
        "responses": _responses(route, refer),
    }
    if route.role is not None:
        operation["security"] = [{"bearer": []}, {"header": []}]
    if route.body is not None:
        operation["requestBody"] = {
            "required": not route.body_is_optional,
            "description": f"At most {LARGEST_BODY} bytes.",
            "content": {"application/json": {"schema": refer[route.body], "example": route.example}},
        }
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    found = [{"name": name, "in": "path", "required": True, **_PARAMETERS[name]} for name in names]
    if route.query is not None:
        for field in msgspec.structs.fields(route.query):
            schema = msgspec.json.schema(field.type)
            schema = schema.get("anyOf", [schema])[0]  # the other is null: it may be left out
            description = schema.pop("description", "")
            found.append({"name": field.name, "in": "query", "description": description, "schema": schema})
    return [*found, _KEY] if route.takes_key else found


def _responses(route: Route, refer: dict[Any, Any]) -> dict[str, Any]:
    found: dict[int, dict[str, Any]] = {}
    for status, kind in route.replies.items():
        first, *others = route.kinds
        content = {first: {"schema": refer.get(kind)}} | {each: {"schema": {"type": "string"}} for each in others}
        found[status] = {} if kind is None else {"content": content}
    for status in sorted(_errors(route) - set(found)):
        found[status] = _error(route, status, refer)
    return {str(status): {"description": HTTPStatus(status).phrase, **each} for status, each in found.items()}


def _errors(route: Route) -> set[int]:
    """Return the statuses of errors that such a route may have."""
    if route.style == "ofrep":
        return {400, 401, 403, 404, 429, 500}
    named = "{" in route.path
    statuses = {400} | ({401, 403, 429, 503} if route.role else set())
    statuses |= {408, 413, 415, 422} if route.body else set()
    statuses |= {404, 422} if named else set()
    return statuses | ({409} if named and route.body else set())


def _error(route: Route, status: int, refer: dict[Any, Any]) -> dict[str, Any]:
    if route.style != "ofrep":
        return {"content": {"application/problem+json": {"schema": refer[Problem]}}}
    kind = NotEvaluated if status in (400, 404) else EvaluationFailed
    return {} if status in (401, 403) else {"content": {"application/json": {"schema": refer[kind]}}}
