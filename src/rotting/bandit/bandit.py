"""The durable decision maker: named arms, late rewards, and an append-only event log from which everything follows."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

from rotting._core.validation import whole_number
from rotting.bandit import planning, verifying
from rotting.bandit.checking import good_arms, good_name, good_reward, name_list, reward_pairs
from rotting.bandit.errors import BadAddress, BadSettings, StorageError
from rotting.bandit.events import Event
from rotting.bandit.planning import DecisionReader
from rotting.bandit.settings import BanditSettings, Limit, SettingsChange
from rotting.bandit.state import BanditState
from rotting.bandit.verifying import Verification
from rotting.errors import BadValue, MissingExtra, quoted
from rotting.policies import Policy

if TYPE_CHECKING:
    import pandas

    from rotting.bandit.event_log import EventLog
    from rotting.bandit.reporting import Report

LARGEST_BATCH = 1_000_000  # decisions


@dataclasses.dataclass(frozen=True)
class Choice:
    """A decision: show `arm`, and report its reward under this `id`.

    `why` is the reason in words. `probability` is that of the arm at that moment: 1.0 without exploration floor, None
    for a randomised policy, whose probabilities are not known.
    """

    id: str
    arm: str
    why: str
    probability: float | None


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
    Verification(events=7, decisions=4, rewards=1)
    """

    def __init__(self, log: EventLog):
        self._log = log

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
        reward_range: tuple[float, float] | None = None,
        holdout: float | None = None,
        control: str | None = None,
        min_exposures: Limit | None = None,
        max_exposures: Limit | None = None,
        exposure_period: float | None = None,
        update_arms: bool = False,
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
        sigma
            "auto": estimate the policy's sigma from the differences of successive rewards; the policy's own is used
            until 32 rewards have arrived, and the estimate is updated after 32, 64, 128, ... rewards.
        epsilon
            Exploration floor: with this probability (0), any available arm is chosen, each as likely.
        count
            Whether an exposure counts as a pull once it is "decided" (that is the default) or "shown".
        reward_wait
            Seconds after which a missing reward is no longer waited for. By default there is no end to it.
        default_reward
            What then counts as the reward. By default nothing: the decision stops counting, and a late reward is still
            accepted.
        seed
            Of all random choices (0).
        reward_range
            Bounds of rewards, (low, high); others are refused. By default every finite number is a reward.
        holdout
            Share of decisions (0) that the policy does not take, to measure what it earns more than they do.
        control
            The arm that the holdout shows. By default it shows any available arm, each as likely.
        min_exposures
            Number of decisions below which an arm is chosen before the policy chooses: one for all arms, or a mapping
            from names of arms.
        max_exposures
            Number of decisions after which an arm is no longer chosen, given in the same way.
        exposure_period
            Seconds after which both counts begin again, at multiples of it since 1970. By default they never do.
        update_arms
            Add the arms that the bandit does not have.
        """
        open_log = _import_open_log()
        given = {
            "policy": policy,
            "sigma": sigma,
            "epsilon": epsilon,
            "count": count,
            "reward_wait": reward_wait,
            "default_reward": default_reward,
            "seed": seed,
            "reward_range": reward_range,
            "holdout": holdout,
            "control": control,
            "min_exposures": min_exposures,
            "max_exposures": max_exposures,
            "exposure_period": exposure_period,
        }
        names = None if arms is None else good_arms("arms", arms)
        bandit = cls(open_log(url, good_name("bandit", name), given, names))
        if update_arms:
            bandit._add_new_arms(names or [])
        for arm in names or ():
            planning.known_arm(bandit._state, arm)
        return bandit

    def _add_new_arms(self, names: list[str]) -> None:
        def plan(state: BanditState, now: float, _: DecisionReader) -> list[Event]:
            return planning.arm_changes(state, now, [name for name in names if name not in state.index], [], [])

        if not all(name in self._state.index for name in names):
            self._log.append(plan)

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
        number = 1 if n is None else _batch_size(n)
        wanted = None if among is None else name_list("among", among)
        reasons: list[str] = []

        def plan(state: BanditState, now: float, _: DecisionReader) -> list[Event]:
            arms = planning.arms_among(state, wanted)  # first of all: what is refused settles nothing either
            if expired := planning.expiry(state, now):
                return expired
            identifiers = self._log.identifiers
            decided, reasons[:] = planning.decisions(state, now, identifiers, number, arms, wanted is not None)
            return decided

        with self._log.lock:
            while (events := self._log.append(plan))[0].kind == "expired":
                pass
            names = self._state.names
            choices = [
                Choice(event.decision or "", names[event.arm], why, event.probability)
                for event, why in zip(events, reasons, strict=True)
            ]
        return choices[0] if n is None else choices

    # Outcomes.

    def shown(self, decision: str) -> bool:
        """Log that a decision has really been shown; False if that was known."""
        return bool(self._log.append(lambda state, now, log: planning.exposure(state, now, log, decision)))

    def reward(self, decision: str, value: float) -> bool:
        """Log the reward of a decision, however late; False if it was known.

        The same reward again changes nothing; another one is a `RewardConflict`.
        """
        return self.reward_many([(decision, value)]) == 1

    def reward_many(self, rewards: Mapping[str, float] | Iterable[tuple[str, float]]) -> int:
        """Log many rewards in one transaction, all or none of them, in the order given.

        Returns how many were new.
        """
        pairs = [(decision, good_reward(value)) for decision, value in reward_pairs(rewards)]
        if not pairs:
            return 0
        return len(self._log.append(lambda state, now, log: planning.rewards(state, now, log, pairs)))

    def expire(self) -> int:
        """Settle the decisions whose reward is overdue (`reward_wait`) with the default reward; returns how many.

        `decide` does so by itself. Without default reward, or if an exposure counts when shown and never was, the
        decision is only dropped from those that are waited for.
        """
        return len(self._log.append(lambda state, now, _: planning.expiry(state, now)))

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

    def change_arms(self, *, add: Iterable[str] = (), retire: Iterable[str] = (), restore: Iterable[str] = ()) -> int:
        """Add, retire and restore several arms, in this order, all or none; returns how many changes it took."""
        new, old, back = good_arms("add", add), name_list("retire", retire), name_list("restore", restore)
        return len(self._log.append(lambda state, now, _: planning.arm_changes(state, now, new, old, back)))

    # Settings.

    def change(self, **settings: Unpack[SettingsChange]) -> list[str]:
        """Change settings, all or none; returns the names of those that were different.

        The change is an event of the log: decisions before it are verified with the old settings, those after it are
        taken with the new ones. A new policy learns all rewards there have been. A number as `sigma` is the new
        parameter of the policy, "auto" begins an estimate with the rewards that follow. `count` and `seed` are never
        changed.

        Examples
        --------
        >>> import tempfile
        >>> from rotting import EffFEWA
        >>> bandit = Bandit.open(f"sqlite:///{tempfile.mkdtemp()}/fatigue.db", "hero", EffFEWA(), ["red", "green"])
        >>> bandit.change(epsilon=0.05, sigma=0.3)
        ['policy', 'epsilon']
        >>> bandit.change(epsilon=0.05)
        []
        """
        events = self._log.append(lambda state, now, _: planning.setting_changes(state, now, settings))
        return list(json.loads(events[0].details or "")) if events else []

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

    # Reading.

    @property
    def name(self) -> str:
        """The name of the bandit."""
        return self._log.name

    @property
    def policy(self) -> Policy:
        """The policy as it is used now: with sigma="auto", its sigma is the latest estimate."""
        with self._log.reading():
            return self._state.policy

    def history(self) -> pandas.DataFrame:
        """Return the log: one row per event, in order."""
        from rotting.bandit.reporting import history_frame

        with self._log.lock:
            return history_frame(self._log.events(), self._state.names)

    def report(self) -> Report:
        """Return how the arms are doing."""
        from rotting.bandit.reporting import make_report

        with self._log.reading() as stored:
            return make_report(self._state, stored.exposures_until(self._state.seq))

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write the log to a .csv or .jsonl file, atomically; returns the number of events."""
        from rotting.bandit.reporting import check_export, write_history

        if not isinstance(path, str | os.PathLike):
            raise BadAddress("is not the name of a file", name="path", value=path, expected="for example 'log.csv'")
        self.refuse_own_file(path)
        check_export(Path(path))  # before the whole log is read
        frame = self.history()
        write_history(frame, Path(path))
        return len(frame)

    def refuse_own_file(self, path: str | os.PathLike[str]) -> None:
        """Raise a `StorageError` if a file belongs to the database; call it before writing to a file of the user's."""
        if self._log.database.owns_file(path):
            raise StorageError(
                f"{quoted(str(path))} is the database itself", value=path, expected="the name of another file"
            )

    def verify(self, progress: Callable[[int, int], None] | None = None) -> Verification:
        """Replay the whole log: every decision must be the one the policy takes, the state must be bit-identical.

        Raises `VerificationFailed` otherwise. `progress` is called after every 1000 events with the number of events
        done and of all events.
        """
        return verifying.verify(self._log, progress)

    def snapshot(self) -> None:
        """Store the state, so that opening the bandit is quick. This happens by itself every ten thousand events."""
        self._log.snapshot()

    def close(self) -> None:
        """Close the connection to the database; the bandit cannot be used any more, but opened again.

        A bandit that is not closed loses nothing either.
        """
        self._log.database.close()

    def __enter__(self) -> Bandit:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = self._state
        return f"<Bandit {self.name!r} {state.policy} with {len(state.names)} arms after {state.seq} events>"

    @property
    def _state(self) -> BanditState:
        return self._log.state


def _import_open_log() -> Callable[[str, str, Mapping[str, object], list[str] | None], EventLog]:
    """Return `open_log`. It is imported only here, since everything but opening works without SQLAlchemy."""
    try:
        from rotting.bandit.opening import open_log
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "sqlalchemy":
            raise
        raise MissingExtra(
            "a Bandit keeps its log with SQLAlchemy, which is not installed", hint="pip install 'rotting[sql]'"
        ) from error
    return open_log


def _batch_size(n: object) -> int:
    try:
        return whole_number("n", n, 1, LARGEST_BATCH)
    except BadValue as error:
        raise BadSettings.from_error(error) from None
