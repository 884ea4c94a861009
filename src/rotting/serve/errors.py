"""What the service itself refuses, before the library sees it."""

from __future__ import annotations

from http import HTTPStatus

from rotting.errors import RottingError


class ServiceError(RottingError):
    """A request that the service refuses by itself; its class says how."""

    status = HTTPStatus.BAD_REQUEST


class BadRequest(ServiceError, ValueError):
    """The request is not HTTP, JSON or text that can be read."""


class BadBody(ServiceError, ValueError):
    """The body or a parameter of the request is not what the API expects."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class NoSuchPage(ServiceError, LookupError):
    """There is nothing at this address."""

    status = HTTPStatus.NOT_FOUND


class WrongMethod(ServiceError):
    """The address exists, but not for this method."""

    status = HTTPStatus.METHOD_NOT_ALLOWED


class WrongContentType(ServiceError):
    """The body is not JSON, or it is compressed."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class TooLarge(ServiceError):
    """The body is larger than the service reads."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class HeadTooLarge(ServiceError):
    """The address and the headers are larger than the service reads."""

    status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


class TooSlow(ServiceError):
    """The body did not arrive in time."""

    status = HTTPStatus.REQUEST_TIMEOUT


class NotAuthenticated(ServiceError, PermissionError):
    """There is no key, or none that is valid."""

    status = HTTPStatus.UNAUTHORIZED


class NotAllowed(ServiceError, PermissionError):
    """The key does not allow this."""

    status = HTTPStatus.FORBIDDEN


class TooManyRequests(ServiceError):
    """The key has used up its share of requests for now."""

    status = HTTPStatus.TOO_MANY_REQUESTS


class Busy(ServiceError):
    """More requests wait for the database than the service holds, or it is shutting down."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
