"""Finding a bandit in a database, or making it."""

from __future__ import annotations

import time

from sqlalchemy import Connection

from rotting.bandit import schema, storage
from rotting.bandit.checking import listed
from rotting.bandit.database import Database
from rotting.bandit.errors import NoArms, UnknownBandit
from rotting.bandit.settings import Settings
from rotting.bandit.storage import BanditRow, Event


def find_or_make(database: Database, name: str, settings: Settings | None, arms: list[str] | None) -> BanditRow:
    """Return the bandit of that name, made with these settings and arms if there is none."""
    if settings is None and database.is_missing():
        raise UnknownBandit(f"there is no database {database.shown}; give a policy and arms to make bandit {name!r}")
    if not database.is_missing():
        with database.reading() as connection:
            found = _found(connection, name, settings)
        if found is not None:
            return found
    return database.write(lambda connection: _found_or_made(connection, name, settings, arms))


def _found(connection: Connection, name: str, settings: Settings | None) -> BanditRow | None:
    """Return the bandit of that name, or None if only a transaction that writes could say."""
    version = schema.version_of(connection)
    if 0 < version < schema.VERSION:
        return None
    found = storage.find_bandit(connection, name) if version else None
    if found is None and settings is None:
        known = storage.bandit_names(connection) if version else []
        raise UnknownBandit(f"there is no bandit {name!r}, only {listed(known)}; give a policy and arms to make one")
    return found


def _found_or_made(connection: Connection, name: str, settings: Settings | None, arms: list[str] | None) -> BanditRow:
    schema.prepare(connection)
    found = _found(connection, name, settings)
    if found is not None:
        return found
    assert settings is not None
    if not arms:
        raise NoArms(f"a new bandit {name!r} needs arms; give arms=['red', 'green'], say")
    row = storage.add_bandit(connection, name, settings.to_dict())
    now = time.time()
    storage.append_events(
        connection, row.id, [Event(arm + 1, "added", now, arm, each) for arm, each in enumerate(arms)]
    )
    return row
