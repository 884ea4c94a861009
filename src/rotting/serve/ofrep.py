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
from functools import partial

from starlette.responses import Response

from rotting.bandit import BanditError, Decide
from rotting.errors import RottingError
from rotting.serve import requests as bodies
from rotting.serve.access import check_bandit
from rotting.serve.problems import RETRY, problem_of, reply, status_of
from rotting.serve.requests import Evaluated, Evaluation, FlagKey, NotEvaluated
from rotting.serve.routing import Request, route

SAFE_NAME = re.compile(r"[A-Za-z0-9._~-]+")  # clients do not always percent-encode names

# Errors, in the protocol's own words. Clients know 400, 401, 403, 404, 429 and 500 only.

_CODES: dict[int, bodies.ErrorCode] = {
    404: "FLAG_NOT_FOUND",
    400: "PARSE_ERROR",
    415: "PARSE_ERROR",
    413: "PARSE_ERROR",
    422: "INVALID_CONTEXT",
}


def _refusal(name: str, error: Exception) -> NotEvaluated:
    code = _CODES.get(status_of(error), "GENERAL")
    return NotEvaluated(key=name, error_code=code, error_details=problem_of(error).detail)


def error_reply(error: Exception, request: Request) -> Response:
    """Return the reply for an error."""
    status, failed = status_of(error), bodies.EvaluationFailed(error_details=problem_of(error).detail)
    if status in (401, 403):
        return Response(status_code=status)
    if status in (503, 429):
        return reply(429, failed, headers=RETRY)
    if isinstance(error, RottingError):
        known = status if status == 404 else 400
        return reply(known, _refusal(request.params.get("key", ""), error))
    return reply(500, failed)


_FLAGS = "/ofrep/v1/evaluate/flags"
_CONTEXT = {"targetingKey": "visitor 17"}
_NO_CONTEXT = Evaluation()
_ask = partial(route, "POST", style="ofrep", refuse=error_reply)


@_ask(f"{_FLAGS}/{{key}}", "client", example={"context": _CONTEXT}, here=True)
async def evaluate(request: Request, key: FlagKey, body: Evaluation = _NO_CONTEXT) -> Evaluated:
    """Decide, for an OpenFeature client."""
    check_bandit(request.key, key)
    return await _evaluated(request, key)


@_ask(_FLAGS, "client", 200, 304, example={"context": {**_CONTEXT, "flags": ["hero"]}})
async def evaluate_all(request: Request, body: Evaluation = _NO_CONTEXT) -> bodies.BulkEvaluated | Response:
    """Decide for several bandits, for an OpenFeature client."""
    wanted = None if body.context is None else body.context.flags
    known = [name for name in await request.service.names(request.key) if SAFE_NAME.fullmatch(name)]
    found = {}
    for name in known if wanted is None else dict.fromkeys(wanted):
        if name in known:
            count, arms = await request.service.call(name, lambda bandit: (bandit.settings.count, bandit.arms))
            if wanted is not None or count == "shown":
                found[name] = arms
    hour = int(time.time() // 3600)
    digest = hashlib.sha256(repr((hour, request.content, found)).encode()).hexdigest()
    tag = {"etag": f'"{digest[:32]}"'}
    if request.header(b"if-none-match") == tag["etag"]:
        return Response(status_code=304, headers=tag)
    flags: list[Evaluated | NotEvaluated] = []
    for name in found:
        try:
            flags.append(await _evaluated(request, name))
        except BanditError as error:
            if status_of(error) >= 500:
                raise
            flags.append(_refusal(name, error))
    return reply(200, bodies.BulkEvaluated(flags=flags), headers=tag)


async def _evaluated(request: Request, name: str) -> Evaluated:
    [choice] = await request.service.ask(name, Decide(1))
    metadata: dict[str, bool | str | float] = {"decisionId": choice.id, "why": choice.why, "targetingKeyUsed": False}
    if choice.probability is not None:
        metadata["probability"] = choice.probability
    return Evaluated(key=name, reason="SPLIT", variant=choice.arm, value=choice.arm, metadata=metadata)
