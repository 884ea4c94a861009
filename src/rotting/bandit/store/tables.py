"""The tables of a database that holds bandits, and the migration of older ones.

`rotting_events` is append-only, and everything follows from it. The others describe it (`rotting_bandits`), save time
(`rotting_snapshots`), take the place of its beginning (`rotting_seals`) or hold the version of all of them
(`rotting_schema`). A bandit's events are numbered 1, 2, 3, ... without gaps: the primary key keeps two processes from
writing the same number. `rotting_access_keys`, of the service, is made when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rotting.bandit.errors import WrongSchema
from rotting.errors import quoted

if TYPE_CHECKING:
    from rotting.bandit.store.sql import SqlStore

VERSION = 2
ACCESS_KEYS = "rotting_access_keys"

# Kinds in braces have another name in each database. Databases keep the comments.
TABLES = {
    "rotting_schema": "version INTEGER NOT NULL",
    "rotting_bandits": """
        id {number} PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        token TEXT NOT NULL UNIQUE, -- what the identifiers of its decisions start with
        secret TEXT NOT NULL, -- the key of their authentication codes
        settings TEXT NOT NULL -- JSON""",
    "rotting_events": """
        bandit INTEGER NOT NULL REFERENCES rotting_bandits (id),
        seq BIGINT NOT NULL,
        kind TEXT NOT NULL, -- see rotting.bandit.core.events
        at {float} NOT NULL, -- seconds since 1970, never decreasing
        arm INTEGER NOT NULL, -- its number: 0, 1, ... in the order of being added; -1: none
        name TEXT, -- of an arm that is added
        decision TEXT, -- identifier of a decision that is taken
        target BIGINT, -- seq of the decision that is shown, rewarded or expired
        value {float}, -- reward
        probability {float}, -- of the arm when it was decided; NULL for randomised policies
        among TEXT, -- JSON: the numbers of the arms in `among`, where it was given
        key TEXT, -- of a request that may be repeated, in the first of its decisions
        batch INTEGER, -- how many decisions belong to the key
        holdout INTEGER, -- 1 in decisions of the holdout and their rewards, 0 in others while there is one
        happened {float}, -- when an imported reward came, seconds since 1970
        details TEXT, -- JSON: settings that were changed, and the like
        PRIMARY KEY (bandit, seq)""",
    "rotting_snapshots": """
        bandit INTEGER NOT NULL REFERENCES rotting_bandits (id) PRIMARY KEY,
        seq BIGINT NOT NULL,
        checksum TEXT NOT NULL,
        content {bytes} NOT NULL""",
    # Compacted parts of logs: what the state was after event `seq`, and the rewards since the part before.
    "rotting_seals": """
        bandit INTEGER NOT NULL REFERENCES rotting_bandits (id),
        seq BIGINT NOT NULL,
        at {float} NOT NULL, -- the time of event `seq`
        checksum TEXT NOT NULL,
        content {bytes} NOT NULL,
        PRIMARY KEY (bandit, seq)""",
    ACCESS_KEYS: """
        id TEXT NOT NULL PRIMARY KEY, -- the part of a key that is no secret
        digest TEXT NOT NULL, -- SHA-256 of the whole key: with 256 random bits, no salt is needed
        role TEXT NOT NULL,
        bandit TEXT, -- the only one that it is for; NULL: all
        label TEXT NOT NULL,
        created {float} NOT NULL, -- seconds since 1970
        revoked {float}""",
}
NEEDED = [name for name in TABLES if name != ACCESS_KEYS]
# The first finds the outcomes of a decision, the second the decisions of a request that is repeated; they keep an
# outcome from being written twice, and a key from being used twice.
INDEXES = {
    "rotting_outcomes": "CREATE UNIQUE INDEX rotting_outcomes ON rotting_events (bandit, target, kind) "
    "WHERE target IS NOT NULL",
    "rotting_keys": "CREATE UNIQUE INDEX rotting_keys ON rotting_events (bandit, key) WHERE key IS NOT NULL",
}
_RESTORE = "restore it from a backup"


def columns_of(table: str) -> dict[str, str]:
    """Return the columns of a table and their kinds, as in `TABLES`."""
    lines = [line.partition("--")[0].strip().rstrip(",") for line in TABLES[table].splitlines()]
    return {line.split()[0]: line.split()[1] for line in lines if line and not line.startswith("PRIMARY KEY")}


def definition(table: str, kinds: Mapping[str, str]) -> str:
    """Return the statement that makes a table, unless it is there."""
    return f"CREATE TABLE IF NOT EXISTS {table} ({TABLES[table].format(**kinds)}\n)"


def _from_1_to_2(store: SqlStore) -> None:
    """Add columns and a table; which kinds of events there are is for the package to know."""
    for statement in (*store.FROM_1_TO_2, definition("rotting_seals", store.KINDS), INDEXES["rotting_keys"]):
        store.execute(statement)


# The step from each older version to the next: MIGRATIONS[n] makes version n + 1 out of version n.
MIGRATIONS: dict[int, Callable[[SqlStore], None]] = {1: _from_1_to_2}


def prepare(store: SqlStore) -> None:
    """Make the tables if there are none, and migrate older ones, in a transaction that has begun."""
    store.rows(store.PREPARE_ALONE)
    version = version_of(store)
    if version == 0:
        for statement in (*(definition(table, store.KINDS) for table in NEEDED), *INDEXES.values()):
            store.execute(statement)
        store.execute("INSERT INTO rotting_schema (version) VALUES (?)", VERSION)
        return
    for older in range(version, VERSION):
        MIGRATIONS[older](store)
        store.execute("UPDATE rotting_schema SET version = ?", older + 1)
    if version < VERSION:
        _check(store.columns())


def version_of(store: SqlStore) -> int:
    """Return the version of the tables, 0 if there are none; refuse newer or foreign ones."""
    present = store.columns()
    if not set(NEEDED) & set(present):
        return 0
    if "rotting_schema" not in present:
        raise WrongSchema(
            f"the database has a table {min(set(NEEDED) & set(present))!r} but no 'rotting_schema': it was not made by "
            "rotting",
            hint="use another database, or rename that table",
        )
    versions = [row[0] for row in store.rows("SELECT version FROM rotting_schema")]
    if len(versions) != 1 or type(versions[0]) is not int or versions[0] < 1:
        raise WrongSchema(
            f"rotting_schema says {quoted(versions)}", value=versions, expected="one version", hint=_RESTORE
        )
    if versions[0] > VERSION:
        raise WrongSchema(
            f"the database has version {versions[0]} of the tables, this version of rotting knows {VERSION}",
            value=versions[0],
            hint="upgrade rotting",
        )
    if versions[0] == VERSION:
        _check(present)
    return int(versions[0])


def _check(present: dict[str, set[str]]) -> None:
    """Refuse tables that lack something that would be needed later."""
    for table in NEEDED:
        if table not in present:
            raise WrongSchema(f"the database lacks the table {table!r}", hint=_RESTORE)
        if missing := set(columns_of(table)) - present[table]:
            raise WrongSchema(f"the table {table!r} lacks {', '.join(sorted(missing))}", hint=_RESTORE)
