"""Errors as replies: RFC 9457 problem details, with the texts and the fields of the library's errors."""

from __future__ import annotations

import logging
from http import HTTPStatus

from rotting.bandit import (
    ClosedBandit,
    KeyConflict,
    NoArms,
    RetiredArm,
    RewardConflict,
    SettingsConflict,
    StorageError,
    UnknownArm,
    UnknownBandit,
    UnknownDecision,
)
from rotting.errors import BadValue, RottingError
from rotting.serve.errors import ServiceError, WrongMethod
from rotting.serve.requests import Problem

RETRY_AFTER = 1  # seconds

log = logging.getLogger("rotting.serve")


# The first that an error is an instance of.
_STATUS: tuple[tuple[type[Exception], HTTPStatus], ...] = (
    (UnknownBandit, HTTPStatus.NOT_FOUND),
    (UnknownArm, HTTPStatus.NOT_FOUND),
    (UnknownDecision, HTTPStatus.NOT_FOUND),
    (RewardConflict, HTTPStatus.CONFLICT),
    (KeyConflict, HTTPStatus.CONFLICT),
    (SettingsConflict, HTTPStatus.CONFLICT),
    (RetiredArm, HTTPStatus.CONFLICT),
    (NoArms, HTTPStatus.CONFLICT),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (ClosedBandit, HTTPStatus.SERVICE_UNAVAILABLE),
    (BadValue, HTTPStatus.UNPROCESSABLE_ENTITY),
    (RottingError, HTTPStatus.SERVICE_UNAVAILABLE),  # damaged logs, foreign tables: for the operator to put right
)
_UNAVAILABLE = "the database cannot be used now: the server's log says why"
_BUG = "the server failed: its log says why"


def status_of(error: Exception) -> HTTPStatus:
    """Return the status of the reply that an error becomes."""
    if isinstance(error, ServiceError):
        return error.status
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status
    return HTTPStatus.INTERNAL_SERVER_ERROR


def problem_of(error: Exception) -> Problem:
    """Return an error as problem details.

    What concerns the operator rather than the client (addresses of databases, bugs) goes to the log only.

    Examples
    --------
    >>> int(problem_of(UnknownArm("bandit 'hero' has no arm 'x'", value="x")).status)
    404
    >>> problem_of(StorageError("'postgresql://me:***@host/db' cannot be written")).detail
    "the database cannot be used now: the server's log says why"
    """
    status, kind = status_of(error), type(error)
    if not isinstance(error, RottingError):
        return Problem(type="about:blank", title=status.phrase, status=status, detail=_BUG)
    hidden = status == HTTPStatus.SERVICE_UNAVAILABLE and not isinstance(error, ServiceError)
    return Problem(
        type=f"/reference#{kind.__name__}",
        title=(kind.__doc__ or status.phrase).strip().splitlines()[0].rstrip("."),
        status=status,
        detail=_UNAVAILABLE if hidden else str(error),
        name=None if hidden else error.name,
        expected=None if hidden else error.expected,
        hint=None if hidden or error.hint is None else RottingError(hint=error.hint).text(lambda name: name),
    )


def note(error: Exception, where: str) -> None:
    """Write what the client must not see to the log."""
    if isinstance(error, RottingError) and not isinstance(error, ServiceError):
        if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log.error("%s: %s: %s", where, type(error).__name__, error)
    elif not isinstance(error, RottingError):
        log.error("%s: a bug in rotting", where, exc_info=error)


def reply_headers(error: Exception) -> list[tuple[bytes, bytes]]:
    """Return the headers that go with an error."""
    status = status_of(error)
    if isinstance(error, WrongMethod):
        return [(b"allow", error.allowed.encode())]
    if status == HTTPStatus.UNAUTHORIZED:
        return [(b"www-authenticate", b'Bearer realm="rotting"')]
    if status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
        return [(b"connection", b"close")]  # the rest of the body is not waited for
    if status in (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS):
        return [(b"retry-after", str(RETRY_AFTER).encode())]
    return []
