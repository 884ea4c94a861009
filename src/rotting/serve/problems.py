"""Replies, and errors as replies: RFC 9457 problem details, with texts and fields of the library's errors."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

from rotting import bandit
from rotting.errors import BadValue, RottingError
from rotting.serve.errors import ServiceError
from rotting.serve.requests import Problem, encode

JSON, HTML = "application/json", "text/html"
RETRY = {"retry-after": "1"}  # seconds

log = logging.getLogger("rotting.serve")

# The first that an error is an instance of.
_STATUS: dict[int, tuple[type[Exception], ...]] = {
    404: (bandit.UnknownBandit, bandit.UnknownArm, bandit.UnknownDecision),
    409: (bandit.RewardConflict, bandit.KeyConflict, bandit.SettingsConflict, bandit.RetiredArm, bandit.NoArms),
    422: (BadValue,),
    503: (RottingError,),  # no connection, damaged logs, foreign tables: for the operator to put right
    500: (Exception,),
}
_UNAVAILABLE = "the database cannot be used now: the server's log says why"
_BUG = "the server failed: its log says why"
_HEADERS = {
    401: {"www-authenticate": 'Bearer realm="rotting"'},
    408: {"connection": "close"},  # the rest of the body is not waited for
    413: {"connection": "close"},
    503: RETRY,
    429: RETRY,
}


def reply(status: int, body: object, kind: str = JSON, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response that sends a body as JSON."""
    return Response(encode(body), status, headers, kind)


def status_of(error: Exception) -> HTTPStatus:
    """Return the status of the reply that an error becomes."""
    if isinstance(error, ServiceError):
        return error.status
    return HTTPStatus(next(status for status, kinds in _STATUS.items() if isinstance(error, kinds)))


def _is_secret(error: Exception) -> bool:
    """Say whether an error concerns the operator rather than the client: addresses of databases, bugs."""
    return not isinstance(error, ServiceError) and status_of(error) >= 500


def problem_of(error: Exception) -> Problem:
    """Return an error as problem details, without what concerns the operator alone.

    Examples
    --------
    >>> int(problem_of(bandit.UnknownArm("bandit 'hero' has no arm 'x'", value="x")).status)
    404
    >>> problem_of(bandit.StorageError("'postgresql://me:***@host/db' cannot be written")).detail
    "the database cannot be used now: the server's log says why"
    """
    status, kind = status_of(error), type(error)
    if not isinstance(error, RottingError):
        return Problem(type="about:blank", title=status.phrase, status=status, detail=_BUG)
    title = (kind.__doc__ or status.phrase).strip().splitlines()[0].rstrip(".")
    problem = Problem(type=f"/reference#{kind.__name__}", title=title, status=status, detail=_UNAVAILABLE)
    if not _is_secret(error):
        problem.detail = error.text(str)  # arguments are called as in a body
        problem.name, problem.expected = error.name, error.expected
        problem.hint = error.hint and RottingError(hint=error.hint).text(str)
    return problem


def problem_reply(error: Exception, request: object = None) -> Response:
    """Return the reply that an error becomes."""
    problem = problem_of(error)
    return reply(problem.status, problem, "application/problem+json", _HEADERS.get(problem.status))


def note(error: Exception, where: str) -> None:
    """Write what the client must not see to the log."""
    if not isinstance(error, RottingError):
        log.error("%s: a bug in rotting", where, exc_info=error)
    elif _is_secret(error):
        log.error("%s: %s: %s", where, type(error).__name__, error)
