"""Addresses of databases: which are understood, and how messages show them."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from rotting.bandit.errors import BadAddress
from rotting.errors import literal


def checked_url(text: object) -> URL:
    """Return an address of a database; refuse what cannot hold bandits."""
    if not isinstance(text, str | URL):  # SQLAlchemy 2.0 takes them for addresses
        raise _bad_address("is not the address of a database", text)
    try:
        url = make_url(text)
    except (ArgumentError, AttributeError, TypeError, ValueError):
        raise _bad_address("is not the address of a database", text) from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise _bad_address(f"is of a kind, {literal(repr(url.drivername))}, that cannot hold bandits", text)
    if "\0" in str(url.database):
        raise _bad_address("has a character that no name of a file or database has", text)
    if url.drivername == "sqlite" and url.query and not str(url.database).startswith("file:"):
        raise _bad_address("has options after a '?', which are not supported", text)
    in_memory = url.database in (None, "") or ":memory:" in str(url.database) or "memory" in url.query.get("mode", "")
    if url.drivername == "sqlite" and in_memory:
        raise _bad_address("would forget everything", text)
    return url


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


def sqlite_file(url: URL) -> str:
    """Return the name of a SQLite file, which the address may give as a file: URI of its own."""
    name = str(url.database)
    # Absolute: a process may change its folder while a bandit is open.
    return os.path.abspath(unquote(name.removeprefix("file:")) if name.startswith("file:") else name)
