"""The tables of a database that holds bandits, and the migration of older ones.

`rotting_events` is append-only, and everything follows from it. The others describe it (`rotting_bandits`), save time
(`rotting_snapshots`) or hold the version of all of them (`rotting_schema`). A bandit's events are numbered 1, 2, 3, ...
without gaps: the primary key keeps two processes from writing the same number.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
    update,
)

from rotting.bandit.errors import WrongSchema
from rotting.errors import quoted

VERSION = 2

_ADVISORY_LOCK = int.from_bytes(b"rotting")  # a number that no other program will use

metadata = MetaData()
schema_version = Table("rotting_schema", metadata, Column("version", Integer, nullable=False))
bandits = Table(
    "rotting_bandits",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("token", Text, nullable=False, unique=True),  # what the identifiers of its decisions start with
    Column("secret", Text, nullable=False),  # the key of their authentication codes
    Column("settings", Text, nullable=False),  # JSON
)
events = Table(
    "rotting_events",
    metadata,
    Column("bandit", Integer, ForeignKey(bandits.c.id), primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),  # see `rotting.bandit.core.events`
    Column("at", Float(53), nullable=False),  # seconds since 1970, never decreasing
    Column("arm", Integer, nullable=False),  # its number: 0, 1, ... in the order of being added; -1: none
    Column("name", Text),  # of an arm that is added
    Column("decision", Text),  # identifier of a decision that is taken
    Column("target", BigInteger),  # seq of the decision that is shown, rewarded or expired
    Column("value", Float(53)),  # reward
    Column("probability", Float(53)),  # of the arm when it was decided; NULL for randomised policies
    Column("among", Text),  # JSON: the numbers of the arms in `among`, where it was given
    Column("key", Text),  # of a request that may be repeated, in the first of its decisions
    Column("batch", Integer),  # how many decisions belong to the key
    Column("holdout", Integer),  # 1 in decisions of the holdout and their rewards, 0 in others while there is one
    Column("happened", Float(53)),  # when an imported reward came, seconds since 1970
    Column("details", Text),  # JSON: settings that were changed, and the like
)
# Finds the outcomes of a decision, and keeps each from being written twice.
_IS_OUTCOME = events.c.target.is_not(None)
Index(
    "rotting_outcomes",
    events.c.bandit,
    events.c.target,
    events.c.kind,
    unique=True,
    sqlite_where=_IS_OUTCOME,
    postgresql_where=_IS_OUTCOME,
)
# Finds the decisions of a request that is repeated, and keeps a key from being used twice.
_HAS_KEY = events.c.key.is_not(None)
_KEYS = Index(
    "rotting_keys", events.c.bandit, events.c.key, unique=True, sqlite_where=_HAS_KEY, postgresql_where=_HAS_KEY
)
snapshots = Table(
    "rotting_snapshots",
    metadata,
    Column("bandit", Integer, ForeignKey(bandits.c.id), primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    Column("checksum", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

# Compacted parts of logs: what the state was after event `seq`, and the rewards since the part before.
seals = Table(
    "rotting_seals",
    metadata,
    Column("bandit", Integer, ForeignKey(bandits.c.id), primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Float(53), nullable=False),  # the time of event `seq`
    Column("checksum", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)


def _from_1_to_2(connection: Connection) -> None:
    """Add columns and a table; which kinds of events there are is for the package to know."""
    seals.create(connection)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"ALTER TABLE {events.name} DROP CONSTRAINT IF EXISTS rotting_events_kind_check")
        for column in (column for column in events.columns if column.name not in _COLUMNS_OF_1):
            kind = column.type.compile(connection.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {events.name} ADD COLUMN {column.name} {kind}")
        _KEYS.create(connection)
        return
    # SQLite cannot drop a constraint: the table is made anew.
    columns = ", ".join(_COLUMNS_OF_1)
    connection.exec_driver_sql("DROP INDEX rotting_outcomes")
    connection.exec_driver_sql(f"ALTER TABLE {events.name} RENAME TO rotting_events_1")
    events.create(connection)
    connection.exec_driver_sql(f"INSERT INTO {events.name} ({columns}) SELECT {columns} FROM rotting_events_1")
    connection.exec_driver_sql("DROP TABLE rotting_events_1")


_COLUMNS_OF_1 = ["bandit", "seq", "kind", "at", "arm", "name", "decision", "target", "value", "probability", "among"]
# The step from each older version to the next: MIGRATIONS[n] makes version n + 1 out of version n.
MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _from_1_to_2}

_RESTORE = "restore it from a backup"


def prepare(connection: Connection) -> None:
    """Make the tables if there are none, and migrate older ones."""
    if connection.dialect.name == "postgresql":  # one process at a time; in SQLite that is so anyway
        connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
    version = version_of(connection)
    if version == 0:
        metadata.create_all(connection)
        connection.execute(insert(schema_version), {"version": VERSION})
        return
    for older in range(version, VERSION):
        MIGRATIONS[older](connection)
        connection.execute(update(schema_version).values(version=older + 1))
    _check(connection)


def version_of(connection: Connection) -> int:
    """Return the version of the tables, 0 if there are none; refuse newer or foreign ones."""
    present = set(inspect(connection).get_table_names())
    ours = {table.name for table in metadata.sorted_tables}
    if not present & ours:
        return 0
    if schema_version.name not in present:
        raise WrongSchema(
            f"the database has a table {min(present & ours)!r} but no {schema_version.name!r}: it was not made by "
            "rotting",
            hint="use another database, or rename that table",
        )
    versions = connection.execute(select(schema_version.c.version)).scalars().all()
    if len(versions) != 1 or type(versions[0]) is not int or versions[0] < 1:
        raise WrongSchema(
            f"{schema_version.name} says {quoted(versions)}", value=versions, expected="one version", hint=_RESTORE
        )
    version = versions[0]
    if version > VERSION:
        raise WrongSchema(
            f"the database has version {version} of the tables, this version of rotting knows {VERSION}",
            value=version,
            hint="upgrade rotting",
        )
    if version == VERSION:
        _check(connection)
    return version


def _check(connection: Connection) -> None:
    """Refuse tables that lack something that would be needed later."""
    inspector = inspect(connection)
    present = set(inspector.get_table_names())
    for table in metadata.sorted_tables:
        if table.name not in present:
            raise WrongSchema(f"the database lacks the table {table.name!r}", hint=_RESTORE)
        missing = {column.name for column in table.columns} - {
            column["name"] for column in inspector.get_columns(table.name)
        }
        if missing:
            raise WrongSchema(f"the table {table.name!r} lacks {', '.join(sorted(missing))}", hint=_RESTORE)
