"""Finding a bandit in a database, or making it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from sqlalchemy import Connection

from rotting.bandit import schema, storage
from rotting.bandit.checking import listed
from rotting.bandit.database import Database
from rotting.bandit.errors import BadSettings, NoArms, UnknownBandit
from rotting.bandit.event_log import EventLog
from rotting.bandit.events import Event
from rotting.bandit.settings import BanditSettings
from rotting.bandit.storage import BanditRow, StoredLog
from rotting.errors import KernelError, literal, quoted
from rotting.policies import Policy
from rotting.policies._engine.views import check_views


def open_log(url: str, name: str, given: Mapping[str, object], arms: list[str] | None) -> EventLog:
    """Return the log of the bandit of that name; if there is none, make it with these settings (None: not given)."""
    wanted = {setting: value for setting, value in given.items() if value is not None}
    fresh = BanditSettings(**wanted) if "policy" in wanted else None  # type: ignore[arg-type]
    return open_log_in(Database(url), name, given, arms, fresh)


def open_log_in(
    database: Database,
    name: str,
    given: Mapping[str, object],
    arms: list[str] | None,
    fresh: BanditSettings | None = None,
) -> EventLog:
    """Do the same with a connection that several bandits share, whose calls then wait for each other."""
    with database.lock:  # another thread may fork
        row = _find_or_make(database, name, fresh, arms)
        log = EventLog(database, row, BanditSettings.from_dict(row.settings))
        log.state.settings.check_same(name, given)
        return log


def _find_or_make(database: Database, name: str, settings: BanditSettings | None, arms: list[str] | None) -> BanditRow:
    if database.is_missing():
        if settings is None:
            raise UnknownBandit(f"there is no database {database.quoted_address}", value=name, hint=_MAKE_IT)
    else:
        with database.reading() as connection:
            found = _find(connection, name, settings)
        if found is not None:
            return found
    if settings is not None:
        _check_choices(settings.policy)
    return database.write(lambda connection: _find_or_add(connection, name, settings, arms))


def _check_choices(policy: Policy) -> None:
    """Refuse a user's policy that could not choose among the arms that are left once others are retired."""
    try:
        check_views(policy)
    except KernelError as error:
        raise BadSettings(
            f"cannot be used for a bandit, whose arms may be retired: {literal(str(error))}",
            name="policy",
            value=policy,
        ) from None


def _find(connection: Connection, name: str, settings: BanditSettings | None) -> BanditRow | None:
    """Return the bandit of that name, or None if only a transaction that writes could say."""
    version = schema.version_of(connection)
    if 0 < version < schema.VERSION:
        return None
    found = storage.find_bandit(connection, name) if version else None
    if found is None and settings is None:
        known = storage.bandit_names(connection) if version else []
        raise UnknownBandit(f"there is no bandit {quoted(name)}, only {listed(known)}", value=name, hint=_MAKE_IT)
    return found


_MAKE_IT = "give {policy} and {arms} to make it"


def _find_or_add(
    connection: Connection, name: str, settings: BanditSettings | None, arms: list[str] | None
) -> BanditRow:
    schema.prepare(connection)
    found = _find(connection, name, settings)
    if found is not None:
        return found
    assert settings is not None
    if not arms:
        raise NoArms(f"a new bandit {quoted(name)} needs arms", hint="give them as {arms}")
    settings.check_arms(name, arms)
    row = storage.add_bandit(connection, name, settings.to_dict())
    now = time.time()
    events = [Event(arm + 1, "added", now, arm, each) for arm, each in enumerate(arms)]
    StoredLog(connection, row.id).append(events)
    return row
