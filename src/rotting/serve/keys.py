"""Keys: who may use the service, and for what. The database holds their digests, never the keys."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from sqlalchemy import Column, Connection, Float, MetaData, Table, Text, insert, inspect, select, update

from rotting.bandit.core.checking import good_name
from rotting.bandit.errors import BadSettings
from rotting.bandit.store.database import Database
from rotting.errors import quoted

Role = Literal["client", "reader", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
# What each role may do: clients decide and reward, readers look, admins do everything.
ALLOWS: dict[Role, frozenset[Role]] = {
    "client": frozenset({"client"}),
    "reader": frozenset({"reader"}),
    "admin": frozenset(ROLES),
}

_metadata = MetaData()
_table = Table(
    "rotting_access_keys",
    _metadata,
    Column("id", Text, primary_key=True),  # the part of a key that is no secret
    Column("digest", Text, nullable=False),  # SHA-256 of the whole key: with 256 random bits, no salt is needed
    Column("role", Text, nullable=False),
    Column("bandit", Text),  # the only one that it is for; NULL: all
    Column("label", Text, nullable=False),
    Column("created", Float(53), nullable=False),  # seconds since 1970
    Column("revoked", Float(53)),
)


class Key(NamedTuple):
    """What is known of a key."""

    id: str
    digest: str
    role: Role
    bandit: str | None
    label: str
    created: float
    revoked: float | None


def digest_of(secret: str) -> str:
    """Return what the database holds of a key."""
    return hashlib.sha256(secret.encode()).hexdigest()


class KeyRing:
    """The keys of a database, read again by `refresh`.

    A key reads `rotting_ID_SECRET`. Keys that were revoked stay in the table, so that a database whose last key was
    revoked does not become one without keys, which everybody on the machine may use.
    """

    def __init__(self, keys: Sequence[Key] = ()):
        self.keys = {key.id: key for key in keys}
        self._nobody = digest_of(secrets.token_hex())

    @property
    def is_empty(self) -> bool:
        """Whether the database never had a key."""
        return not self.keys

    def find(self, secret: str) -> Key | None:
        """Return the key of that text, if it is valid. Takes the same time whether or not it exists."""
        parts = secret.split("_", 2)
        known = self.keys.get(parts[1]) if len(parts) == 3 else None
        matches = hmac.compare_digest(digest_of(secret), known.digest if known else self._nobody)
        return known if known is not None and matches and known.revoked is None else None


def read_keys(database: Database) -> KeyRing:
    """Return the keys of a database."""
    with database.lock, database.reading() as connection:
        return KeyRing(_read(connection))


def _read(connection: Connection) -> list[Key]:
    if not inspect(connection).has_table(_table.name):
        return []
    return [Key._make(row) for row in connection.execute(select(_table).order_by(_table.c.created))]


def add_key(database: Database, role: str, bandit: str | None = None, label: str = "") -> str:
    """Make a key and return it. This is the only time that it can be seen."""
    if role not in ROLES:
        raise BadSettings(name="role", value=role, expected=", ".join(ROLES))
    if bandit is not None:
        good_name("bandit", bandit)
    if len(label) > 200 or not label.isprintable():
        raise BadSettings(name="label", value=label, expected="at most 200 printable characters")
    identifier = secrets.token_hex(4)
    secret = f"rotting_{identifier}_{secrets.token_urlsafe(32)}"
    row = Key(identifier, digest_of(secret), role, bandit, label, time.time(), None)

    def work(connection: Connection) -> None:
        _metadata.create_all(connection)
        connection.execute(insert(_table), row._asdict())

    with database.lock:
        database.write(work)
    return secret


def revoke_key(database: Database, identifier: str) -> bool:
    """Make a key invalid, given its id; False if it was."""

    def work(connection: Connection) -> bool:
        found = {key.id: key for key in _read(connection)}.get(identifier)
        if found is None:
            raise BadSettings(
                f"there is no key {quoted(identifier)}", value=identifier, hint="see: rotting serve keys list"
            )
        connection.execute(update(_table).where(_table.c.id == identifier).values(revoked=found.revoked or time.time()))
        return found.revoked is None

    with database.lock:
        return database.write(work)
