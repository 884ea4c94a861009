"""Finding a bandit in a database, or making it."""

from __future__ import annotations

import difflib
import json
import secrets
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rotting.bandit.commit import Commits
from rotting.bandit.core.checking import listed
from rotting.bandit.core.clocks import checked_time
from rotting.bandit.core.events import Event
from rotting.bandit.core.settings import BanditSettings
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BadSettings, NoArms, UnknownBandit
from rotting.bandit.log.event_log import EventLog
from rotting.bandit.log.warming import WarmStart, check_arms, import_events
from rotting.bandit.store.addresses import open_store
from rotting.bandit.store.contract import BanditRow, Condition, Store
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
    log = open_on(Commits(open_store(url)), NewBandit(name, fresh, arms, warm))
    log.state.settings.check_same(name, wanted)
    return log


def open_on(commits: Commits, new: NewBandit) -> EventLog:
    """Return the log of a bandit in a store that is open; if there is none of that name, make it."""
    with commits.held():  # another thread may fork
        return EventLog(commits, _find_or_make(commits.store, new))


def open_if_there(commits: Commits, name: str) -> EventLog | None:
    """Return the log of a bandit in a store that is open; None if there is none."""
    with commits.held():
        _, row = look_for(commits.store, name)
        return None if row is None else EventLog(commits, row)


class NewBandit(NamedTuple):
    """What a bandit is made of, if there is none of that name. Without settings, none is made."""

    name: str
    settings: BanditSettings | None = None
    arms: list[str] | None = None
    warm: WarmStart | None = None
    template: str | None = None  # whose segment it is


def look_for(store: Store, name: str) -> tuple[Condition, BanditRow | None]:
    """Return what there is in a store, and the bandit of that name, if there is one."""
    if store.is_missing():
        return "nothing", None
    with store.reading():
        condition = store.condition()
        return condition, store.find(name=name) if condition == "ready" else None


def _find_or_make(store: Store, new: NewBandit) -> BanditRow:
    """Return the bandit of that name; if there is none, make it."""
    condition, found = look_for(store, new.name)
    if condition == "older":
        store.prepare()
        condition, found = look_for(store, new.name)
    if found is not None:
        return found
    if new.settings is None:
        raise unknown(store, condition, new.name)
    _check_choices(new.settings.policy)
    if new.template is None:  # who makes a template has been warned
        new.settings.warn_if_unsuited()
    events = _first_events(new, new.settings, checked_time(store.clock()))
    if condition == "nothing":
        store.prepare()
    return store.add(_row(new, new.settings), events)


def unknown(store: Store, condition: Condition, name: str) -> UnknownBandit:
    """Return the error that there is no such bandit; it says which there are: those that are called alike, or some."""
    hint = "give {policy} and {arms} to make it"
    if store.is_missing():
        return UnknownBandit(f"there is no database {store.address}", value=name, hint=hint)
    known: list[str] = []
    if condition == "ready":
        with store.reading():
            known = sorted(row.name for row in store.bandits())
    close = difflib.get_close_matches(name, known, n=3) if len(known) > 10 else []
    rest = f"did you mean {listed(close)}?" if close else f"only {listed(known)}"
    return UnknownBandit(f"there is no bandit {quoted(name)}, {rest}", value=name, hint=hint)


def _check_choices(policy: Policy) -> None:
    """Refuse a policy that needs what is not logged, and a user's that could not choose among arms that are left."""
    if policy.sees:
        problem = "learns from what it saw when it chose, and rewards of a bandit come later"
        raise BadSettings(problem, name="policy", value=policy, hint="an agent can play it: {policy}.start(n_arms)")
    try:
        check_views(policy)
    except KernelError as error:
        raise BadSettings(
            f"cannot be used for a bandit, whose arms may be retired: {literal(str(error))}",
            name="policy",
            value=policy,
        ) from None


def _row(new: NewBandit, settings: BanditSettings) -> BanditRow:
    content = settings.to_dict() | ({} if new.template is None else {"template": new.template})
    return BanditRow(0, new.name, secrets.token_hex(5), secrets.token_hex(16), json.dumps(content))


def _first_events(new: NewBandit, settings: BanditSettings, now: float) -> list[Event]:
    """Return the events that a log begins with."""
    arms = new.arms if new.arms is not None or new.warm is None else new.warm.arms
    if not arms:
        raise NoArms(f"a new bandit {quoted(new.name)} needs arms", hint="give them as {arms}")
    settings.check_arms(new.name, arms)
    events = [Event(arm + 1, "added", now, arm, each) for arm, each in enumerate(arms)]
    if new.warm is not None:
        check_arms(new.warm, arms)
        state = BanditState(new.name, settings, _no_rewards)
        for event in events:
            state.apply(event)
        events += import_events(state, now, new.warm)
    return events


def _no_rewards(_: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(0, np.int64), np.empty(0)
