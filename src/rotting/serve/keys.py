"""Keys: who may use the service, and for what. The database holds their digests, never the keys."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Sequence
from typing import Literal, get_args

from rotting.bandit import BadSettings, Key, Store, good_name
from rotting.errors import quoted

Role = Literal["client", "reader", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
__all__ = ["ALLOWS", "ROLES", "Key", "KeyRing", "Role", "add_key", "digest_of", "read_keys", "revoke_key"]
# What each role may do: clients decide and reward, readers look, admins do everything.
ALLOWS: dict[str, frozenset[Role]] = {
    "client": frozenset({"client"}),
    "reader": frozenset({"reader"}),
    "admin": frozenset(ROLES),
}


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


def read_keys(store: Store) -> KeyRing:
    """Return the keys of a database."""
    with store.lock, store.reading():
        return KeyRing(store.access_keys())


def add_key(store: Store, role: str, bandit: str | None = None, label: str = "") -> str:
    """Make a key and return it. This is the only time that it can be seen."""
    if role not in ROLES:
        raise BadSettings(name="role", value=role, expected=", ".join(ROLES))
    if bandit is not None:
        good_name("bandit", bandit)
    if len(label) > 200 or not label.isprintable():
        raise BadSettings(name="label", value=label, expected="at most 200 printable characters")
    identifier = secrets.token_hex(4)
    secret = f"rotting_{identifier}_{secrets.token_urlsafe(32)}"
    with store.lock:
        store.put_access_key(Key(identifier, digest_of(secret), role, bandit, label, time.time(), None))
    return secret


def revoke_key(store: Store, identifier: str) -> bool:
    """Make a key invalid, given its id; False if it was."""
    with store.lock:
        found = read_keys(store).keys.get(identifier)
        if found is None:
            raise BadSettings(
                f"there is no key {quoted(identifier)}", value=identifier, hint="see: rotting serve keys list"
            )
        store.put_access_key(found._replace(revoked=found.revoked or time.time()))
    return found.revoked is None
