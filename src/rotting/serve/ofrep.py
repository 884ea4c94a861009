"""OpenFeature's remote evaluation protocol (OFREP): a bandit is a flag whose variants are its arms.

Evaluating decides, and a decision is an exposure unless the bandit counts those that were shown. Web clients evaluate
all flags when a page is loaded, so a bulk evaluation answers for bandits with `count="shown"` and for those that
`context.flags` names. They ask again every now and then with the ETag of what they have: while the context and the arms
are the same, they are told to keep it, for an hour at most, and no decision is taken.
"""

from __future__ import annotations

import hashlib
import re
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

from rotting.bandit import BanditError, Choice
from rotting.errors import RottingError
from rotting.serve import requests as bodies
from rotting.serve.access import check_bandit
from rotting.serve.api import choices
from rotting.serve.problems import RETRY_AFTER, problem_of, status_of
from rotting.serve.requests import Evaluated, Evaluation, NotEvaluated, encode
from rotting.serve.routing import Answer, Request, Route

if TYPE_CHECKING:
    from rotting.serve.app import Service

SAFE_NAME = re.compile(r"[A-Za-z0-9._~-]+")  # clients do not always percent-encode names


async def evaluate(service: Service, request: Request) -> Answer:
    """Decide, and answer as OpenFeature's clients expect."""
    name = request.params["key"]
    request.decoded(Evaluation)
    check_bandit(request.key, name)
    return Answer(200, encode(_evaluated(name, (await _decided(service, name)))))


async def evaluate_all(service: Service, request: Request) -> Answer:
    """Decide for the bandits that the context names and for those that count what is shown."""
    context = request.decoded(Evaluation).context
    wanted = None if context is None else context.flags
    known = [name for name in await service.names(request.key) if SAFE_NAME.fullmatch(name)]
    found = {
        name: await _bandit(service, name)
        for name in dict.fromkeys(known if wanted is None else wanted)
        if name in known
    }
    names = [name for name, (count, _) in found.items() if wanted is not None or count == "shown"]
    tag = _tag(request.body, [(name, found[name]) for name in names])
    if request.headers.get(b"if-none-match") == tag:
        return Answer(HTTPStatus.NOT_MODIFIED, headers=[(b"etag", tag)])
    flags: list[Evaluated | NotEvaluated] = []
    for name in names:
        try:
            flags.append(_evaluated(name, await _decided(service, name)))
        except BanditError as error:
            if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            flags.append(_refusal(name, error))
    return Answer(200, encode({"flags": flags}), headers=[(b"etag", tag)])


def _tag(*content: object) -> bytes:
    hour = int(time.time() // 3600)
    return b'"' + hashlib.sha256(repr((hour, content)).encode()).hexdigest()[:32].encode() + b'"'


async def _decided(service: Service, name: str) -> Choice:
    return (await choices(service, name, 1))[0]


async def _bandit(service: Service, name: str) -> tuple[str, dict[str, bool]]:
    """Return what a bandit counts, and its arms."""
    await service.entry(name)
    return await service.call(name, lambda bandit: (bandit.settings.count, bandit.arms))


def _evaluated(name: str, choice: Choice) -> Evaluated:
    metadata: dict[str, bool | str | float] = {"decisionId": choice.id, "why": choice.why}
    if choice.probability is not None:
        metadata["probability"] = choice.probability
    return Evaluated(key=name, reason="SPLIT", variant=choice.arm, value=choice.arm, metadata=metadata)


# Errors, in the protocol's own words. Clients know 400, 401, 403, 404, 429 and 500 only.

_CODES: dict[HTTPStatus, bodies.ErrorCode] = {
    HTTPStatus.BAD_REQUEST: "PARSE_ERROR",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "PARSE_ERROR",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "PARSE_ERROR",
    HTTPStatus.UNPROCESSABLE_ENTITY: "INVALID_CONTEXT",
}


def _refusal(name: str, error: Exception) -> NotEvaluated:
    status = status_of(error)
    if status == HTTPStatus.NOT_FOUND:
        return NotEvaluated(key=name, error_code="FLAG_NOT_FOUND", error_details=problem_of(error).detail)
    return NotEvaluated(key=name, error_code=_CODES.get(status, "GENERAL"), error_details=problem_of(error).detail)


def error_answer(name: str, error: Exception) -> Answer:
    """Return the reply for an error."""
    status = status_of(error)
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return Answer(status)
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        retry = [(b"retry-after", str(RETRY_AFTER).encode())]
        return Answer(429, encode(bodies.EvaluationFailed(error_details=problem_of(error).detail)), headers=retry)
    if isinstance(error, RottingError):
        return Answer(404 if status == HTTPStatus.NOT_FOUND else 400, encode(_refusal(name, error)))
    return Answer(500, encode(bodies.EvaluationFailed(error_details=problem_of(error).detail)))


ROUTES = (
    Route(
        method="POST",
        path="/ofrep/v1/evaluate/flags/{key}",
        handler=evaluate,
        role="client",
        summary="Decide, for an OpenFeature client",
        body=Evaluation,
        body_is_optional=True,
        replies={200: Evaluated},
        style="ofrep",
    ),
    Route(
        method="POST",
        path="/ofrep/v1/evaluate/flags",
        handler=evaluate_all,
        role="client",
        summary="Decide for several bandits, for an OpenFeature client",
        body=Evaluation,
        body_is_optional=True,
        replies={200: bodies.BulkEvaluated, 304: None},
        style="ofrep",
    ),
)
