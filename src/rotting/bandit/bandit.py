"""The durable decision maker: named arms, late rewards, and an append-only event log from which everything follows."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial as bound
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

from rotting.bandit.core import changes
from rotting.bandit.core.checking import good_arms, good_name, name_list
from rotting.bandit.core.events import Event
from rotting.bandit.core.experiments import Time
from rotting.bandit.core.requests import (
    All,
    Change,
    Choice,
    Decide,
    Outcome,
    Request,
    Reward,
    Shown,
    checked,
)
from rotting.bandit.core.settings import BanditSettings, SettingsChange, SettingsGiven, explains_settings
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BadAddress, BadSettings, BanditError, CannotCopy, StorageError
from rotting.bandit.log.compacting import Compaction, compact, delete_bandit
from rotting.bandit.log.exporting import check_export, write_log
from rotting.bandit.log.streaming import LogRow, Range, frame, portions
from rotting.bandit.log.verifying import Verification, verify
from rotting.bandit.log.warming import WarmSource, import_events, read_warm_start
from rotting.bandit.metrics import Observer
from rotting.bandit.opening import open_log
from rotting.bandit.report.reporting import Report, Standing, make_report, make_standing
from rotting.bandit.store.deadlines import Deadline
from rotting.errors import quoted
from rotting.policies import Policy

if TYPE_CHECKING:
    import pandas

    from rotting.bandit.log.event_log import EventLog, Planner

# Rewards by decision.
Rewards: TypeAlias = Mapping[str, float] | Iterable[tuple[str, float]]


class Bandit:
    """A decision maker that keeps an append-only log in a database; made and opened by `Bandit.open`.

    Methods may be called from several threads, and several processes may open the same bandit. Every method that
    writes returns when what it wrote is durable, or raises a `BanditError` and has written nothing.

    Examples
    --------
    >>> import tempfile
    >>> from rotting import EffFEWA
    >>> folder = tempfile.mkdtemp()
    >>> bandit = Bandit.open(f"sqlite:///{folder}/fatigue.db", "hero", EffFEWA(sigma=0.5), ["red", "green"])
    >>> choice = bandit.decide()
    >>> choice.arm, choice.why
    ('red', 'never tried')
    >>> bandit.reward(choice.id, 1.0)
    True
    >>> [later.arm for later in bandit.decide(3)]
    ['green', 'red', 'green']
    >>> bandit.verify()
    Verification(events=7, decisions=4, rewards=1, since=1)
    """

    def __init__(self, log: EventLog):
        self._log = log

    @classmethod
    @explains_settings
    def open(
        cls,
        url: str,
        name: str,
        policy: Policy | None = None,
        arms: Iterable[str] | None = None,
        *,
        update_arms: bool = False,
        warm_start: WarmSource | None = None,
        **settings: Unpack[SettingsGiven],
    ) -> Bandit:
        """Open a bandit, or make it if there is none of that name.

        Settings given for a bandit that exists must be those that it has (`change` changes them), and the arms must be
        among its arms, unless `update_arms` says that new ones are added.

        Parameters
        ----------
        url
            "sqlite:///FILE" or "postgresql://USER:PASSWORD@HOST/DATABASE".
        name
            Of the bandit: a database holds any number.
        policy
            How to decide, for example `EffFEWA(sigma=0.5)`.
        arms
            Names of the arms to begin with.
        update_arms
            Add the arms that the bandit does not have.
        warm_start
            Rewards that a new bandit has learnt before its first decision: another bandit; rows (a table, or a list
            of mappings) with `arm`, `reward` and, where they are known, `time` and `probability`; or a file, read as
            `rotting.logs.read_rows` does. Without `arms`, the arms are those of the rewards. A bandit that exists is
            opened as it is: see the method `warm_start`.
        settings
            What else a bandit is made with; docs/production.md has the table.

        """
        given = {"policy": policy, **settings}
        names = None if arms is None else good_arms("arms", arms)
        warm = None if warm_start is None else read_warm_start(warm_start)
        bandit = cls(open_log(url, good_name("bandit", name), given, names, warm))
        weakref.finalize(bandit, bandit._log.commits.give_back).atexit = False
        if update_arms and names and not set(names) <= set(bandit._state.index):
            bandit._change(bound(changes.arm_changes, add_new=names))
        for arm in names or ():
            changes.known_arm(bandit._state, arm)
        return bandit

    # Many requests at once.

    def exchange(self, requests: Iterable[Request], timeout: float | None = None) -> list[Outcome]:
        """Carry out the requests of many strangers in one transaction, and return an outcome for each, in their order.

        Decisions come first, then exposures and rewards in the order given. The outcome of a request that is refused
        is its `BanditError`, and the others go on as if it had not been there. What concerns all of them, such as
        a `StorageError`, is raised, and nothing is written.

        Requests check themselves when they are made: `Reward(id, nan)` and `Decide(n=0)` raise a `BanditError` at once.
        Make those of strangers one by one, and answer each that raises.

        Examples
        --------
        >>> import tempfile
        >>> from rotting import EffFEWA
        >>> from rotting.bandit import Decide, Reward
        >>> url = f"sqlite:///{tempfile.mkdtemp()}/fatigue.db"
        >>> bandit = Bandit.open(url, "hero", EffFEWA(sigma=0.5), ["red", "green"])
        >>> first, again = bandit.exchange([Decide(key="request 1"), Decide(key="request 1")])
        >>> first.arm, again.id == first.id
        ('red', True)
        >>> bandit.exchange([Reward(first.id, 1.0), Reward("nonsense", 1.0)])
        [True, UnknownDecision("bandit 'hero' took no decision 'nonsense'")]
        """
        listed = checked(requests)
        return self._log.commits.submit(self._log, listed, Deadline(timeout)) if listed else []

    def _ask(self, request: Request, timeout: float | None) -> Any:
        """Return the outcome of one request; if it is an error, raise it."""
        return self._log.commits.ask(self._log, request, Deadline(timeout))

    # Deciding. `AsyncBandit` has the same methods as far as here and "Changes": they only use `_ask`.

    @overload
    def decide(
        self,
        n: None = None,
        among: Iterable[str] | None = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
        fallback: str | None = None,
    ) -> Choice: ...

    @overload
    def decide(
        self,
        n: int,
        among: Iterable[str] | None = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
        fallback: str | None = None,
    ) -> list[Choice]: ...

    def decide(
        self,
        n: int | None = None,
        among: Iterable[str] | None = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
        fallback: str | None = None,
    ) -> Choice | list[Choice]:
        """Choose an arm: of all that are not retired, or of those named by `among`.

        With `n`, choose n times and return a list: one transaction, and far quicker than n calls. Decisions whose
        reward is overdue are settled first, 500 of them at most. The same `key` again gives the same decisions, also
        after a restart and in another process.

        With `fallback`, a call whose deadline passes, or whose database fails, does not raise an error: it returns that
        arm, as a choice with an empty `id`. It is not a decision: nothing is logged of it, and it takes no reward.
        """
        return self._ask(Decide(n, among, key, fallback), timeout)  # type: ignore[no-any-return]

    # Outcomes.

    def shown(self, decision: str, *, timeout: float | None = None) -> bool:
        """Log that a decision has really been shown; False if that was known."""
        return self._ask(Shown(decision), timeout)  # type: ignore[no-any-return]

    def shown_many(self, decisions: Iterable[str], *, timeout: float | None = None) -> int:
        """Log that many decisions have been shown, all or none of them; returns how many were new."""
        return self._ask(All(tuple(map(Shown, name_list("decisions", decisions)))), timeout)  # type: ignore[no-any-return]

    def reward(self, decision: str, value: float, *, timeout: float | None = None) -> bool:
        """Log the reward of a decision, however late; False if it was known.

        The same reward again changes nothing; another one is a `RewardConflict`.
        """
        return self._ask(Reward(decision, value), timeout)  # type: ignore[no-any-return]

    @overload
    def reward_many(
        self,
        rewards: Rewards,
        *,
        partial: Literal[False] = False,
        timeout: float | None = None,
    ) -> int: ...

    @overload
    def reward_many(
        self,
        rewards: Rewards,
        *,
        partial: Literal[True],
        timeout: float | None = None,
    ) -> list[bool | BanditError]: ...

    def reward_many(
        self,
        rewards: Rewards,
        *,
        partial: bool = False,
        timeout: float | None = None,
    ) -> int | list[bool | BanditError]:
        """Log many rewards in one transaction, in the order given: all or none of them; returns how many were new.

        With `partial`, those that can be logged are, and the list that is returned says for each whether it was new,
        or which error it is.
        """
        return self._ask(All.rewards(rewards, partial), timeout)  # type: ignore[no-any-return]

    # Changes.

    def expire(self, *, timeout: float | None = None) -> int:
        """Settle the decisions whose reward is overdue (`reward_wait`) with the default reward; returns how many.

        `decide` does so by itself. Without default reward, or if an exposure counts when shown and never was, the
        decision is only dropped from those that are waited for. Many are settled in portions, so that other writers do
        not wait for all of them.
        """
        settled, deadline = 0, Deadline(timeout)
        try:
            while some := self._log.commits.ask(self._log, Change(changes.expiry), deadline):
                settled += len(some)
        except StorageError as error:
            error.may_be_written |= settled > 0
            raise
        return settled

    def _change(self, plan: Planner, timeout: float | None = None) -> list[Event]:
        """Append what may bring other arms or another policy, for which much is to be learnt."""
        deadline = Deadline(timeout)
        self._log.expect(plan, deadline)
        return self._log.commits.ask(self._log, Change(plan, changes_policy=True), deadline)  # type: ignore[no-any-return]

    # Arms.

    def add_arm(self, name: str) -> None:
        """Add an arm; it is chosen as soon as it is available."""
        self.change_arms(add=[name])

    def retire_arm(self, name: str) -> bool:
        """Stop choosing an arm; its history is kept, and late rewards are accepted. False if it was retired."""
        return self.change_arms(retire=[name]) == 1

    def restore_arm(self, name: str) -> bool:
        """Make a retired arm available again, with its history. False if it was not retired."""
        return self.change_arms(restore=[name]) == 1

    def change_arms(
        self,
        *,
        add: Iterable[str] = (),
        retire: Iterable[str] = (),
        restore: Iterable[str] = (),
        timeout: float | None = None,
    ) -> int:
        """Add, retire and restore several arms, in this order, all or none; returns how many changes it took."""
        new, old, back = good_arms("add", add), name_list("retire", retire), name_list("restore", restore)
        return len(self._change(bound(changes.arm_changes, add=new, retire=old, restore=back), timeout))

    def warm_start(self, source: WarmSource) -> int:
        """Learn rewards that came elsewhere, all or none (see `warm_start` of `open`); returns how many there were.

        They are logged as imported, and do not count as decisions of this bandit. Called twice, it learns them twice.
        """
        if isinstance(source, Bandit) and source._log.token == self._log.token:
            raise BadSettings("is this bandit itself, which knows its rewards", name="source", value=source)
        warm = read_warm_start(source)
        self._ask(Change(bound(import_events, warm=warm)), timeout=None)
        return len(warm.rewards)

    # Settings.

    def change(self, *, timeout: float | None = None, **settings: Unpack[SettingsChange]) -> list[str]:
        """Change settings, all or none; returns the names of those that were different.

        The change is an event of the log: decisions before it are verified with the old settings, those after it are
        taken with the new ones. A new policy learns all rewards there have been. A number as `sigma` is the new
        parameter of the policy, "auto" begins an estimate with the rewards that follow. `count` and `seed` are never
        changed. A policy that is not made for the bandit's `reward_range` is warned of, as when a bandit is made.

        Examples
        --------
        >>> import tempfile
        >>> from rotting import Bandit, EffFEWA
        >>> bandit = Bandit.open(f"sqlite:///{tempfile.mkdtemp()}/fatigue.db", "hero", EffFEWA(), ["red", "green"])
        >>> bandit.change(epsilon=0.05, sigma=0.3)
        ['policy', 'epsilon']
        >>> bandit.change(epsilon=0.05)
        []
        """
        events = self._change(bound(changes.setting_changes, changes=settings), timeout)
        changed = list(json.loads(events[0].details or "")) if events else []
        if "policy" in changed or "reward_range" in changed:
            self._state.settings.warn_if_unsuited()
        return changed

    # Reading.

    @property
    def settings(self) -> BanditSettings:
        """The settings as they are now."""
        with self._log.reading():
            return self._state.settings

    @property
    def arms(self) -> dict[str, bool]:
        """The arms in the order of being added, and whether each is available (that is, not retired)."""
        with self._log.reading():
            return dict(zip(self._state.names, self._state.live, strict=True))

    @property
    def name(self) -> str:
        """The name of the bandit."""
        return self._log.name

    @property
    def policy(self) -> Policy:
        """The policy as it is used now: with sigma="auto", its sigma is the latest estimate."""
        with self._log.reading():
            return self._state.policy

    def _repr_html_(self) -> str:
        from rotting.bandit.report.showing import bandit_html

        return bandit_html(self)

    def history(
        self,
        since: Time | None = None,
        until: Time | None = None,
        arm: str | None = None,
        *,
        after: int | None = None,
        limit: int | None = None,
        replays: int | None = None,
    ) -> pandas.DataFrame:
        """Return the log, or a part of it: one row per event, in order.

        Parameters
        ----------
        since, until
            Events from this time on, and before that one: a `datetime`, or a text such as "2026-01-31 12:00"; without
            a zone, in UTC.
        arm
            Events of this arm only.
        after, limit
            Events after that number, and so many of them.
        replays
            Fill in probabilities that were not known at the decision, each by so many draws with other random words
            (100, say). The log is replayed from its beginning for it.
        """
        wanted = Range(since, until, arm, after, limit, replays=replays)
        return frame([row for rows in portions(self._log, wanted) for row in rows])

    def history_portions(
        self,
        since: Time | None = None,
        until: Time | None = None,
        arm: str | None = None,
        *,
        size: int = 10_000,
        replays: int | None = None,
    ) -> Iterator[pandas.DataFrame]:
        """Yield what `history` returns in tables of so many events: for logs that do not fit into memory."""
        return map(frame, portions(self._log, Range(since, until, arm, size=size, replays=replays)))

    def report(self) -> Report:
        """Return how the arms are doing."""
        with self._log.reading() as stored:
            return make_report(self._state, stored.exposures_until(self._state.seq))

    def rows(
        self, *, after: int | None = None, limit: int | None = None, size: int = 10_000, replays: int | None = None
    ) -> Iterator[list[LogRow]]:
        """Yield the log after an event, or so many events of it, in lists of plain rows; see `history`."""
        return portions(self._log, Range(after=after, limit=limit, size=size, replays=replays))

    def standing(self) -> Standing:
        """Return what the state says at once, without reading the rewards: arms, counts, settings."""
        with self._log.reading():
            return make_standing(self._state)

    def export(
        self,
        path: str | os.PathLike[str],
        since: Time | None = None,
        until: Time | None = None,
        arm: str | None = None,
        *,
        replays: int | None = None,
    ) -> int:
        """Write the log, or a part of it as in `history`, to a file, atomically; returns the number of events.

        The name ends in .csv, .jsonl (JSON lines), .parquet or .arrow. The log is read in portions, so that memory does
        not grow with it.
        """
        if not isinstance(path, str | os.PathLike):
            raise BadAddress("is not the name of a file", name="path", value=path, expected="for example 'log.csv'")
        self.refuse_own_file(path)
        check_export(Path(path))
        return write_log(portions(self._log, Range(since, until, arm, replays=replays)), Path(path))

    def refuse_own_file(self, path: str | os.PathLike[str]) -> None:
        """Raise a `StorageError` if a file belongs to the database; call it before writing to a file of the user's."""
        if self._log.store.owns_file(path):
            raise StorageError(
                f"{quoted(str(path))} is the database itself", value=path, expected="the name of another file"
            )

    def verify(self, progress: Callable[[int, int], None] | None = None) -> Verification:
        """Replay the whole log: every decision must be the one the policy takes, the state must be bit-identical.

        Raises `VerificationFailed` otherwise. `progress` is called after every 1000 events with the number of events
        done and of all events.
        """
        return verify(self._log, progress)

    def __repr__(self) -> str:
        state = self._state
        return f"<Bandit {self.name!r} {state.policy} with {len(state.names)} arms after {state.seq} events>"

    @property
    def _state(self) -> BanditState:
        return self._log.state

    # Upkeep.

    def compact(
        self,
        before: Time | int,
        export: str | os.PathLike[str],
        progress: Callable[[int, int], None] | None = None,
    ) -> Compaction:
        """Replace the beginning of the log by a seal, and keep its events in a file.

        The part is verified first. The seal holds the state after it and its rewards; the event that says so holds the
        checksums of the seal and of the file. Decisions that wait for a reward go on waiting; rewards of others in that
        part are refused as `CompactedDecision`, and keys of requests in it are forgotten.

        Parameters
        ----------
        before
            A time, as in `history`: what happened before it is compacted. Or the number of the last event to compact.
        export
            A new file for the events, in one of the formats of `export`. One that exists is refused: it may be the only
            copy of earlier events.
        progress
            Called after every 1000 events with the number of events done and of all of them.
        """
        self.refuse_own_file(export)
        return compact(self._log, before, Path(export), progress)

    @staticmethod
    def delete(url: str, name: str) -> int:
        """Delete a bandit with its log, for good; returns the number of its last event."""
        return delete_bandit(url, good_name("bandit", name))

    def snapshot(self) -> None:
        """Store the state, so that opening the bandit is quick. This happens by itself every ten thousand events."""
        self._log.snapshots.take()

    def close(self) -> None:
        """Close the connection to the database; the bandit cannot be used any more, but opened again.

        A bandit that is not closed loses nothing either.
        """
        self._log.commits.close()

    def observe(self, observer: Observer) -> None:
        """Give every transaction's `Measurement` to a callback, from the thread that wrote it. It must be quick."""
        self._log.observers.append(observer)

    def __reduce__(self) -> tuple[object, ...]:
        raise CannotCopy(
            f"bandit {quoted(self.name)} has a connection of its own, which cannot be copied or pickled",
            hint="open it again where it is needed, with the same address and name",
        )

    def __enter__(self) -> Bandit:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
