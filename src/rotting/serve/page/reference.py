"""The reference of the API, for people: the description for machines, as a page."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from html import escape
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


@lru_cache(maxsize=1)
def reference_page(routes: Iterable[Route]) -> bytes:
    """Return the page."""
    document = describe(routes)
    parts = [
        _operation(method.upper(), path, operation, document["components"]["schemas"])
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    return page("Reference · rotting", "\n".join([_INTRODUCTION, *parts, "<h2>Problems</h2>", _problems()]))


def _operation(method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    def fields(content: Mapping[str, Any]) -> dict[str, Any]:
        name = content["schema"].get("$ref", "").rpartition("/")[2]
        return dict(schemas.get(name, {}).get("properties", {}))

    summary, asked = operation["summary"], operation.get("requestBody", {}).get("content", {}).get("application/json")
    rows = [[each["name"], each["in"], _meaning(each)] for each in operation["parameters"]]
    rows += [[name, "body", _meaning(schema)] for name, schema in fields(asked).items()] if asked else []
    sent = table(f"{summary}: what to send", ["name", "where", "meaning"], rows) if rows else ""
    good: list[str] = []
    bad: list[str] = []
    for status, response in operation["responses"].items():
        said = [f"<code>{{{escape(', '.join(fields(each)))}}}</code>" for each in response.get("content", {}).values()]
        if status < "400":
            good.append(f"{status} {said[0] if said else 'without a body'}")
        else:
            bad.append(status)
    command = escape(_curl(method, path, "security" in operation, asked))
    return (
        f'<section id="{operation["operationId"]}"><h2>{escape(summary)}</h2>'
        f'<p><span class="method">{method}</span> <code>{escape(path)}</code> · {operation["description"]}</p>{sent}'
        f"<p>Replies: {'; '.join(good)}. Errors: {', '.join(bad) or 'none'}.</p>"
        f'<pre tabindex="0">{command}</pre></section>'
    )


def _meaning(field: Mapping[str, Any]) -> Html:
    """Return what is said of a parameter or field, and its schema as it is."""
    schema = {name: each for name, each in field.get("schema", field).items() if name != "description"}
    return Html(f"{escape(field.get('description', ''))} <code>{escape(json.dumps(schema))}</code>")


def _curl(method: str, path: str, needs_key: bool, asked: Mapping[str, Any] | None) -> str:
    path = path.replace("{bandit}", "hero").replace("{key}", "hero").replace("{decision}", "$DECISION")
    key = ' -H "Authorization: Bearer $ROTTING_KEY"' if needs_key else ""
    kind = "-H 'Content-Type: application/json'"
    sent = f" \\\n  {kind} -d '{json.dumps(asked['example'])}'" if asked else ""
    return f"curl -X {method}{key} http://127.0.0.1:8000{path}{sent}"


def _problems() -> Html:
    """Return the table of all problems; the type of a problem leads to its row."""
    found = {name: kind for module in (bandit, errors, own_errors) for name, kind in inspect.getmembers(module)}
    rows = []
    for name, kind in sorted(found.items()):
        if inspect.isclass(kind) and issubclass(kind, errors.RottingError):
            status, said = status_of(kind.__new__(kind)), (kind.__doc__ or "").strip().splitlines()[0]
            rows.append([Html(f'<span id="{name}">{name}</span>'), f"{status:d} {status.phrase}", said])
    return table("Problems", ["type", "status", "meaning"], rows)
