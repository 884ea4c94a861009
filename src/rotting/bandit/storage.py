"""Reading and writing the tables: bandits, their events, their snapshots."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sqlalchemy import (
    Connection,
    CursorResult,
    Dialect,
    bindparam,
    func,
    insert,
    select,
    type_coerce,
    union_all,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql import ClauseElement
from sqlalchemy.types import NullType

from rotting.bandit import schema
from rotting.bandit.errors import DamagedLog
from rotting.bandit.events import RESTORE, Event
from rotting.bandit.seals import Seal, damaged_seal
from rotting.errors import quoted
from rotting.policies._contract.agent import LARGEST_REWARD

NO_LIMIT = 2**62  # more events than there will ever be
DELETED = "\n"  # what the name of a bandit that is being deleted begins with: no name of a user does


class BanditRow(NamedTuple):
    """What the database knows about a bandit besides its events."""

    id: int
    name: str
    token: str
    secret: str
    settings: Mapping[str, object]
    template: str | None  # whose segment it is; kept with the settings


# Bandits.


def find_bandit(connection: Connection, name: str) -> BanditRow | None:
    """Return the bandit of that name, if there is one."""
    row = connection.execute(select(schema.bandits).where(schema.bandits.c.name == name)).first()
    if row is None:
        return None
    column = "settings"
    try:
        settings = dict(json.loads(row.settings))
        template = settings.pop("template", None)
        column = "secret"
        hashlib.blake2b(key=bytes.fromhex(row.secret))
    except (TypeError, ValueError, RecursionError):
        raise DamagedLog(
            f"the {column} of bandit {quoted(name)} in {schema.bandits.name} cannot be read", hint=RESTORE
        ) from None
    return BanditRow(row.id, row.name, row.token, row.secret, settings, template)


def bandit_names(connection: Connection) -> list[str]:
    """Return the names of all bandits, in order."""
    table = schema.bandits.c
    names = connection.execute(select(table.name).order_by(table.name)).scalars()
    return [name for name in names if not name.startswith(DELETED)]


def segment_names(connection: Connection, template: str, prefix: str) -> list[str]:
    """Return the names of the bandits that were made as segments of a template, in order; they begin with a prefix."""
    return sorted(_newest_segments(connection, template, prefix))


def newest_segments(connection: Connection, template: str, prefix: str, number: int) -> list[str]:
    """Return the names of the segments that were made last, the newest first."""
    return list(islice(_newest_segments(connection, template, prefix), number))


def _newest_segments(connection: Connection, template: str, prefix: str) -> Iterator[str]:
    table = schema.bandits.c
    query = select(table.name, table.settings).where(table.settings.contains("template")).order_by(table.id.desc())
    for name, settings in connection.execute(query.where(table.name.startswith(prefix, autoescape=True))):
        # SQLite compares without regard to case. Deleted ones begin with no prefix of a template, unless it is empty.
        if name.startswith(prefix) and not name.startswith(DELETED) and _template_in(settings) == template:
            yield name


def _template_in(settings: str) -> object:
    try:
        return dict(json.loads(settings)).get("template")
    except (TypeError, ValueError, RecursionError):
        return None  # opening the bandit says so


def name_of_token(connection: Connection, token: str) -> str | None:
    """Return the name of the bandit whose identifiers start with this token."""
    return connection.execute(select(schema.bandits.c.name).where(schema.bandits.c.token == token)).scalar()


def add_bandit(
    connection: Connection, name: str, settings: Mapping[str, object], template: str | None = None
) -> BanditRow:
    """Add a bandit without events; as a segment, if there is a template."""
    content = dict(settings) if template is None else {**settings, "template": template}
    token, secret = secrets.token_hex(5), secrets.token_hex(16)
    row = {"name": name, "token": token, "secret": secret, "settings": json.dumps(content)}
    key = connection.execute(insert(schema.bandits), row).inserted_primary_key
    assert key is not None
    return BanditRow(key[0], name, token, secret, settings, template)


# Events. These statements are executed all the time, and SQLAlchemy's handling of their parameters would cost more than
# they do: they are compiled once and given to the driver.

_COLUMNS = [schema.events.c[name] for name in Event._fields]
_INSERT = insert(schema.events)
_AFTER = (
    select(*_COLUMNS)
    .where(
        schema.events.c.bandit == bindparam("bandit"),
        schema.events.c.seq > bindparam("seq"),
        schema.events.c.seq <= bindparam("upto"),
    )
    .order_by(schema.events.c.seq)
)
_TIME = select(schema.events.c.at).where(
    schema.events.c.bandit == bindparam("bandit"), schema.events.c.seq == bindparam("seq")
)
# Two searches, each with an index of its own.
_ABOUT = union_all(
    select(*_COLUMNS).where(
        schema.events.c.bandit == bindparam("bandit"),
        schema.events.c.seq.in_(bindparam("decisions", expanding=True)),
        schema.events.c.kind == "decided",
    ),
    select(*_COLUMNS).where(
        schema.events.c.bandit == bindparam("bandit"),
        schema.events.c.target.in_(bindparam("decisions", expanding=True)),
    ),
)
NUMBERS_PER_QUERY = 500
_PARAMETERS: dict[ClauseElement, tuple[str, ...]] = {
    _INSERT: ("bandit", *Event._fields),
    _AFTER: ("bandit", "seq", "upto"),
}
ROWS_PER_INSERT = 50  # SQLite takes so many rows in one statement in two thirds of the time of single ones


@lru_cache(maxsize=64)
def _compiled(statement: ClauseElement, dialect: Dialect) -> tuple[str, bool]:
    """Return a statement as the driver wants it, and whether its parameters are positional rather than named."""
    compiled = statement.compile(dialect=dialect)
    return str(compiled), bool(getattr(compiled, "positional", False))


@lru_cache(maxsize=64)
def _insert_many(dialect: Dialect) -> str:
    """Return the statement that inserts ROWS_PER_INSERT rows of the log."""
    head, _, row = _compiled(_INSERT, dialect)[0].rpartition(" VALUES ")
    return f"{head} VALUES " + ", ".join([row] * ROWS_PER_INSERT)


def _execute(connection: Connection, statement: ClauseElement, rows: list[tuple[Any, ...]]) -> CursorResult[Any]:
    """Execute one of the statements above, once per row."""
    text, positional = _compiled(statement, connection.dialect)
    if positional:
        return connection.exec_driver_sql(text, rows if len(rows) > 1 else rows[0])
    named = [dict(zip(_PARAMETERS[statement], row, strict=True)) for row in rows]
    return connection.exec_driver_sql(text, named if len(named) > 1 else named[0])


Item = TypeVar("Item")


def _portions(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists that a query can hold."""
    every = list(items)
    return (every[start : start + NUMBERS_PER_QUERY] for start in range(0, len(every), NUMBERS_PER_QUERY))


