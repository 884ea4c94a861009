"""Finding a bandit in a database, or making it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from rotting.bandit.core.checking import listed
from rotting.bandit.core.clocks import checked_time
from rotting.bandit.core.events import Event
from rotting.bandit.core.settings import BanditSettings
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BadSettings, NoArms, UnknownBandit
from rotting.bandit.log.event_log import EventLog
from rotting.bandit.log.warming import WarmStart, check_arms, import_events
from rotting.bandit.store import schema, storage
from rotting.bandit.store.database import Database
from rotting.bandit.store.storage import BanditRow, StoredLog
from rotting.errors import KernelError, literal, quoted
from rotting.policies import Policy
from rotting.policies._contract.views import check_views


def open_log(
    url: str, name: str, given: Mapping[str, object], arms: list[str] | None, warm: WarmStart | None = None
) -> EventLog:
    """Return the log of the bandit of that name; if there is none, make it with these settings (None: not given)."""
    BanditSettings.check_names(given)
    wanted = {setting: value for setting, value in given.items() if value is not None}
    fresh = BanditSettings(**wanted) if "policy" in wanted else None  # type: ignore[arg-type]
    new = NewBandit(name, fresh, arms, warm)
    log = open_on(Database(url), new)
    log.state.settings.check_same(name, given)
    return log


def open_on(database: Database, new: NewBandit) -> EventLog:
    """Return the log of a bandit in a database that is open; if there is none of that name, make it."""
    with database.held():  # another thread may fork
        row = _find_or_make(database, new)
        database.tables_are_good = True
        return EventLog(database, row, BanditSettings.from_dict(row.settings))


def open_if_there(database: Database, name: str) -> EventLog | None:
    """Return the log of a bandit in a database whose tables are known to be good; None if there is none."""
    with database.held():
        with database.reading() as connection:
            row = storage.find_bandit(connection, name)
        return None if row is None else EventLog(database, row, BanditSettings.from_dict(row.settings))


class NewBandit(NamedTuple):
    """What a bandit is made of, if there is none of that name. Without settings, none is made."""

    name: str
    settings: BanditSettings | None
    arms: list[str] | None
    warm: WarmStart | None = None
    template: str | None = None  # whose segment it is


def _find_or_make(database: Database, new: NewBandit) -> BanditRow:
    """Return the bandit of that name; if there is none, make it."""
    if database.is_missing():
        if new.settings is None:
            raise UnknownBandit(f"there is no database {database.quoted_address}", value=new.name, hint=_MAKE_IT)
    else:
        with database.reading() as connection:
            found = _find(database, connection, new)
        if found is not None:
            return found
    if new.settings is not None:
        _check_choices(new.settings.policy)
    return database.write(lambda connection: _find_or_add(database, connection, new))


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


def _find(database: Database, connection: Connection, new: NewBandit) -> BanditRow | None:
    """Return the bandit of that name, or None if only a transaction that writes could say."""
    version = schema.VERSION if database.tables_are_good else schema.version_of(connection)
    if 0 < version < schema.VERSION:
        return None
    found = storage.find_bandit(connection, new.name) if version else None
    if found is None and new.settings is None:
        known = storage.bandit_names(connection) if version else []
        raise UnknownBandit(_no_bandit(new.name, known), value=new.name, hint=_MAKE_IT)
    return found


def _no_bandit(name: str, known: list[str]) -> str:
    """Say that there is no such bandit, and which there are: those that are called alike, or some."""
    close = difflib.get_close_matches(name, known, n=3) if len(known) > 10 else []
    return f"there is no bandit {quoted(name)}, " + (
        f"did you mean {listed(close)}?" if close else f"only {listed(known)}"
    )


_MAKE_IT = "give {policy} and {arms} to make it"


def _find_or_add(database: Database, connection: Connection, new: NewBandit) -> BanditRow:
    if not database.tables_are_good:
        schema.prepare(connection)
    found = _find(database, connection, new)
    if found is not None:
        return found
    assert new.settings is not None
    arms = new.arms if new.arms is not None or new.warm is None else new.warm.arms
    if not arms:
        raise NoArms(f"a new bandit {quoted(new.name)} needs arms", hint="give them as {arms}")
    new.settings.check_arms(new.name, arms)
    row = storage.add_bandit(connection, new.name, new.settings.to_dict(), new.template)
    now = checked_time(database.clock())
    events = [Event(arm + 1, "added", now, arm, each) for arm, each in enumerate(arms)]
    if new.warm is not None:
        check_arms(new.warm, arms)
        state = BanditState(new.name, new.settings, _no_rewards)
        for event in events:
            state.apply(event)
        events += import_events(state, now, new.warm)
    StoredLog(connection, row.id).append(events)
    return row


def _no_rewards(_: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(0, np.int64), np.empty(0)
