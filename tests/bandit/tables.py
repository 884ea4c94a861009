"""The tables of a database, for tests that look at them, or change them, behind the bandit's back.

They do so through SQLAlchemy, which the package itself does not use.
"""

from sqlalchemy import BigInteger, Column, Float, Integer, LargeBinary, MetaData, Table, Text

from rotting.bandit.store.postgres import PostgresStore
from rotting.bandit.store.sqlite import SqliteStore
from rotting.bandit.store.tables import TABLES, columns_of

KINDS = {"INTEGER": Integer, "BIGINT": BigInteger, "TEXT": Text, "{float}": Float, "{bytes}": LargeBinary}
KINDS["{number}"] = Integer
metadata = MetaData()
for name in TABLES:
    Table(name, metadata, *(Column(column, KINDS[kind]) for column, kind in columns_of(name).items()))
bandits, events, seals, snapshots = (
    metadata.tables[f"rotting_{name}"] for name in ("bandits", "events", "seals", "snapshots")
)


def set_clock(monkeypatch, clock):
    """Let a function say what time it is."""
    for kind in (SqliteStore, PostgresStore):
        monkeypatch.setattr(kind, "clock", lambda _: clock())


def limit_pages(monkeypatch, store, pages):
    """Let a SQLite store say that the disk is full at so many pages, on every new connection."""
    dial = store._dial

    def limited(deadline):
        made = dial(deadline)
        made.execute(f"PRAGMA max_page_count = {pages()}")
        return made

    monkeypatch.setattr(store, "_dial", limited)
