"""Tables of other versions, and of others."""

import re
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy import text

from rotting import Bandit, EffFEWA
from rotting.bandit import WrongSchema
from rotting.bandit.store import tables as schema

COLOURS = ["red", "green", "blue"]


def execute(url, *statements):
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        results = [connection.execute(text(statement)) for statement in statements]
        rows = results[-1].all() if results[-1].returns_rows else None
    engine.dispose()
    return rows


@pytest.fixture
def played(url):
    """Return the address of a database with a bandit that has a past."""
    with Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS) as bandit:
        for choice in bandit.decide(5):
            bandit.reward(choice.id, 0.5)
    return url


def test_a_newer_database_is_refused(played):
    execute(played, f"UPDATE rotting_schema SET version = {schema.VERSION + 1}")
    with pytest.raises(WrongSchema, match=f"version {schema.VERSION + 1} .* knows {schema.VERSION}; upgrade rotting"):
        Bandit.open(played, "hero")


def test_an_older_database_is_migrated(played, monkeypatch):
    """Two versions later: a new column, which old events get a value in, and then a new table."""

    def add_column(store):
        store.execute("ALTER TABLE rotting_events ADD COLUMN channel TEXT")
        store.execute("UPDATE rotting_events SET channel = 'web'")

    now = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", now + 2)
    monkeypatch.setattr(
        schema,
        "MIGRATIONS",
        {now: add_column, now + 1: lambda store: store.execute("CREATE TABLE rotting_notes (note TEXT)")},
    )
    with Bandit.open(played, "hero") as bandit:
        assert bandit.verify().rewards == 5
    assert execute(played, "SELECT version FROM rotting_schema") == [(now + 2,)]
    assert execute(played, "SELECT DISTINCT channel FROM rotting_events") == [("web",)]
    assert execute(played, "SELECT count(*) FROM rotting_notes") == [(0,)]
    Bandit.open(played, "hero").close()  # migrates nothing twice


def test_a_migration_that_fails_changes_nothing(played, monkeypatch):
    def fail(store):
        store.execute("ALTER TABLE rotting_events ADD COLUMN channel TEXT")
        raise RuntimeError("out of luck")

    monkeypatch.setattr(schema, "MIGRATIONS", {schema.VERSION: fail})
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with pytest.raises(RuntimeError, match="out of luck"):
        Bandit.open(played, "hero")
    monkeypatch.undo()
    columns = sqlalchemy.inspect(sqlalchemy.create_engine(played)).get_columns("rotting_events")
    assert "channel" not in {column["name"] for column in columns}
    assert Bandit.open(played, "hero").verify().rewards == 5


def test_the_first_version_is_migrated(postgres):
    """On SQLite, `test_opening` has a file of that version."""
    with Bandit.open(postgres, "hero", EffFEWA(sigma=0.5), COLOURS) as bandit:
        bandit.reward_many([(choice.id, 0.5) for choice in bandit.decide(5)])
    later = ("key", "batch", "holdout", "happened", "details")
    execute(
        postgres,
        "DROP TABLE rotting_seals",
        f"ALTER TABLE rotting_events {', '.join(f'DROP COLUMN {column} CASCADE' for column in later)}",
        "ALTER TABLE rotting_events ADD CHECK (kind IN ('added', 'decided', 'shown', 'rewarded', 'expired'))",
        "UPDATE rotting_schema SET version = 1",
    )
    with Bandit.open(postgres, "hero") as bandit:
        assert bandit.verify().rewards == 5
        bandit.decide(key="again")
        bandit.change(epsilon=0.5)  # an event that there was not
        assert bandit.verify().decisions == 6
    assert execute(postgres, "SELECT version FROM rotting_schema") == [(2,)]


def test_every_older_version_can_be_migrated():
    assert sorted(schema.MIGRATIONS) == list(range(1, schema.VERSION))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DROP TABLE rotting_snapshots", "lacks the table 'rotting_snapshots'"),
        ("ALTER TABLE rotting_events RENAME COLUMN value TO worth", "'rotting_events' lacks value"),
        ("DELETE FROM rotting_schema", r"rotting_schema says \[\]"),
        ("INSERT INTO rotting_schema VALUES (1)", r"rotting_schema says \[\d, 1\]"),
        ("DROP TABLE rotting_schema", "was not made by rotting"),
    ],
)
def test_strange_tables_are_refused(played, change, words):
    execute(played, change)
    with pytest.raises(WrongSchema, match=words):
        Bandit.open(played, "hero")


def test_other_peoples_tables_are_left_alone(url):
    execute(url, "CREATE TABLE events (what TEXT)", "INSERT INTO events VALUES ('theirs')")
    Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS).decide()
    assert execute(url, "SELECT what FROM events") == [("theirs",)]


def test_what_became_of_a_decision_is_found_without_reading_the_whole_log(sqlite):
    Bandit.open(sqlite, "hero", EffFEWA(sigma=0.5), COLOURS).close()
    plan = execute(sqlite, "EXPLAIN QUERY PLAN SELECT * FROM rotting_events WHERE bandit = 1 AND target = 5")
    assert "USING INDEX rotting_outcomes" in plan[0][-1]


def test_a_role_needs_access_to_the_tables_that_the_docs_name_and_no_others(postgres, postgres_server):
    """The docs once forgot one of them."""
    text_of_docs = (Path(__file__).parents[2] / "docs" / "production.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(rotting_[a-z]+)`", text_of_docs[text_of_docs.index("The tables are ") :]))
    assert named == set(schema.NEEDED)
    Bandit.open(postgres, "hero", EffFEWA(sigma=0.5), COLOURS).close()
    [[space]] = execute(postgres, "SELECT current_schema()")
    role = f"role_of_{space}"
    grants = [f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}" for table in sorted(named)]
    sequence = f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {space} TO {role}"
    execute(postgres, f"CREATE ROLE {role} LOGIN", f"GRANT USAGE ON SCHEMA {space} TO {role}", sequence, *grants)
    with Bandit.open(postgres.replace("tester@", f"{role}@"), "hero") as bandit:
        bandit.reward(bandit.decide().id, 1.0)
        bandit.snapshot()
        assert bandit.verify().rewards == 1
