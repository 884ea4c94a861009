"""The reference of the API, for people: made of the same routes and bodies that answer requests."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from html import escape
from http import HTTPStatus
from typing import Any

from rotting import bandit, errors
from rotting.serve import errors as own_errors
from rotting.serve.openapi import describe
from rotting.serve.page.html import Html, page, table
from rotting.serve.problems import status_of
from rotting.serve.routing import Route

_INTRODUCTION = """
<h1>Reference</h1>
<p>Send a key as <code>Authorization: Bearer KEY</code> or <code>X-API-Key: KEY</code>; without keys, none is needed.
Bodies are JSON (<code>Content-Type: application/json</code>), names in addresses are percent-encoded. When a request is
answered, what it did is durable. The same as <a href="/openapi.json">OpenAPI</a>.</p>
"""


def reference_page(routes: Iterable[Route]) -> bytes:
    """Return the page."""
    return _page(tuple(route for route in routes if route.replies))


@lru_cache(maxsize=1)
def _page(routes: tuple[Route, ...]) -> bytes:
    document = describe(routes)
    schemas = document["components"]["schemas"]
    parts = [_INTRODUCTION]
    for route in routes:
        operation = document["paths"][route.path][route.method.lower()]
        parts.append(_operation(route, operation, schemas))
    parts.append("<h2>Problems</h2>" + _problems())
    return page("Reference · rotting", "\n".join(parts))


def _operation(route: Route, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    needs = f"role {route.role}" if route.role else "no key"
    head = (
        f'<section id="{operation["operationId"]}"><h2>{escape(route.summary)}</h2>'
        f'<p><span class="method">{route.method}</span> <code>{escape(route.path)}</code> · {needs}</p>'
    )
    rows = [[each["name"], each["in"], each.get("description", "")] for each in operation["parameters"]] + _fields(
        route, schemas
    )
    given = table(f"{route.summary}: what to send", ["name", "where", "meaning"], rows) if rows else ""
    replies = [
        [status, reply["description"], _reply(reply, schemas)] for status, reply in operation["responses"].items()
    ]
    answers = table(f"{route.summary}: replies", ["status", "meaning", "body"], replies)
    return f'{head}{given}{answers}<pre tabindex="0">{escape(_curl(route))}</pre></section>'


def _fields(route: Route, schemas: Mapping[str, Any]) -> list[list[object]]:
    if route.body is None:
        return []
    schema = schemas[route.body.__name__]
    needed = schema.get("required", ())
    return [
        [name, "body" if name in needed else "body, optional", Html(f"<code>{escape(_short(content))}</code>")]
        for name, content in schema.get("properties", {}).items()
    ]


def _short(schema: Any) -> str:
    """Return a JSON schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_short(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(json.dumps(each) for each in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(_short(each) for each in schema['prefixItems'])}]"
    if schema.get("type") == "array":
        return f"list of {_short(schema.get('items', {}))}"
    limits = {"minimum": ">=", "maximum": "<=", "minLength": "length >=", "maxLength": "length <="}
    said = [f"{sign} {schema[name]:g}" for name, sign in limits.items() if name in schema]
    default = [f"default {json.dumps(schema['default'])}"] if schema.get("default") is not None else []
    return ", ".join([str(schema.get("type", "anything")), *said, *default])


def _reply(reply: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    for kind, content in reply.get("content", {}).items():
        name = _short(content["schema"])
        fields = ", ".join(schemas.get(name, {}).get("properties", {}))
        return f"problem details ({kind})" if "problem" in kind else f"{{{fields}}}"
    return ""


def _curl(route: Route) -> str:
    path = route.path.replace("{bandit}", "hero").replace("{key}", "hero").replace("{decision}", "$DECISION")
    body = _EXAMPLES.get((route.method, route.path))
    key = ' -H "Authorization: Bearer $ROTTING_KEY"' if route.role else ""
    sent = f" \\\n  -H 'Content-Type: application/json' -d '{json.dumps(body)}'" if body is not None else ""
    return f"curl -X {route.method}{key} http://127.0.0.1:8000{path}{sent}"


_EXAMPLES = {
    ("POST", "/v1/bandits/{bandit}/decisions"): {"n": 1},
    ("PUT", "/v1/decisions/{decision}/reward"): {"value": 1.0},
    ("POST", "/v1/events"): {"events": [{"kind": "reward", "decision": "ID", "value": 1.0}]},
    ("PUT", "/v1/bandits/{bandit}"): {"arms": ["red", "green"], "policy": "EffFEWA(sigma=0.5)"},
    ("PATCH", "/v1/bandits/{bandit}/arms"): {"add": ["blue"], "retire": ["red"]},
    ("POST", "/ofrep/v1/evaluate/flags/{key}"): {"context": {"targetingKey": "visitor 17"}},
    ("POST", "/ofrep/v1/evaluate/flags"): {"context": {"targetingKey": "visitor 17", "flags": ["hero"]}},
}


def _problems() -> Html:
    """Return the table of all problems; the type of a problem leads to its row."""
    kinds = {
        kind
        for module in (bandit, errors, own_errors)
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, errors.RottingError)
    }
    rows = []
    for kind in sorted(kinds, key=lambda each: each.__name__):
        status = status_of(kind.__new__(kind))
        name = Html(f'<span id="{kind.__name__}">{kind.__name__}</span>')
        rows.append([name, f"{status:d} {HTTPStatus(status).phrase}", (kind.__doc__ or "").strip().splitlines()[0]])
    return table("Problems", ["type", "status", "meaning"], rows)
