"""A durable decision maker: named arms, late rewards, and a log from which everything follows."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sqlalchemy import Connection

from rotting.bandit import schema, storage
from rotting.bandit.checking import good_arms, good_name, good_reward, listed, name_list, reward_pairs, whole_number
from rotting.bandit.errors import (
    BadName,
    DamagedLog,
    NoArms,
    RetiredArm,
    RewardConflict,
    StorageError,
    UnknownArm,
    UnknownBandit,
    UnknownDecision,
)
from rotting.bandit.fold import Fold
from rotting.bandit.settings import Settings
from rotting.bandit.storage import BanditRow, Event, Storage
from rotting.bandit.verifying import Verification, check_same, replay
from rotting.policies import Policy

if TYPE_CHECKING:
    import pandas

    from rotting.bandit.reporting import Report

MOST_AT_ONCE = 1_000_000  # decisions in a batch
QUIET = 20  # looks at the log that must find nobody else writing before we do without
# A snapshot is taken after this many events, or more if it is large: one per BYTES_PER_EVENT of its size.
EVENTS_PER_SNAPSHOT, BYTES_PER_EVENT = 10_000, 500


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

    def __init__(self, database: Storage, row: BanditRow, settings: Settings):
        self._storage = database
        self._row = row
        self.settings = settings
        self._lock = threading.RLock()
        self._key = bytes.fromhex(row.secret)
        self._quiet = QUIET  # looks at the log in a row that found nobody else writing
        self._snapshot_seq = 0
        self._snapshot_size = 0
        with database.reading() as connection:
            self._fold = self._stored_fold(connection) or self._fresh_fold()
            for event in storage.every_event(connection, row.id, self._fold.seq):
                self._fold.apply(event)

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
            "auto": estimate the policy's sigma from the rewards (see `rotting.bandit.noise`); the policy's own is used
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
        database = Storage(url)
        if fresh is None and database.is_missing():
            raise UnknownBandit(
                f"there is no database {database.shown}; give a policy and arms to make bandit {name!r}"
            )
        row = database.write(lambda connection: _found_or_made(connection, name, fresh, names))
        settings = Settings.from_dict(row.settings)
        settings.check_same(name, given)
        bandit = cls(database, row, settings)
        for arm in names or ():
            bandit._known_arm(arm)
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
            now = self._now()
            if expired := self._expiry(now):
                return expired
            reasons[:], decided = self._decisions(number, wanted, now)
            return decided

        with self._lock:
            while True:
                events = self._append(plan)
                if events[0].kind == "decided":
                    break
            names = self._fold.names
            choices = [
                Choice(event.decision or "", names[event.arm], why, event.probability)
                for event, why in zip(events, reasons, strict=True)
            ]
        return choices[0] if n is None else choices

    def _decisions(self, number: int, among: list[str] | None, now: float) -> tuple[list[str], list[Event]]:
        """Return the reasons and the events of the next decisions."""
        fold = self._fold
        arms = self._arms_among(among)
        in_flight = list(fold.in_flight)
        text = None if among is None else json.dumps(arms)
        reasons, events = [], []
        for seq in range(fold.seq + 1, fold.seq + 1 + number):
            arm, why, probability = fold.pick(seq, arms, in_flight)
            in_flight[arm] += self.settings.count == "decided"
            reasons.append(why)
            events.append(Event(seq, "decided", now, arm, None, self._identifier(seq), None, None, probability, text))
        return reasons, events

    def _arms_among(self, among: list[str] | None) -> list[int]:
        """Return the numbers of the arms to choose from, increasing."""
        fold = self._fold
        if among is None:
            arms = fold.available()
            if not arms:
                raise NoArms(f"every arm of bandit {self.name!r} is retired; restore one, or add one")
            return arms
        if not among:
            raise NoArms("among=[] leaves nothing to choose from; name at least one arm, or leave it out for all")
        for name in among:
            if not fold.live[self._known_arm(name)]:
                raise RetiredArm(
                    f"arm {name!r} of bandit {self.name!r} is retired; restore it, or leave it out of among"
                )
        return sorted({fold.index[name] for name in among})

    # What came of it.

    def shown(self, decision: str) -> bool:
        """Note that a decision has really been shown; False if that was known."""

        def plan(connection: Connection) -> list[Event]:
            seq = self._seq_of(decision)
            waiting = self._fold.pending.get(seq)
            if waiting is None:
                about = self._about(connection, seq, decision)
                known, arm = any(event.kind == "shown" for event in about), about[0].arm
            else:
                known, arm = waiting.shown, waiting.arm
            return [] if known else [Event(self._fold.seq + 1, "shown", self._now(), arm, target=seq)]

        return bool(self._append(plan))

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

        def plan(connection: Connection) -> list[Event]:
            fold, now = self._fold, self._now()
            new: dict[int, Event] = {}
            for decision, value in pairs:
                seq = self._seq_of(decision)
                if seq in new:
                    self._check_reward(decision, value, new[seq])
                    continue
                waiting = fold.pending.get(seq)
                arm = waiting.arm if waiting is not None else self._arm_to_reward(connection, seq, decision, value)
                if arm is not None:
                    event = Event(fold.seq + len(new) + 1, "rewarded", now, arm, None, None, seq, value)
                    new[seq] = event
            return list(new.values())

        return len(self._append(plan)) if pairs else 0

    def _arm_to_reward(self, connection: Connection, seq: int, decision: str, value: float) -> int | None:
        """Return the arm of a decision that does not wait for a reward, or None if this is the reward it has."""
        about = self._about(connection, seq, decision)
        settled = [event for event in about if event.value is not None]
        if not settled:
            return about[0].arm  # expired, but without a reward
        self._check_reward(decision, value, settled[0])
        return None

    def _check_reward(self, decision: str, value: float, settled: Event) -> None:
        if settled.value != value:
            how = "has the reward" if settled.kind == "rewarded" else "was overdue and got the default reward"
            raise RewardConflict(
                f"decision {decision!r} already {how} {settled.value!r}, so it cannot have {value!r}; "
                "a reward is given once and not changed"
            )

    def expire(self) -> int:
        """Settle the decisions whose reward is overdue (`reward_wait`) with the default reward; returns how many.

        `decide` does so by itself. Without default reward, or if an exposure counts when shown and never was, the
        decision is only dropped from those that are waited for.
        """
        return len(self._append(lambda _: self._expiry(self._now())))

    def _expiry(self, now: float) -> list[Event]:
        first, default = self._fold.seq + 1, self.settings.default_reward
        return [
            Event(
                first + place,
                "expired",
                now,
                waiting.arm,
                None,
                None,
                seq,
                default if self._fold.counts(waiting) else None,
            )
            for place, (seq, waiting) in enumerate(self._fold.overdue(now))
        ]

    # Arms.

    def add_arm(self, name: str) -> None:
        """Add an arm; it is chosen as soon as it is available."""
        name = good_name("arm", name)

        def plan(_: Connection) -> list[Event]:
            if name in self._fold.index:
                retired = not self._fold.live[self._fold.index[name]]
                hint = "it is retired: use restore_arm" if retired else "choose another name"
                raise BadName(f"bandit {self.name!r} already has an arm {name!r}; {hint}")
            return [Event(self._fold.seq + 1, "added", self._now(), len(self._fold.names), name)]

        self._append(plan)

    def retire_arm(self, name: str) -> bool:
        """Choose an arm no more; its history is kept, and rewards on their way are welcome. False if it was retired."""
        return self._switch(name, "retired", was=True)

    def restore_arm(self, name: str) -> bool:
        """Make a retired arm available again, with its history. False if it was not retired."""
        return self._switch(name, "restored", was=False)

    def _switch(self, name: str, kind: str, was: bool) -> bool:
        def plan(_: Connection) -> list[Event]:
            arm = self._known_arm(name)
            return [Event(self._fold.seq + 1, kind, self._now(), arm)] if self._fold.live[arm] is was else []

        return bool(self._append(plan))

    @property
    def arms(self) -> dict[str, bool]:
        """The arms in the order of being added, and whether each is available (that is, not retired)."""
        with self._lock:
            self._refresh()
            return dict(zip(self._fold.names, self._fold.live, strict=True))

    def _known_arm(self, name: Any) -> int:
        known = self._fold.index
        if not isinstance(name, str) or name not in known:
            close = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has {listed(known)}; add_arm adds one"
            raise UnknownArm(f"bandit {self.name!r} has no arm {str(name)[:80]!r}; {hint}")
        return known[name]

    # Looking.

    @property
    def name(self) -> str:
        """The name of the bandit."""
        return self._row.name

    @property
    def policy(self) -> Policy:
        """The policy as it is used now: with sigma="auto", its sigma is the latest estimate."""
        with self._lock:
            self._refresh()
            return self._fold.policy

    def history(self) -> pandas.DataFrame:
        """Return the log: one row per event, in order."""
        from rotting.bandit.reporting import history_frame

        with self._lock, self._storage.reading() as connection:
            self._catch_up(connection)
            events = storage.events_after(connection, self._row.id, 0, self._fold.seq)
            return history_frame(events, self._fold.names, self._identifier)

    def report(self) -> Report:
        """Return how the arms are doing."""
        from rotting.bandit.reporting import make_report

        with self._lock, self._storage.reading() as connection:
            self._catch_up(connection)
            return make_report(self.name, self._fold, *storage.rewards_until(connection, self._row.id, self._fold.seq))

    def export(self, path: str | Path) -> int:
        """Write the log to a .csv or .jsonl file, atomically; returns the number of events."""
        from rotting.bandit.reporting import write_history

        if self._storage.is_part_of_it(path):
            raise StorageError(f"{str(path)!r} is the database itself; expected the name of another file")
        frame = self.history()
        write_history(frame, Path(path))
        return len(frame)

    def verify(self, progress: Callable[[int, int], None] | None = None) -> Verification:
        """Replay the whole log: every decision must be the one the policy takes, the state must be bit-identical.

        Raises `VerificationFailed` otherwise. `progress` is called now and then with the events done and all events.
        """
        with self._lock:
            self._refresh()
            last = self._fold.seq
            with self._storage.reading() as connection:
                events = storage.every_event(connection, self._row.id, upto=last)
                replayed = self._fresh_fold()
                verification = replay(
                    replayed, events, self._identifier, lambda done: progress and progress(done, last)
                )
                states = {"in memory": self._fold}
                if (stored := self._stored_fold(connection)) is not None:
                    for event in storage.every_event(connection, self._row.id, stored.seq, last):
                        stored.apply(event)
                    states["of the snapshot"] = stored
            check_same(replayed, states)
            return verification

    # Snapshots.

    def snapshot(self) -> None:
        """Keep the state, so that opening the bandit is quick. This happens by itself every ten thousand events."""
        with self._lock:
            self._refresh()
            content, seq = self._fold.to_bytes(), self._fold.seq
            self._storage.write(
                lambda connection: storage.put_snapshot(connection, self._row.id, seq, content), self._row.id
            )
            self._snapshot_seq, self._snapshot_size = seq, len(content)

    def _snapshot_if_due(self) -> None:
        wait = max(EVENTS_PER_SNAPSHOT, self._snapshot_size // BYTES_PER_EVENT)
        if self._fold.seq < self._snapshot_seq + wait:
            return
        # It only saves time: trouble with it is no trouble with what has just been written.
        with contextlib.suppress(StorageError):
            with self._storage.reading() as connection:
                self._snapshot_seq = storage.snapshot_seq(connection, self._row.id)  # perhaps somebody else's
            if self._fold.seq >= self._snapshot_seq + wait:
                self.snapshot()

    def close(self) -> None:
        """Close the connections to the database. A bandit that is not closed loses nothing either."""
        self._storage.close()

    def __enter__(self) -> Bandit:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        fold = self._fold
        return f"<Bandit {self.name!r} {fold.policy} with {len(fold.names)} arms after {fold.seq} events>"

    # The log.

    def _append(self, plan: Callable[[Connection], list[Event]]) -> list[Event]:
        """Append the events that `plan` returns, given the newest state; the state follows once they are durable.

        While nobody else writes, the newest state is the one in memory, so events are appended right away: had
        somebody else written meanwhile, their number would be taken, and the database refuse them. Whenever that
        happens, or `plan` has nothing to append or objects, it is asked again, with a lock and the newest state.
        """

        def work(connection: Connection, catch_up: bool = False) -> list[Event]:
            if catch_up:
                self._quiet = self._quiet + 1 if self._catch_up(connection) == 0 else 0
            elif not self._log_is_whole(connection):
                return []
            events = plan(connection)
            if events:
                storage.append_events(connection, self._row.id, events)
            return events

        with self._lock:
            events = self._storage.write_unless_overtaken(work) if self._quiet >= QUIET else None
            if not events:
                events = self._storage.write(partial(work, catch_up=True), self._row.id)
            for event in events:
                self._fold.apply(event)
            self._snapshot_if_due()
            return events

    def _catch_up(self, connection: Connection) -> int:
        """Take in what other processes have appended; returns how many events that were."""
        events = storage.events_after(connection, self._row.id, self._fold.seq)
        if not events and not self._log_is_whole(connection):
            raise DamagedLog(
                f"the log of bandit {self.name!r} ends before event {self._fold.seq}, which was there: an older copy "
                "has taken its place; open the bandit again"
            )
        for event in events:
            self._fold.apply(event)
        return len(events)

    def _log_is_whole(self, connection: Connection) -> bool:
        """Say whether the last event that is known is still in the log."""
        seq = self._fold.seq
        return seq == 0 or bool(storage.events_after(connection, self._row.id, seq - 1, seq))

    def _refresh(self) -> None:
        with self._storage.reading() as connection:
            self._catch_up(connection)

    def _about(self, connection: Connection, seq: int, decision: str) -> list[Event]:
        """Return a decision, which must exist, and what became of it."""
        about = storage.events_about(connection, self._row.id, seq)
        if not about or about[0].kind != "decided":
            raise self._unknown(decision)
        return about

    def _fresh_fold(self) -> Fold:
        return Fold(self.settings, self._rewards)

    def _stored_fold(self, connection: Connection) -> Fold | None:
        """Return the state of the newest snapshot. One that cannot be read is as good as none: the log has it all."""
        content = storage.get_snapshot(connection, self._row.id)
        if content is None:
            return None
        try:
            fold = Fold.from_bytes(self.settings, self._rewards, content)
        except (KeyError, TypeError, ValueError, OSError, EOFError):
            return None
        self._snapshot_seq, self._snapshot_size = fold.seq, len(content)
        return fold

    def _rewards(self, seq: int) -> Any:
        with self._storage.reading() as connection:
            return storage.rewards_until(connection, self._row.id, seq)

    def _now(self) -> float:
        """Return the time, which in a log never runs backwards."""
        return max(time.time(), self._fold.at)

    # Identifiers of decisions: which bandit, which event, and a part that cannot be guessed.

    def _identifier(self, seq: int) -> str:
        seal = hashlib.blake2b(b"%d" % seq, key=self._key, digest_size=6).hexdigest()
        return f"{self._row.token}-{seq}-{seal}"

    def _seq_of(self, decision: Any) -> int:
        parts = decision.split("-") if isinstance(decision, str) and len(decision) < 100 else []
        if (
            len(parts) == 3
            and parts[1].isdecimal()
            and len(parts[1]) < 19
            and self._identifier(int(parts[1])) == decision
        ):
            return int(parts[1])
        raise self._unknown(decision)

    def _unknown(self, decision: Any) -> UnknownDecision:
        return UnknownDecision(
            f"bandit {self.name!r} took no decision {str(decision)[:80]!r}; expected the id of a choice of this bandit"
        )


def _found_or_made(connection: Connection, name: str, settings: Settings | None, arms: list[str] | None) -> BanditRow:
    """Return the bandit of that name, made if need be."""
    schema.prepare(connection)
    found = storage.find_bandit(connection, name)
    if found is not None:
        return found
    if settings is None:
        known = storage.bandit_names(connection)
        raise UnknownBandit(f"there is no bandit {name!r}, only {listed(known)}; give a policy and arms to make one")
    if not arms:
        raise NoArms(f"a new bandit {name!r} needs arms; give arms=['red', 'green'], say")
    row = storage.add_bandit(connection, name, settings.to_dict())
    now = time.time()
    storage.append_events(
        connection, row.id, [Event(arm + 1, "added", now, arm, each) for arm, each in enumerate(arms)]
    )
    return row
