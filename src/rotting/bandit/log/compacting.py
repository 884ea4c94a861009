"""Compaction: the beginning of a log is verified, exported and replaced by a seal. Deleting a bandit.

The seal and the event that says so are written in one transaction. From then on nobody reads what is older. The rows
are deleted afterwards, in portions, so that other writers never wait long; what an interruption leaves of them does no
harm and goes with the next compaction.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rotting.bandit.commit import Commits
from rotting.bandit.core.events import NO_ARM, Event
from rotting.bandit.core.experiments import Time
from rotting.bandit.core.pending import Pending, PendingDecisions
from rotting.bandit.core.requests import Change
from rotting.bandit.core.seals import Seal
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import BadSettings, BanditError, StorageError
from rotting.bandit.log.event_log import EventLog
from rotting.bandit.log.exporting import check_export, write_log
from rotting.bandit.log.stored import StoredLog, checksum
from rotting.bandit.log.streaming import Range, bounds, portions
from rotting.bandit.log.verifying import Progress, Replay, replayed
from rotting.bandit.opening import look_for, unknown
from rotting.bandit.store import contract
from rotting.bandit.store.addresses import open_store
from rotting.bandit.store.contract import NO_LIMIT, Store
from rotting.bandit.store.deadlines import Deadline
from rotting.errors import literal, quoted

PORTION = 5000  # rows that are deleted in one transaction


@dataclasses.dataclass(frozen=True)
class Compaction:
    """What `Bandit.compact` has done: events up to `upto` are in the file `export`, whose checksum is in the log."""

    upto: int
    events: int
    export: str


def compact(log: EventLog, before: Time | int, export: Path, progress: Progress | None = None) -> Compaction:
    """Replace what happened before a time, or up to an event of this number, by a seal and an exported file."""
    check_export(export)
    if before is None or isinstance(before, bool):
        raise BadSettings("is not a time", name="before", value=before, expected="a time, or the number of an event")
    with log.reading():
        sealed, last = log.state.sealed, log.state.seq
        upto = before if type(before) is int else bounds(log, Range(until=before))[1]  # type: ignore[arg-type]
    if not sealed < upto <= last:
        raise BadSettings(
            f"leaves nothing to compact: the log has events {sealed + 1} to {last}", name="before", value=before
        )
    with _reserved(export):
        seal = _make_seal(log, sealed, upto, progress)
        events = write_log(portions(log, Range(upto=upto)), export)
    try:
        while not _put_in_place(log, sealed, seal, export):
            seal = _make_seal(log, sealed, upto, progress)
    except BanditError as error:
        if not getattr(error, "may_be_written", False):
            export.unlink(missing_ok=True)  # the log has its events, or somebody else's file
        raise
    try:
        _delete_events(log.commits, log.bandit_id, upto)
    except StorageError as error:
        error.may_be_written = True  # the seal is in its place: what is left of the events goes with the next one
        raise
    return Compaction(upto, events, str(export))


@contextlib.contextmanager
def _reserved(export: Path) -> Iterator[None]:
    """Make a file that nobody else makes at the same time; if it cannot be filled, it is removed.

    One that exists is refused: it may be the only copy of what was compacted before.
    """
    try:
        export.touch(exist_ok=False)
    except FileExistsError:
        raise StorageError(f"{quoted(str(export))} exists", value=export, hint="give the name of a new file") from None
    except OSError as error:
        raise StorageError(f"{quoted(str(export))} cannot be written: {literal(str(error))}", value=export) from None
    try:
        yield
    except BaseException:
        export.unlink(missing_ok=True)
        raise


def _put_in_place(log: EventLog, sealed: int, seal: Seal, export: Path) -> bool:
    """Append a seal; False if something that it does not know of has come late to a decision of its part."""
    content, upto = seal.to_bytes(), seal.snapshot.seq
    details: dict[str, Any] = {
        "upto": upto,
        "seal": checksum(content),
        "export": export.name,
        "export_checksum": _file_checksum(export),
    }

    def plan(state: BanditState, now: float) -> list[Event]:
        if state.sealed != sealed:
            raise BadSettings("the log was compacted by somebody else meanwhile", hint="look at it, then compact again")
        if not _is_known(seal, log, state.seq):
            return []
        return [Event(state.seq + 1, "sealed", now, NO_ARM, details=json.dumps(details))]

    row = contract.Seal(upto, seal.snapshot.head["at"], details["seal"], content)
    return bool(log.commits.ask(log, Change(plan, seal=row), Deadline()))


def _is_known(seal: Seal, log: EventLog, last: int) -> bool:
    """Say whether a seal knows all decisions of its part that later events are about."""
    _, earlier = log.store.exposures(log.bandit_id, seal.snapshot.seq, last)
    return all(target in seal.known for _, target in earlier)


def _make_seal(log: EventLog, sealed: int, upto: int, progress: Progress | None) -> Seal:
    """Replay a part of the log, on a connection of its own, and return its seal. What does not verify has none."""
    with contextlib.closing(log.store.another()) as other, other.lock, other.reading():
        stored = StoredLog(other, log.bandit_id)
        replay = replayed(log, stored, upto, progress)
        if replay.imports:
            raise BadSettings(
                f"lies inside a warm start, which ends with event {upto + replay.imports}", name="before", value=upto
            )
        exposures, snapshot = stored.exposures_until(upto), replay.state.snapshot()
        counts = [exposures.get(arm, 0) for arm in range(len(snapshot.head["names"]))]
        return Seal(snapshot, *stored.rewards(sealed, upto), counts, _late(log, other, replay))


def _late(log: EventLog, store: Store, replay: Replay) -> PendingDecisions:
    """Return the decisions that no longer waited for a reward, and that later events are about all the same."""
    _, later = store.exposures(log.bandit_id, replay.state.seq, NO_LIMIT)
    numbers = sorted({number for _, number in later if number not in replay.state.pending})
    events = store.numbered(log.bandit_id, numbers)
    late = PendingDecisions()
    for number in numbers:
        if (early := replay.early.get(number)) is None:
            event = events[number]
            early = Pending(event.arm, event.at, False, event.decision or "", event.holdout)
        late[number] = early._replace(shown=early.shown or replay.was_shown(number))
    return late


def _file_checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _delete_events(commits: Commits, bandit_id: int, upto: int) -> None:
    """Delete the oldest events of a log, up to one, in portions."""
    deleted = 1
    while deleted:
        with commits.held():
            deleted = commits.store.delete_events(bandit_id, upto, PORTION)


# Deleting a bandit.


def delete_bandit(url: str, name: str) -> int:
    """Delete a bandit and everything it knows; returns the number of events that it had.

    It has no name any more once the first transaction is committed; its rows are deleted in portions after that.
    """
    commits = Commits(open_store(url))
    store = commits.store
    with contextlib.closing(store), store.lock:
        condition, found = look_for(store, name)
        if found is None:
            raise unknown(store, condition, name)
        with store.reading():
            events = store.last_seq(found.id)
        store.take_name(found.id)
        _delete_events(commits, found.id, NO_LIMIT)
        store.delete_rest(found.id)
        return events
