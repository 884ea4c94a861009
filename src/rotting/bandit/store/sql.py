"""What databases have in common: statements. A question mark stands for a value in all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, wraps
from itertools import chain
from operator import itemgetter
from typing import Any, Self, TypeVar

from rotting.bandit.core.events import Event, Facts, Question
from rotting.bandit.store import tables
from rotting.bandit.store.addresses import Address, masked
from rotting.bandit.store.connection import Connected
from rotting.bandit.store.contract import NO_LIMIT, BanditRow, Batch, Condition, Key, Seal, Snapshot
from rotting.bandit.store.deadlines import Deadline

COLUMNS = ", ".join(Event._fields)
ALL_COLUMNS = f"bandit, {COLUMNS}"
FULL = ", ".join(f"e.{column}" for column in Event._fields)
ROWS_PER_STATEMENT = 500
ROWS_PER_INSERT = 50  # so many rows in one statement take two thirds of the time of single ones
Rows = list[tuple[Any, ...]]
Method = TypeVar("Method", bound=Callable[..., Any])


def _durable(method: Method) -> Method:
    """Let a method be one durable transaction, done again until its deadline if only another writer was in the way."""

    @wraps(method)
    def call(store: SqlStore, /, *given: object, deadline: Deadline | None = None, **named: object) -> object:
        return store.write(lambda: method(store, *given, **named), deadline)

    return call  # type: ignore[return-value]


class SqlStore(Connected):
    """A store in a database that understands SQL; see `rotting.bandit.store.contract.Store`."""

    MARK = "?"  # what stands for a value in a statement
    KINDS: Mapping[str, str]  # what the database calls kinds of columns that have several names
    CATALOGUE: str  # selects the tables and columns that there are
    PREPARE_ALONE: str  # keeps other processes from preparing the tables at the same time
    FROM_1_TO_2: Sequence[str]  # statements for what version 1 of the tables did not have
    _is_ready = False  # are the tables known to be good?

    def __init__(self, url: str, address: Address):
        super().__init__(masked(url))
        self._url, self._options = url, address

    def another(self) -> Self:
        """Return the same database with a connection of its own."""
        return type(self)(self._url, self._options)

    def rows(self, statement: str, *values: object) -> Rows:
        """Return the rows of a statement, within a block."""
        return self._run(statement, values).fetchall()  # type: ignore[no-any-return]

    def execute(self, statement: str, *values: object) -> int:
        """Execute a statement within a block; returns how many rows it has changed."""
        return self._run(statement, values).rowcount  # type: ignore[no-any-return]

    def _run(self, statement: str, values: Sequence[object]) -> Any:
        return self.driver.execute(_marked(statement, self.MARK), values)

    def insert(self, table: str, columns: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert rows."""
        for start in range(0, len(rows), ROWS_PER_INSERT):
            some = rows[start : start + ROWS_PER_INSERT]
            self.execute(_insertion(table, columns, len(some)), *chain.from_iterable(some))

    # The tables.

    def columns(self) -> dict[str, set[str]]:
        """Return the columns of all tables that there are."""
        found: dict[str, set[str]] = {}
        for table, column in self.rows(self.CATALOGUE):
            found.setdefault(table, set()).add(column)
        return found

    @_durable
    def prepare(self) -> None:
        """Make the tables, or migrate older ones."""
        tables.prepare(self)
        self._is_ready = True

    def condition(self) -> Condition:
        """Say whether the tables are there, and those of this version."""
        if not self._is_ready:
            version = tables.version_of(self)
            if version < tables.VERSION:
                return "older" if version else "nothing"
            self._is_ready = True
        return "ready"

    @_durable
    def check_writable(self) -> None:
        """Raise an error if nothing can be written."""
        self.execute("UPDATE rotting_schema SET version = version")

    # Bandits.

    def bandits(self, prefix: str = "") -> list[BanditRow]:
        """Return the bandits whose names begin with a prefix, in the order in which they were made."""
        found = self.rows(f"{_BANDITS} AND substr(name, 1, ?) = ? ORDER BY id", len(prefix), prefix)
        return [BanditRow._make(row) for row in found]

    def find(self, **by: str | int) -> BanditRow | None:
        """Return the bandit of that name, token or id, if there is one."""
        [(column, value)] = by.items()
        found = self.rows(f"{_BANDITS} AND {column} = ?", value)
        return BanditRow._make(found[0]) if found else None

    @_durable
    def add(self, row: BanditRow, events: Sequence[Event], *, deadline: Deadline | None = None) -> BanditRow:
        """Add a bandit with the first events of its log; if there is one of that name, return that instead."""
        if (found := self.find(name=row.name)) is not None:
            return found
        [[number]] = self.rows(
            "INSERT INTO rotting_bandits (name, token, secret, settings) VALUES (?, ?, ?, ?) RETURNING id", *row[1:]
        )
        self.insert("rotting_events", ALL_COLUMNS, [(number, *event) for event in events])
        return row._replace(id=number)

    @_durable
    def take_name(self, bandit: int) -> None:
        """Begin to delete a bandit."""
        self.execute("UPDATE rotting_bandits SET name = '\n' || token WHERE id = ?", bandit)

    @_durable
    def delete_events(self, bandit: int, upto: int, number: int, *, deadline: Deadline | None = None) -> int:
        """Delete the oldest events of a log; returns how many."""
        oldest = "SELECT seq FROM rotting_events WHERE bandit = ? AND seq <= ? ORDER BY seq LIMIT ?"
        [[last]] = self.rows(f"SELECT coalesce(max(seq), 0) FROM ({oldest}) AS oldest", bandit, upto, number)
        return self.execute("DELETE FROM rotting_events WHERE bandit = ? AND seq <= ?", bandit, last)

    @_durable
    def delete_rest(self, bandit: int, *, deadline: Deadline | None = None) -> None:
        """Delete all else that there is of a bandit."""
        for table, column in (("snapshots", "bandit"), ("seals", "bandit"), ("bandits", "id")):
            self.execute(f"DELETE FROM rotting_{table} WHERE {column} = ?", bandit)

    # Logs.

    def look_up(
        self, questions: Mapping[int, Question], lock: bool = False, patience: float = math.inf
    ) -> dict[int, Facts]:
        """Answer questions about any number of bandits."""
        locked, rows = self._lock_and_read(questions, patience) if lock else (questions, self._from(questions))
        facts = {bandit: Facts([], {}, {}) for bandit in questions if bandit in locked}
        for bandit, _, event in _in_order(rows):
            if bandit in facts:
                facts[bandit].events.append(event)
        decisions = [(bandit, each) for bandit in facts for each in questions[bandit].decisions]
        for bandit, decision, event in _in_order(self._asked(_ABOUT, decisions)):
            facts[bandit].about.setdefault(decision, []).append(event)
        keys = [(bandit, key) for bandit in facts for key in questions[bandit].keys]
        for bandit, key, event in _in_order(self._asked(_KEYED, keys)):
            facts[bandit].keyed.setdefault(key, []).append(event)
        return facts

    def _from(self, questions: Mapping[int, Question]) -> Rows:
        """Return the events that are asked for by the number that they begin with."""
        return self._asked(
            _FROM, [(bandit, asked.after) for bandit, asked in questions.items() if asked.after is not None]
        )

    def _lock_and_read(self, questions: Mapping[int, Question], patience: float) -> tuple[Collection[int], Rows]:
        """Begin a transaction that keeps other writers away; return the logs that are locked, and events of theirs."""
        raise NotImplementedError

    def _asked(self, statement: str, asked: Sequence[tuple[int, object]]) -> Rows:
        """Return the rows of a statement that joins a table `asked`, of bandits and what is asked about them."""
        found: Rows = []
        for start in range(0, len(asked), ROWS_PER_STATEMENT):
            some = asked[start : start + ROWS_PER_STATEMENT]
            found += self.rows(_with_asked(statement, len(some)), *chain.from_iterable(some))
        return found

    def append(self, batches: Mapping[int, Batch]) -> set[int]:
        """Append to logs; returns the bandits for which that was accepted."""
        raise NotImplementedError

    def _put_beside(self, batches: Mapping[int, Batch], accepted: set[int]) -> None:
        """Put snapshots and seals beside the events that were appended with them."""
        for bandit in accepted:
            if (snapshot := batches[bandit].snapshot) is not None:
                self._replace_snapshot(bandit, snapshot)
            if (seal := batches[bandit].seal) is not None:
                self.insert("rotting_seals", "bandit, seq, at, checksum, content", [(bandit, *seal)])

    def events(
        self, bandit: int, after: int = 0, upto: int = NO_LIMIT, limit: int = NO_LIMIT, arm: int | None = None
    ) -> list[Event]:
        """Return events in order."""
        return [Event._make(row) for row in self.rows(_EVENTS, bandit, after, upto, arm, limit)]

    def numbered(self, bandit: int, numbers: Sequence[int]) -> dict[int, Event]:
        """Return the events of these numbers."""
        found = self._asked(_NUMBERED, [(bandit, number) for number in numbers])
        return {number: event for _, number, event in _in_order(found)}

    def last_seq(self, bandit: int) -> int:
        """Return the number of the last event."""
        [[last]] = self.rows("SELECT max(seq) FROM rotting_events WHERE bandit = ?", bandit)
        return last or 0

    def rewards(self, bandit: int, after: int, upto: int) -> list[tuple[int, int, float]]:
        """Return number, arm and value of the events that have a value."""
        where = "WHERE bandit = ? AND seq > ? AND seq <= ? AND value IS NOT NULL ORDER BY seq"
        return self.rows(f"SELECT seq, arm, value FROM rotting_events {where}", bandit, after, upto)

    def latest_rewards(self, bandit: int, number: int) -> list[tuple[float, int, float]]:
        """Return time, arm and value of the latest rewards that were not imported."""
        where = "WHERE bandit = ? AND value IS NOT NULL AND kind <> 'imported' ORDER BY seq DESC LIMIT ?"
        return self.rows(f"SELECT at, arm, value FROM rotting_events {where}", bandit, number)

    def exposures(self, bandit: int, after: int, upto: int) -> tuple[dict[int, int], list[tuple[int, int]]]:
        """Return how many decisions were shown, and those of them that are not after `after`."""
        shown = "(kind = 'shown' OR (value IS NOT NULL AND target IS NOT NULL))"
        where = f"FROM rotting_events WHERE bandit = ? AND seq > ? AND seq <= ? AND {shown}"
        counts = self.rows(f"SELECT arm, count(DISTINCT target) {where} GROUP BY arm", bandit, after, upto)
        earlier = self.rows(f"SELECT DISTINCT arm, target {where} AND target <= ?", bandit, after, upto, after)
        return dict(counts), earlier

    # Snapshots and seals.

    def snapshot(self, bandit: int, content: bool = True) -> Snapshot | None:
        """Return the snapshot of a bandit."""
        columns = "seq, checksum, content" if content else "seq, checksum"
        found = self.rows(f"SELECT {columns} FROM rotting_snapshots WHERE bandit = ?", bandit)
        return Snapshot(*found[0]) if found else None

    @_durable
    def put_snapshot(
        self, bandit: int, snapshot: Snapshot, interval: int = 0, *, deadline: Deadline | None = None
    ) -> None:
        """Replace the snapshot, unless the one that is there is newer than so many events before."""
        known = self.snapshot(bandit, content=False)
        if known is None or type(known.seq) is not int or known.seq <= snapshot.seq - interval:
            self._replace_snapshot(bandit, snapshot)

    def _replace_snapshot(self, bandit: int, snapshot: Snapshot) -> None:
        self.execute(
            "INSERT INTO rotting_snapshots (bandit, seq, checksum, content) VALUES (?, ?, ?, ?) ON CONFLICT (bandit) "
            "DO UPDATE SET seq = excluded.seq, checksum = excluded.checksum, content = excluded.content",
            bandit,
            *snapshot,
        )

    def seals(self, bandit: int, newest: bool = False, content: bool = True) -> list[Seal]:
        """Return the seals of a bandit."""
        columns = "seq, at, checksum, content" if content else "seq, at, checksum"
        order = "ORDER BY seq DESC LIMIT 1" if newest else "ORDER BY seq"
        found = self.rows(f"SELECT {columns} FROM rotting_seals WHERE bandit = ? {order}", bandit)
        return [Seal(*row) for row in found]

    # Keys to the service.

    def access_keys(self) -> list[Key]:
        """Return all keys."""
        if tables.ACCESS_KEYS not in self.columns():
            return []
        found = self.rows(f"SELECT {_KEY_COLUMNS} FROM {tables.ACCESS_KEYS} ORDER BY created")
        return [Key._make(row) for row in found]

    @_durable
    def put_access_key(self, row: Key) -> None:
        """Add a key, or replace one."""
        self.execute(tables.definition(tables.ACCESS_KEYS, self.KINDS))
        self.execute(f"DELETE FROM {tables.ACCESS_KEYS} WHERE id = ?", row.id)
        self.insert(tables.ACCESS_KEYS, _KEY_COLUMNS, [row])


