"""Addresses of places where logs are kept: which are understood, how messages show them, and the store for one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, unquote

from rotting.bandit.errors import BadAddress
from rotting.bandit.store.contract import Store
from rotting.errors import MissingExtra, literal

if TYPE_CHECKING:
    from rotting.bandit.store.hosts import Presence

_KIND = re.compile(r"([A-Za-z][\w.+-]*)://")
_FILE = re.compile(r"sqlite:///(?P<text>[^?]*)(\?(?P<query>.*))?", re.DOTALL)
_SERVER = re.compile(
    r"(postgresql|postgres|postgresql\+psycopg)://(?P<text>([^/?@]*@)?(\[[^\]]*\]|[^/?:,]*)(:\d*)?([/?].*)?)", re.DOTALL
)


class Address(NamedTuple):
    """An address that was understood."""

    is_file: bool
    text: str  # of a file its name, of a server what follows `postgresql://`
    query: str = ""  # of a file


def parse(text: object) -> Address:
    """Return what an address says; refuse what cannot hold bandits."""
    if not isinstance(text, str) or (kind := _KIND.match(text)) is None:
        raise _bad_address("is not the address of a database", text)
    if kind[1] not in ("sqlite", "postgresql", "postgres", "postgresql+psycopg"):
        raise _bad_address(f"is of a kind, {literal(repr(kind[1]))}, that cannot hold bandits", text)
    if "\0" in text:
        raise _bad_address("has a character that no name of a file or database has", text)
    if (server := _SERVER.fullmatch(text)) is not None:
        return Address(False, server["text"])
    if (file := _FILE.fullmatch(text)) is None:
        raise _bad_address("is not the address of a database", text)
    name, query = file["text"], file["query"] or ""
    if query and not name.startswith("file:"):
        raise _bad_address("has options after a '?', which are not supported", text)
    if not name or ":memory:" in name or "memory" in parse_qs(query).get("mode", []):
        raise _bad_address("would forget everything", text)
    return Address(True, unquote(name.removeprefix("file:")) if name.startswith("file:") else name, query)


def open_store(text: object) -> Store:
    """Return the store at an address. Nothing is connected to yet."""
    address = parse(text)
    if address.is_file:
        from rotting.bandit.store.sqlite import SqliteStore

        return SqliteStore(str(text), address)
    try:
        from rotting.bandit.store.postgres import PostgresStore
    except ImportError as error:
        raise MissingExtra(
            "PostgreSQL is reached with psycopg, which is not installed", hint="pip install 'rotting[sql]'"
        ) from error
    return PostgresStore(str(text), address)


def presence(text: object, address: str) -> Presence:
    """Return what says that a host is there, which others reach at an address; the place is shared with others."""
    from rotting.bandit.store.hosts import Presence

    return Presence(f"postgresql://{parse(text).text}", address)


def is_shared(text: object) -> bool:
    """Say whether several machines may write at an address at the same time."""
    return not parse(text).is_file


def _bad_address(problem: str, address: object) -> BadAddress:
    shown = masked(address) if isinstance(address, str) else address
    expected = "'sqlite:///FILE' or 'postgresql://USER:PASSWORD@HOST/DATABASE'"
    return BadAddress(problem, name="url", value=shown, expected=expected)


def masked(address: str) -> str:
    """Return an address without its password, however it is written.

    >>> masked("postgresql://me:secret@host:54x/db?password=secret&user=me")
    'postgresql://me:***@host:54x/db?password=***&user=me'
    """
    return re.sub(r"(?<=password=)[^&]*", "***", re.sub(r"(?<=://)([^:/@]*):[^/]*@", r"\1:***@", address))
