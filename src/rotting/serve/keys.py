"""Keys: who may use the service, and for what. The database holds their digests, never the keys."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Literal, get_args

from rotting.bandit import BadSettings, Key, Store, good_name
from rotting.errors import quoted

Role = Literal["client", "reader", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
Keys = Mapping[str, Key]  # by their ids
_NOBODY = secrets.token_hex(32)  # the digest of no key


def may(key: Key | None, role: Role) -> bool:
    """Say what a key allows: clients decide and reward, readers look, admins do everything, as all do without keys."""
    return key is None or key.role in (role, "admin")


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def find_key(keys: Keys, secret: str) -> Key | None:
    """Return the key of a text, `rotting_ID_SECRET`, if it is valid. Takes the same time whether or not it exists."""
    parts = secret.split("_", 2)
    known = keys.get(parts[1]) if len(parts) == 3 else None
    matches = hmac.compare_digest(_digest(secret), known.digest if known else _NOBODY)
    return known if known is not None and matches and known.revoked is None else None


def read_keys(store: Store) -> Keys:
    """Return the keys of a database, those that were revoked, too.

    So a database whose last key was revoked does not become one without keys, which everybody on the machine may use.
    """
    with store.lock, store.reading():
        return {key.id: key for key in store.access_keys()}


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
        store.put_access_key(Key(identifier, _digest(secret), role, bandit, label, time.time(), None))
    return secret


def revoke_key(store: Store, identifier: str) -> bool:
    """Make a key invalid, given its id; False if it was."""
    with store.lock:
        found = read_keys(store).get(identifier)
        if found is None:
            raise BadSettings(
                f"there is no key {quoted(identifier)}", value=identifier, hint="see: rotting serve keys list"
            )
        store.put_access_key(found._replace(revoked=found.revoked or time.time()))
    return found.revoked is None