# The name of a bandit that is being deleted begins with a new line: no name of a user does.
_BANDITS = "SELECT id, name, token, secret, settings FROM rotting_bandits WHERE substr(name, 1, 1) <> '\n'"
_KEY_COLUMNS = ", ".join(Key._fields)
_EVENTS = f"""SELECT {COLUMNS} FROM rotting_events
WHERE bandit = ? AND seq > ? AND seq <= ? AND arm = coalesce(?, arm) ORDER BY seq LIMIT ?"""
# These join what is asked, first, to the events. CROSS JOIN keeps SQLite to that order: left to itself, it would rather
# scan a whole log. Nothing is sorted by the database, for the same reason.
_JOIN = "FROM asked CROSS JOIN rotting_events e WHERE e.bandit = asked.bandit"
_FROM = f"SELECT e.bandit, asked.it, {FULL} {_JOIN} AND e.seq >= asked.it"
_NUMBERED = f"SELECT e.bandit, asked.it, {FULL} {_JOIN} AND e.seq = asked.it"
_ABOUT = (
    f"{_NUMBERED} AND e.kind = 'decided' UNION ALL SELECT e.bandit, asked.it, {FULL} {_JOIN} AND e.target = asked.it"
)
_KEYED = f"""SELECT e.bandit, first.key, {FULL} FROM asked CROSS JOIN rotting_events first CROSS JOIN rotting_events e
WHERE first.bandit = asked.bandit AND first.key = asked.it AND e.bandit = first.bandit
AND e.seq >= first.seq AND e.seq < first.seq + coalesce(first.batch, 1)"""


def _in_order(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, Any, Event]]:
    """Yield the bandit, what was asked and the event of each row, by the numbers of the events."""
    for bandit, it, *event in sorted(rows, key=itemgetter(2)):
        yield bandit, it, Event._make(event)


@lru_cache(maxsize=1024)
def _marked(statement: str, mark: str) -> str:
    return statement if mark == "?" else statement.replace("?", mark)


@lru_cache(maxsize=1024)
def _insertion(table: str, columns: str, rows: int) -> str:
    row = f"({', '.join('?' * len(columns.split(', ')))})"
    return f"INSERT INTO {table} ({columns}) VALUES {', '.join([row] * rows)}"


@lru_cache(maxsize=1024)
def _with_asked(statement: str, rows: int) -> str:
    """Return a statement with a table `asked` of so many rows."""
    return f"WITH asked(bandit, it) AS (VALUES {', '.join(['(?, ?)'] * rows)}) {statement}"