class StoredLog:
    """The rows of one bandit, as the transaction of a connection sees them."""

    def __init__(self, connection: Connection, bandit_id: int):
        self._connection = connection
        self._bandit_id = bandit_id

    def append(self, events: Sequence[Event]) -> None:
        """Append to the log."""
        rows = [(self._bandit_id, *event) for event in events]
        dialect = self._connection.dialect
        bulk = len(rows) // ROWS_PER_INSERT * ROWS_PER_INSERT if dialect.name == "sqlite" else 0
        for start in range(0, bulk, ROWS_PER_INSERT):
            values = tuple(value for row in rows[start : start + ROWS_PER_INSERT] for value in row)
            self._connection.exec_driver_sql(_insert_many(dialect), values)
        if rows[bulk:]:
            _execute(self._connection, _INSERT, rows[bulk:])

    def after(self, seq: int, upto: int = NO_LIMIT) -> list[Event]:
        """Return the events after `seq`, in order."""
        return [Event._make(row) for row in _execute(self._connection, _AFTER, [(self._bandit_id, seq, upto)])]

    def stream(self, after: int = 0, upto: int = NO_LIMIT) -> Iterator[Event]:
        """Yield what `after` returns, fetched in batches: for long logs."""
        bounds = {"bandit": self._bandit_id, "seq": after, "upto": upto}
        for row in self._connection.execute(_AFTER, bounds, execution_options={"yield_per": 10_000}):
            yield Event._make(row)

    def time_of(self, seq: int) -> float | None:
        """Return the time of an event, None if it is not in the log. Every write asks for one."""
        text, positional = _compiled(_TIME, self._connection.dialect)
        driver: Any = self._connection.connection.dbapi_connection
        key = (self._bandit_id, seq)
        row = driver.execute(text, key if positional else {"bandit": key[0], "seq": seq}).fetchone()
        return None if row is None else row[0]

    def about(self, decisions: Iterable[int], sealed: int = 0) -> dict[int, list[Event]]:
        """Return for each of these numbers the decision, if there is one, and its outcomes.

        `sealed` is the last event that was compacted. Of decisions before it, only those are found that waited for
        a reward then.
        """
        numbers = list(decisions)
        seal = self.newest_seal() if any(number <= sealed for number in numbers) else None
        found: dict[int, list[Event]] = (
            {}
            if seal is None
            else {number: seal.about(number) for number in numbers if number in seal.snapshot.pending}
        )
        for some in _portions(number for number in numbers if number > sealed or number in found):
            # Not ordered by the database: it would rather scan the whole log in order than use the index and sort.
            rows = self._connection.execute(_ABOUT, {"bandit": self._bandit_id, "decisions": some})
            later = (event for event in map(Event._make, rows) if event.seq > sealed)
            for event in sorted(later, key=lambda event: event.seq):
                found.setdefault(event.seq if event.target is None else event.target, []).append(event)
        return found

    def with_keys(self, keys: Iterable[str]) -> dict[str, list[Event]]:
        """Return the decisions that were taken with these keys."""
        table, found = schema.events.c, dict[str, list[Event]]()
        for some in _portions(keys):
            query = select(*_COLUMNS).where(table.bandit == self._bandit_id, table.key.in_(some))
            for event in map(Event._make, self._connection.execute(query).all()):
                assert event.key is not None
                found[event.key] = self.after(event.seq - 1, event.seq - 1 + (event.batch or 1))
        return found

    def page(self, after: int, upto: int, arm: int | None, number: int) -> list[tuple[Event, str | None]]:
        """Return so many events after `after`, of one arm or of all, and the identifiers of their targets."""
        table, target = schema.events, schema.events.alias()
        mine = (table.c.bandit == self._bandit_id) & (table.c.seq > after) & (table.c.seq <= upto)
        same = (target.c.bandit == table.c.bandit) & (target.c.seq == table.c.target) & (target.c.kind == "decided")
        query = select(*_COLUMNS, target.c.decision).select_from(table.outerjoin(target, same))
        query = query.where(mine if arm is None else mine & (table.c.arm == arm)).order_by(table.c.seq).limit(number)
        return [(Event._make(row[:-1]), row[-1]) for row in self._connection.execute(query)]

    def rewards_until(self, seq: int, after: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the arms and the values of all rewards up to an event, in the order in which they came."""
        table, seals = schema.events.c, self.seals()
        earlier = [(seal.seqs > after) & (seal.seqs <= seq) for seal in seals]
        after = max([after, *(seal.snapshot.seq for seal in seals)])
        query = select(table.seq, table.arm, table.value).where(
            table.bandit == self._bandit_id, table.seq > after, table.seq <= seq, table.value.is_not(None)
        )
        rows = self._connection.execute(query.order_by(table.seq)).all()
        for number, arm, value in rows:
            if type(arm) is not int or arm < 0 or type(value) is not float or not abs(value) <= LARGEST_REWARD:
                raise DamagedLog(
                    "cannot be right",
                    owner=f"event {number} of the log",
                    name="arm, value",
                    value=(arm, value),
                    expected="the number of an arm and a finite reward",
                    hint=RESTORE,
                )
        sealed = list(zip(seals, earlier, strict=True))
        return (
            np.concatenate([*(seal.arms[some] for seal, some in sealed), np.array([row[1] for row in rows], np.int64)]),
            np.concatenate([*(seal.values[some] for seal, some in sealed), np.array([row[2] for row in rows], float)]),
        )

    def latest_rewards(self, number: int) -> list[tuple[float, int, float]]:
        """Return time, arm and value of so many of the latest rewards of the bandit's own, the newest first."""
        table = schema.events.c
        mine = (table.bandit == self._bandit_id) & table.value.is_not(None) & (table.kind != "imported")
        query = select(table.at, table.arm, table.value).where(mine).order_by(table.seq.desc()).limit(number)
        return [(row[0], row[1], row[2]) for row in self._connection.execute(query)]

    def exposures_until(self, seq: int) -> dict[int, int]:
        """Return for each arm how many decisions were shown up to an event; those with a reward must have been."""
        table, seal = schema.events.c, self.newest_seal()
        sealed = 0 if seal is None else seal.snapshot.seq
        was_shown = (table.kind == "shown") | (table.value.is_not(None) & table.target.is_not(None))
        mine = (table.bandit == self._bandit_id) & (table.seq > sealed) & (table.seq <= seq) & was_shown
        query = select(table.arm, func.count(table.target.distinct())).where(mine).group_by(table.arm)
        exposures = Counter({row[0]: row[1] for row in self._connection.execute(query)})
        if seal is not None:
            exposures.update(dict(enumerate(seal.exposures)))
            # Decisions that waited for a reward then and had been shown are counted in the seal.
            again = select(table.arm, table.target).where(mine, table.target <= sealed).distinct()
            for arm, target in self._connection.execute(again):
                if (waiting := seal.snapshot.pending.get(target)) is None:
                    raise damaged_seal(f"does not have decision {target}, which waited for its reward")
                exposures[arm] -= waiting.shown
        return dict(exposures)

    # Seals.

    def put_seal(self, seq: int, at: float, content: bytes) -> None:
        """Add the seal of what was compacted up to an event."""
        row = {"bandit": self._bandit_id, "seq": seq, "at": at, "checksum": checksum(content), "content": content}
        self._connection.execute(insert(schema.seals), row)

    def seal_checksums(self) -> dict[int, str]:
        """Return for each seal the last event that it covers, and its checksum."""
        table = schema.seals.c
        rows = self._connection.execute(select(table.seq, table.checksum).where(table.bandit == self._bandit_id))
        return {row.seq: row.checksum for row in rows}

    def sealed(self) -> tuple[int, float] | None:
        """Return the number and the time of the last event that was compacted, None without one."""
        table = schema.seals.c
        query = select(table.seq, table.at).where(table.bandit == self._bandit_id).order_by(table.seq.desc()).limit(1)
        row = self._connection.execute(query).first()
        return None if row is None else (row[0], row[1])

    def seals(self, newest: bool = False) -> list[Seal]:
        """Return all seals in order, or only the newest one."""
        table = schema.seals.c
        query = select(table.checksum, table.content).where(table.bandit == self._bandit_id)
        query = query.order_by(table.seq.desc()).limit(1) if newest else query.order_by(table.seq)
        rows = self._connection.execute(query).all()
        if any(checksum(bytes(row.content)) != row.checksum for row in rows):
            raise damaged_seal("is not as it was written")
        return [Seal.from_bytes(bytes(row.content)) for row in rows]

    def newest_seal(self) -> Seal | None:
        """Return the newest seal, None without one."""
        return next(iter(self.seals(newest=True)), None)

    def is_deleted(self) -> bool:
        """Say whether the bandit is no longer there."""
        table = schema.bandits.c
        name = self._connection.execute(select(table.name).where(table.id == self._bandit_id)).scalar()
        return name is None or name.startswith(DELETED)

    def last_seq(self) -> int:
        """Return the number of the last event, 0 without one."""
        table = schema.events.c
        return (
            self._connection.execute(select(func.max(table.seq)).where(table.bandit == self._bandit_id)).scalar() or 0
        )

    # Snapshots.

    def snapshot_seq(self) -> int:
        """Return the last event that the newest snapshot includes, 0 without one."""
        table = schema.snapshots.c
        seq = self._connection.execute(select(table.seq).where(table.bandit == self._bandit_id)).scalar()
        return seq if isinstance(seq, int) else 0

    def put_snapshot(self, seq: int, content: bytes, interval: int = 0) -> None:
        """Replace the snapshot, unless the one that is there is newer than so many events before it."""
        if self.snapshot_seq() > seq - interval:
            return
        row = {"bandit": self._bandit_id, "seq": seq, "checksum": checksum(content), "content": content}
        dialect = postgresql if self._connection.dialect.name == "postgresql" else sqlite
        statement = dialect.insert(schema.snapshots).values(row)
        replaced = {name: value for name, value in row.items() if name != "bandit"}
        self._connection.execute(statement.on_conflict_do_update(index_elements=["bandit"], set_=replaced))

    def get_snapshot(self) -> bytes | None:
        """Return the newest snapshot, or None if there is none that is whole."""
        table = schema.snapshots.c
        query = select(table.checksum, type_coerce(table.content, NullType)).where(table.bandit == self._bandit_id)
        row = self._connection.execute(query).first()
        if row is None or not isinstance(row[1], bytes | memoryview):
            return None
        content = bytes(row[1])
        return content if checksum(content) == row.checksum else None


def checksum(content: bytes) -> str:
    """Return what reveals accidental damage of a snapshot. It has no key, so it is no protection against intent."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
