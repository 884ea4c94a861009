"""Who may do what: keys, roles, rates, and requests that a browser sends for somebody else."""

from __future__ import annotations

import ipaddress
import time
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rotting.bandit import Key
from rotting.errors import quoted
from rotting.serve.errors import NotAllowed, NotAuthenticated, TooManyRequests
from rotting.serve.keys import Keys, find_key, may

if TYPE_CHECKING:
    from rotting.serve.routing import Request

COOKIE = "rotting_key"
BURST = 2.0  # seconds' worth of requests that may come at once


class RateLimit:
    """At most so many requests per second and key (0: no limit), after a burst of two seconds' worth."""

    def __init__(self, per_second: float):
        self._rate = per_second
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, and when

    def take(self, key: str, now: float) -> None:
        """Count a request, or refuse it."""
        if self._rate <= 0.0:
            return
        left, at = self._buckets.get(key, (self._rate * BURST, now))
        left = min(self._rate * BURST, left + (now - at) * self._rate)
        if left < 1.0:
            raise TooManyRequests(f"more than {self._rate:g} requests a second with this key", hint="try again later")
        self._buckets[key] = left - 1.0, now


class Access:
    """Decides whether a request is allowed.

    `open_to_all` says that without any key everybody who can reach the server may do everything: it must listen on
    loopback only.
    """

    def __init__(self, open_to_all: bool, rate_limit: float, origins: tuple[str, ...]):
        self.keys: Keys = {}  # read again and again
        self._open_to_all = open_to_all
        self._origins = origins
        self._rates = RateLimit(rate_limit)

    @property
    def is_open(self) -> bool:
        """Whether no key is needed: the database never had one."""
        return self._open_to_all and not self.keys

    def check(self, request: Request) -> None:
        """Refuse a request that is not allowed; set its key."""
        role, is_page = request.route.role, request.route.style == "page"
        is_open = role is not None and self.is_open
        if is_open or (is_page and request.method == "POST"):
            self._check_origin(request)
        if is_open:
            _check_host(request.header(b"host") or "localhost")
        if is_open or role is None:
            return
        key = find_key(self.keys, _secret(request) or (is_page and request.cookies.get(COOKIE)) or "")
        if key is None:
            raise NotAuthenticated("this needs a key", hint="send it as: Authorization: Bearer KEY")
        self._rates.take(key.id, time.monotonic())
        if not may(key, role):
            raise NotAllowed(f"a {key.role} key does not allow this", expected=f"a key with the role {role} or admin")
        request.key = key
        if "bandit" in request.params:
            check_bandit(key, request.params["bandit"])

    def _check_origin(self, request: Request) -> None:
        """Refuse a request that a page of another site has made."""
        origin = request.header(b"origin")
        if origin is not None and origin in self._origins:
            return
        same = origin is None or origin.partition("://")[2] == request.header(b"host")
        if not same or request.header(b"sec-fetch-site") in ("cross-site", "same-site"):
            raise NotAllowed("this request comes from a page of another site", hint="allow it with --allow-origin")


def _secret(request: Request) -> str | None:
    """Return the key that the headers of a request give, if they do."""
    scheme, _, given = (request.header(b"authorization") or "").partition(" ")
    return request.header(b"x-api-key") or (given.strip() if scheme.lower() == "bearer" else None)


def check_bandit(key: Key | None, bandit: str) -> None:
    """Refuse a key that is for another bandit."""
    if key is not None and key.bandit not in (None, bandit):
        raise NotAllowed("this key is for another bandit")


@lru_cache
def _check_host(host: str) -> None:
    """Refuse what another site makes a browser on this machine send; others cannot reach a server without keys."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        name = host
    if not is_loopback(name):
        raise NotAllowed(f"without keys, the host {quoted(name)} is not served", hint="use localhost, or make keys")


def is_loopback(host: str) -> bool:
    """Say whether a name or address leads to this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
