"""The pages' routes."""

from __future__ import annotations

from rotting.serve.problems import problem_of, reply_headers, status_of
from rotting.serve.requests import encode
from rotting.serve.routing import Answer, Request, Route


def error_answer(request: Request, error: Exception) -> Answer:
    """Return the page that shows an error."""
    return Answer(status_of(error), encode(problem_of(error)), b"application/problem+json", reply_headers(error))


ROUTES: tuple[Route, ...] = ()
