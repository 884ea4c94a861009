"""The durable decision maker: named arms, late rewards, and an append-only event log from which everything follows."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack, overload

from rotting.bandit.changing import ChangeableBandit
from rotting.bandit.core import planning
from rotting.bandit.core.checking import good_arms, good_name, good_reward, name_list, reward_pairs
from rotting.bandit.core.requests import AllRewards, AllShown, Choice, Decide, Outcome, Request, Reward, checked
from rotting.bandit.core.settings import SettingsGiven, explains_settings
from rotting.bandit.errors import BanditError, CannotCopy
from rotting.bandit.log.warming import WarmSource, read_warm_start
from rotting.bandit.metrics import Observer
from rotting.bandit.opening import open_log
from rotting.bandit.store.deadlines import Deadline
from rotting.errors import quoted
from rotting.policies import Policy

if TYPE_CHECKING:
    from rotting.bandit.log.compacting import Compaction
    from rotting.bandit.log.streaming import Time


class Bandit(ChangeableBandit):
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
        if update_arms:
            bandit._add_new_arms(names or [])
        for arm in names or ():
            planning.known_arm(bandit._state, arm)
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

    def _ask(self, request: Request, timeout: float | None) -> Outcome:
        """Return the outcome of one request; if it is an error, raise it."""
        (outcome,) = self._log.commits.submit(self._log, [request], Deadline(timeout))
        if isinstance(outcome, BanditError):
            raise outcome
        return outcome

    # Deciding.

    @overload
    def decide(
        self,
        n: None = None,
        among: Iterable[str] | None = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Choice: ...

    @overload
    def decide(
        self, n: int, among: Iterable[str] | None = None, *, key: str | None = None, timeout: float | None = None
    ) -> list[Choice]: ...

    def decide(
        self,
        n: int | None = None,
        among: Iterable[str] | None = None,
        *,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Choice | list[Choice]:
        """Choose an arm: of all that are not retired, or of those named by `among`.

        With `n`, choose n times and return a list: one transaction, and far quicker than n calls. Decisions whose
        reward is overdue are settled first, 500 of them at most. The same `key` again gives the same decisions, also
        after a restart and in another process.
        """
        return self._ask(Decide(n, among, key), timeout)  # type: ignore[return-value]

    # Outcomes.

    def shown(self, decision: str, *, timeout: float | None = None) -> bool:
        """Log that a decision has really been shown; False if that was known."""
        return self.shown_many([decision], timeout=timeout) == 1

    def shown_many(self, decisions: Iterable[str], *, timeout: float | None = None) -> int:
        """Log that many decisions have been shown, all or none of them; returns how many were new."""
        listed = tuple(name_list("decisions", decisions))
        return self._ask(AllShown(listed), timeout) if listed else 0  # type: ignore[return-value]

    def reward(self, decision: str, value: float, *, timeout: float | None = None) -> bool:
        """Log the reward of a decision, however late; False if it was known.

        The same reward again changes nothing; another one is a `RewardConflict`.
        """
        return self.reward_many([(decision, value)], timeout=timeout) == 1

    @overload
    def reward_many(
        self,
        rewards: Mapping[str, float] | Iterable[tuple[str, float]],
        *,
        partial: Literal[False] = False,
        timeout: float | None = None,
    ) -> int: ...

    @overload
    def reward_many(
        self,
        rewards: Mapping[str, float] | Iterable[tuple[str, float]],
        *,
        partial: Literal[True],
        timeout: float | None = None,
    ) -> list[bool | BanditError]: ...

    def reward_many(
        self,
        rewards: Mapping[str, float] | Iterable[tuple[str, float]],
        *,
        partial: bool = False,
        timeout: float | None = None,
    ) -> int | list[bool | BanditError]:
        """Log many rewards in one transaction, in the order given: all or none of them; returns how many were new.

        With `partial`, those that can be logged are, and the list that is returned says for each whether it was new,
        or which error it is.
        """
        if partial:
            return self._reward_some(reward_pairs(rewards), timeout)
        pairs = tuple((decision, good_reward(value)) for decision, value in reward_pairs(rewards))
        return self._ask(AllRewards(pairs), timeout) if pairs else 0  # type: ignore[return-value,arg-type]

    def _reward_some(self, pairs: list[tuple[object, object]], timeout: float | None) -> list[bool | BanditError]:
        outcomes: list[bool | BanditError] = []
        good: list[Request] = []
        for decision, value in pairs:
            try:
                good.append(Reward(decision, value))  # type: ignore[arg-type]
                outcomes.append(False)
            except BanditError as error:
                outcomes.append(error)
        rest = iter(self.exchange(good, timeout))
        return [each if isinstance(each, BanditError) else next(rest) for each in outcomes]  # type: ignore[misc]

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
        from rotting.bandit.log.compacting import compact

        self.refuse_own_file(export)
        return compact(self._log, before, Path(export), progress)

    @staticmethod
    def delete(url: str, name: str) -> int:
        """Delete a bandit with its log, for good; returns the number of its last event."""
        from rotting.bandit.log.compacting import delete_bandit

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
