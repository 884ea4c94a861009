"""What a bandit needs of the place where its log is kept: `Store`, and the plain values that go in and out.

`rotting.testing` has a suite that checks whether a store keeps these promises.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, Protocol, Self

from rotting.bandit.core.events import Event, Facts, Question
from rotting.bandit.store.deadlines import Deadline

Condition = Literal["nothing", "older", "ready"]
NO_LIMIT = 2**62  # more events than there will ever be


class BanditRow(NamedTuple):
    """A bandit: `token` begins the identifiers of its decisions, `secret` authenticates them, `settings` are JSON."""

    id: int
    name: str
    token: str
    secret: str
    settings: str


class Batch(NamedTuple):
    """Events to append after the last one that the writer knows, the number `seq` of time `at`."""

    events: Sequence[Event]
    seq: int
    at: float
    snapshot: Snapshot | None = None  # of the state after these events
    seal: Seal | None = None  # that one of these events announces


class Snapshot(NamedTuple):
    """A state after event `seq`, with the checksum that its writer gave it."""

    seq: int
    checksum: str
    content: bytes = b""


class Seal(NamedTuple):
    """What takes the place of the events up to `seq`, of time `at`, with the checksum that its writer gave it."""

    seq: int
    at: float
    checksum: str
    content: bytes = b""


class Key(NamedTuple):
    """A key to the service: its digest, never the key itself. Times are seconds since 1970."""

    id: str
    digest: str
    role: str
    bandit: str | None
    label: str
    created: float
    revoked: float | None


class Store(Protocol):
    """A place where bandits' logs are kept, as one connection sees it.

    **Threads.** Whoever uses a store holds its `lock`, a reentrant one, so that it is used by one thread at a time. Any
    number of stores, in any number of processes, may be open at the same place.

    **Blocks.** Whatever is read is read within `reading` or `writing`. All that one block of `reading` returns is of
    one moment, whatever others write meanwhile, and writes nothing, not even a lock. Leaving a block by an exception,
    which a signal may raise anywhere, leaves nothing behind: no lock, no half of a transaction.

    **Appending.** `append` takes what is to be appended to any number of logs, and accepts or refuses each by itself,
    as a whole: it is accepted if the last event of the log is the one that the writer names. Events of one log are
    numbered 1, 2, 3, ..., so of two writers who know the same last event one is accepted. All that is accepted is in
    one transaction. When `append` returns, it is **durable**: it survives the end of the process, of the machine, of
    its power. Whoever reads afterwards, here or elsewhere, sees it. Two outcomes of one kind for one decision, or one
    key twice, are never both in a log.

    **Turns.** With `lock`, `look_up` first waits until no other writer is at work on the first of these logs, for
    `patience` seconds at most (then it is a `Contention`), and takes those of the others that are free: the answer has
    only those that it has locked. Until the block ends, others can neither append to them nor lock them, and `append`
    accepts what follows the newest events. Writers who do not lock are refused meanwhile, not kept waiting. Since
    nobody waits while it holds anything, nobody waits in a circle. `append` and the end of the block let others go on.

    **Errors.** A `StorageError` says by `may_be_written` what became of an `append`: False, nothing was written, now or
    later; True, *maybe*: the transaction is there as a whole, or not at all, and asking for the events after the last
    known one tells which, once the place can be reached again. `Contention` means that nothing was written, and that
    trying again helps. An error that a connection was closed while nobody used it is never raised: another is made.

    **Deadlines.** A block ends with `TimedOut` at most 0.2 s after its deadline, whatever hangs: other writers, the
    server, the network. (A disk of this machine that hangs in a system call cannot be left alone: docs/production.md.)

    **Names.** No two bandits share a name or a token.
    """

    lock: threading.RLock
    address: str  # for messages, in quotes and without its password

    # Life.

    def prepare(self) -> None:
        """Make what is needed to hold bandits, or bring what an older version made up to date; again: nothing.

        What a newer version, or somebody else, has made is refused as `WrongSchema`.
        """
        ...

    def condition(self) -> Condition:
        """Say, within a block, whether there is nothing, or what an older version made, or all to hold bandits.

        What `prepare` refuses is refused.
        """
        ...

    def is_missing(self) -> bool:
        """Say whether there is nothing at all, so that a block would make something."""
        ...

    def owns_file(self, path: str | os.PathLike[str]) -> bool:
        """Say whether a file is a part of this place, and must not be overwritten."""
        ...

    def another(self) -> Self:
        """Return a store for the same place, with a connection of its own."""
        ...

    def disconnect(self) -> None:
        """Give the connection back; the next block makes another."""
        ...

    def close(self) -> None:
        """Give the connection back for good: whoever begins a block afterwards gets `ClosedBandit`."""
        ...

    def clock(self) -> float:
        """Return the time, in seconds since 1970, by a clock that all writers share as far as there is one."""
        ...

    def check_writable(self) -> None:
        """Raise a `StorageError` if nothing can be written."""
        ...

    # Blocks.

    def reading(self, deadline: Deadline | None = None) -> AbstractContextManager[None]:
        """Begin a block in which all that is read is of one moment."""
        ...

    def reading_now(self) -> AbstractContextManager[None]:
        """Go on with the block in progress, or begin one of `reading`."""
        ...

    def writing(self, deadline: Deadline | None = None) -> AbstractContextManager[None]:
        """Begin a block of one turn to write: any number of `look_up`, the first of which may lock, then one append."""
        ...

    # Bandits.

    def bandits(self, prefix: str = "") -> list[BanditRow]:
        """Return the bandits whose names begin with a prefix, in the order in which they were made."""
        ...

    def find(self, **by: str | int) -> BanditRow | None:
        """Return the bandit of that `name`, `token` or `id`, if there is one that is not deleted."""
        ...

    def add(self, row: BanditRow, events: Sequence[Event], *, deadline: Deadline | None = None) -> BanditRow:
        """Add a bandit with the first events of its log, durably; if there is one of that name, return that instead.

        The bandit's number is the store's to choose.
        """
        ...

    def take_name(self, bandit: int) -> None:
        """Begin to delete a bandit: nobody finds it any more, and its name is free."""
        ...

    def delete_events(self, bandit: int, upto: int, number: int, *, deadline: Deadline | None = None) -> int:
        """Delete the oldest events of a log that a seal has replaced, or that nobody needs; returns how many."""
        ...

    def delete_rest(self, bandit: int, *, deadline: Deadline | None = None) -> None:
        """Delete all else that there is of a bandit whose name was taken."""
        ...

    # Logs.

    def look_up(
        self, questions: Mapping[int, Question], lock: bool = False, patience: float = math.inf
    ) -> dict[int, Facts]:
        """Answer questions about any number of bandits, in a few statements for all of them; see **Turns**."""
        ...

    def append(self, batches: Mapping[int, Batch]) -> set[int]:
        """Append to the logs of any number of bandits; returns those that were accepted, which are durable now."""
        ...

    def events(
        self, bandit: int, after: int = 0, upto: int = NO_LIMIT, limit: int = NO_LIMIT, arm: int | None = None
    ) -> list[Event]:
        """Return so many of the events after one number and up to another, of one arm or of all, in order."""
        ...

    def numbered(self, bandit: int, numbers: Sequence[int]) -> dict[int, Event]:
        """Return the events of these numbers, as far as they are there."""
        ...

    def last_seq(self, bandit: int) -> int:
        """Return the number of the last event, 0 without one."""
        ...

    def rewards(self, bandit: int, after: int, upto: int) -> list[tuple[int, int, float]]:
        """Return number, arm and value of the events that have a value, in order."""
        ...

    def latest_rewards(self, bandit: int, number: int) -> list[tuple[float, int, float]]:
        """Return time, arm and value of so many of the latest rewards that were not imported, the newest first."""
        ...

    def exposures(self, bandit: int, after: int, upto: int) -> tuple[dict[int, int], list[tuple[int, int]]]:
        """Return what the events after one number and up to another say of decisions that were shown.

        First for each arm how many decisions were; then arm and number of those of them that are not after `after`.
        Whatever has a value, and a target, was shown.
        """
        ...

    # What saves time, and what takes the place of events.

    def snapshot(self, bandit: int, content: bool = True) -> Snapshot | None:
        """Return the snapshot of a bandit, unchecked; without `content`, that is empty."""
        ...

    def put_snapshot(
        self, bandit: int, snapshot: Snapshot, interval: int = 0, *, deadline: Deadline | None = None
    ) -> None:
        """Replace the snapshot, unless the one that is there is newer than so many events before this one."""
        ...

    def seals(self, bandit: int, newest: bool = False, content: bool = True) -> list[Seal]:
        """Return the seals of a bandit in order, or only the newest; without `content`, that is empty."""
        ...

    # Keys to the service.

    def access_keys(self) -> list[Key]:
        """Return all keys, the oldest first."""
        ...

    def put_access_key(self, row: Key) -> None:
        """Add a key, or replace the one of that id."""
        ...
