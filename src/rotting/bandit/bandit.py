"""A durable decision maker: named arms, late rewards, and a log from which everything follows."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sqlalchemy import Connection

from rotting.bandit import opening, planning, storage, verifying
from rotting.bandit.checking import good_arms, good_name, good_reward, name_list, reward_pairs, whole_number
from rotting.bandit.database import Database
from rotting.bandit.errors import BadAddress, StorageError
from rotting.bandit.fold import Fold
from rotting.bandit.journal import Journal
from rotting.bandit.settings import Settings
from rotting.bandit.storage import Event
from rotting.bandit.verifying import Verification
from rotting.policies import Policy

if TYPE_CHECKING:
    import pandas

    from rotting.bandit.reporting import Report

MOST_AT_ONCE = 1_000_000  # decisions in a batch


@dataclasses.dataclass(frozen=True)
class Choice:
    """A decision: show `arm`, and tell the bandit what came of it under this `id`.

    `probability` is that of the arm at that moment: 1.0 without exploration floor, None for a policy that tosses coins
    of its own.
    """

    id: str
    arm: str
    why: str
    probability: float | None


class Bandit:
    """A decision maker that remembers everything in a database; made and found again by `Bandit.open`.

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
    Verification(events=7, decisions=4, rewards=1)
    """

    def __init__(self, journal: Journal):
        self._journal = journal

    @classmethod
    def open(
        cls,
        url: str,
        name: str,
        policy: Policy | None = None,
        arms: Iterable[str] | None = None,
        *,
        sigma: str | None = None,
        epsilon: float | None = None,
        count: str | None = None,
        reward_wait: float | None = None,
        default_reward: float | None = None,
        seed: int | None = None,
    ) -> Bandit:
        """Open a bandit, or make it if there is none of that name.

        Settings are kept for good. Those given for a bandit that exists must be the ones that it was made with, and
        the arms must be among those it has; what is not given is as it was.

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
        sigma
            "auto": estimate the policy's sigma from the differences of successive rewards; the policy's own is used
            until 32 rewards are there, and the estimate is renewed after 32, 64, 128, ... rewards.
        epsilon
            Exploration floor: with this probability (0), any available arm is chosen, each as likely.
        count
            Whether an exposure counts as a pull once it is "decided" (that is the default) or "shown".
        reward_wait
            Seconds after which a missing reward is no longer waited for. By default there is no end to it.
        default_reward
            What then counts as the reward. By default nothing: the decision is dropped, and a late reward still
            welcome.
        seed
            Of all coins that are tossed (0).
        """
        name = good_name("bandit", name)
        given: dict[str, Any] = {
            "policy": policy,
            "sigma": sigma,
            "epsilon": epsilon,
            "count": count,
            "reward_wait": reward_wait,
            "default_reward": default_reward,
            "seed": seed,
        }
        wanted = {setting: value for setting, value in given.items() if value is not None}
        fresh = Settings(**wanted) if policy is not None else None
        names = None if arms is None else good_arms(arms)
        database = Database(url)
        with database.lock:  # another thread may fork
            row = opening.find_or_make(database, name, fresh, names)
            settings = Settings.from_dict(row.settings)
            settings.check_same(name, given)
            bandit = cls(Journal(database, row, settings))
        for arm in names or ():
            planning.known_arm(bandit._journal, arm)
        return bandit

    # Deciding.

    @overload
    def decide(self, n: None = None, among: Iterable[str] | None = None) -> Choice: ...

    @overload
    def decide(self, n: int, among: Iterable[str] | None = None) -> list[Choice]: ...

    def decide(self, n: int | None = None, among: Iterable[str] | None = None) -> Choice | list[Choice]:
        """Choose an arm: of all that are not retired, or of those named by `among`.

        With `n`, choose n times and return a list: one transaction, and far quicker than n calls. Decisions whose
        reward is overdue are settled first.
        """
        number = 1 if n is None else whole_number("n", n, 1, MOST_AT_ONCE)
        wanted = None if among is None else name_list("among", among)
        reasons: list[str] = []

        def plan(_: Connection) -> list[Event]:
            planning.arms_among(self._journal, wanted)  # what is refused settles nothing either
            if expired := planning.expiry(self._journal):
                return expired
            reasons[:], decided = planning.decisions(self._journal, number, wanted)
            return decided

        with self._journal.lock:
            while True:
                events = self._journal.append(plan)
                if events[0].kind == "decided":
                    break
            names = self._fold.names
            choices = [
                Choice(event.decision or "", names[event.arm], why, event.probability)
                for event, why in zip(events, reasons, strict=True)
            ]
        return choices[0] if n is None else choices

    # What came of it.

    def shown(self, decision: str) -> bool:
        """Note that a decision has really been shown; False if that was known."""
        return bool(self._journal.append(lambda connection: planning.exposure(self._journal, connection, decision)))

    def reward(self, decision: str, value: float) -> bool:
        """Take in the reward of a decision, however late; False if it was known.

        The same reward again changes nothing; another one is a `RewardConflict`.
        """
        return self.reward_many([(decision, value)]) == 1

    def reward_many(self, rewards: Mapping[str, float] | Iterable[tuple[str, float]]) -> int:
        """Take in many rewards in one transaction, all or none of them, in the order given.

        Returns how many were new.
        """
        pairs = [(decision, good_reward(value)) for decision, value in reward_pairs(rewards)]
        if not pairs:
            return 0
        return len(self._journal.append(lambda connection: planning.rewards(self._journal, connection, pairs)))

    def expire(self) -> int:
        """Settle the decisions whose reward is overdue (`reward_wait`) with the default reward; returns how many.

        `decide` does so by itself. Without default reward, or if an exposure counts when shown and never was, the
        decision is only dropped from those that are waited for.
        """
        return len(self._journal.append(lambda _: planning.expiry(self._journal)))

    # Arms.

    def add_arm(self, name: str) -> None:
        """Add an arm; it is chosen as soon as it is available."""
        self.change_arms(add=[name])

    def retire_arm(self, name: str) -> bool:
        """Choose an arm no more; its history is kept, and rewards on their way are welcome. False if it was retired."""
        return self.change_arms(retire=[name]) == 1

    def restore_arm(self, name: str) -> bool:
        """Make a retired arm available again, with its history. False if it was not retired."""
        return self.change_arms(restore=[name]) == 1

    def change_arms(self, *, add: Iterable[str] = (), retire: Iterable[str] = (), restore: Iterable[str] = ()) -> int:
        """Add, retire and restore several arms, in this order, all or none; returns how many changes it took."""
        new = good_arms(add)
        old, back = name_list("retire", retire), name_list("restore", restore)
        return len(self._journal.append(lambda _: planning.arm_changes(self._journal, new, old, back)))

    @property
    def arms(self) -> dict[str, bool]:
        """The arms in the order of being added, and whether each is available (that is, not retired)."""
        with self._journal.lock:
            self._journal.refresh()
            return dict(zip(self._fold.names, self._fold.live, strict=True))

    # Looking.

    @property
    def name(self) -> str:
        """The name of the bandit."""
        return self._journal.name

    @property
    def policy(self) -> Policy:
        """The policy as it is used now: with sigma="auto", its sigma is the latest estimate."""
        with self._journal.lock:
            self._journal.refresh()
            return self._fold.policy

    def history(self) -> pandas.DataFrame:
        """Return the log: one row per event, in order."""
        from rotting.bandit.reporting import history_frame

        journal = self._journal
        with journal.lock, journal.database.reading() as connection:
            journal.catch_up(connection)
            return history_frame(journal.events(connection), journal.fold.names)

    def report(self) -> Report:
        """Return how the arms are doing."""
        from rotting.bandit.reporting import make_report

        journal = self._journal
        with journal.lock, journal.database.reading() as connection:
            journal.catch_up(connection)
            exposures = storage.exposures_until(connection, journal.bandit, journal.fold.seq)
            return make_report(self.name, journal.fold, exposures)

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write the log to a .csv or .jsonl file, atomically; returns the number of events."""
        from rotting.bandit.reporting import write_history

        if not isinstance(path, str | os.PathLike):
            raise BadAddress(f"path={path!r} is not the name of a file; expected for example 'log.csv'")
        self.refuse_own_file(path)
        frame = self.history()
        write_history(frame, Path(path))
        return len(frame)

    def refuse_own_file(self, path: str | os.PathLike[str]) -> None:
        """Raise a `StorageError` if a file is a part of the database, before somebody writes anything else to it."""
        if self._journal.database.is_part_of_it(path):
            raise StorageError(f"{str(path)!r} is the database itself; expected the name of another file")

    def verify(self, progress: Callable[[int, int], None] | None = None) -> Verification:
        """Replay the whole log: every decision must be the one the policy takes, the state must be bit-identical.

        Raises `VerificationFailed` otherwise. `progress` is called now and then with the events done and all events.
        """
        with self._journal.lock:
            return verifying.verify(self._journal, progress)

    def snapshot(self) -> None:
        """Keep the state, so that opening the bandit is quick. This happens by itself every ten thousand events."""
        self._journal.snapshot()

    def close(self) -> None:
        """Close the connection to the database; the bandit cannot be used any more, but opened again.

        A bandit that is not closed loses nothing either.
        """
        self._journal.database.close()

    def __enter__(self) -> Bandit:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        fold = self._fold
        return f"<Bandit {self.name!r} {fold.policy} with {len(fold.names)} arms after {fold.seq} events>"

    @property
    def settings(self) -> Settings:
        """What the bandit was made with."""
        return self._journal.settings

    @property
    def _fold(self) -> Fold:
        return self._journal.fold
