"""What verify() notices, and what snapshots may not do."""

import json
import threading

import pytest
import sqlalchemy
from sqlalchemy import func, select, update

from bandit import tables as schema
from rotting import FEWA, Bandit, EffFEWA
from rotting.bandit import BanditError, DamagedLog, VerificationFailed
from rotting.bandit.core.events import Event
from rotting.bandit.log import snapshotting, stored
from rotting.bandit.store.deadlines import Deadline
from rotting.bandit.store.sql import COLUMNS

COLOURS = ["red", "green", "blue"]
EVENTS = schema.events.c


def change(url, *statements):
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount == 1
    engine.dispose()


def content_of(url, table):
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        rows = connection.execute(select(table)).all()
    engine.dispose()
    return rows


@pytest.fixture
def played(url):
    with Bandit.open(url, "hero", FEWA(sigma=0.1), COLOURS, epsilon=0.2) as bandit:
        for place in range(40):
            choice = bandit.decide()
            bandit.reward(choice.id, {"red": 0.9, "green": 0.5, "blue": 0.1}[choice.arm] - 0.01 * place)
    return url


def test_an_untouched_log_verifies(played):
    verified = Bandit.open(played, "hero").verify()
    assert (verified.events, verified.decisions, verified.rewards) == (83, 40, 40)


def test_progress_is_reported(sqlite):
    bandit = Bandit.open(sqlite, "hero", EffFEWA(), COLOURS)
    bandit.decide(2500)
    reported = []
    bandit.verify(progress=lambda done, last: reported.append((done, last)))
    assert reported == [(1000, 2503), (2000, 2503)]


@pytest.mark.parametrize(
    "statement",
    [
        update(schema.events).where(EVENTS.seq == 60).values(arm=1 - EVENTS.arm % 2),
        update(schema.events).where(EVENTS.seq == 60).values(probability=0.5),
        update(schema.events).where(EVENTS.seq == 60).values(decision="another"),
        update(schema.events).where(EVENTS.seq == 21).values(value=-5.0),
        update(schema.events).where(EVENTS.seq == 83).values(value=EVENTS.value + 1e-12),
        update(schema.bandits).values(settings=func.replace(schema.bandits.c.settings, "0.2", "0.1")),
    ],
    ids=["arm", "probability", "identifier", "reward", "last reward", "settings"],
)
def test_a_changed_log_does_not_verify(played, statement):
    bandit = Bandit.open(played, "hero")
    bandit.report()  # makes use of the state, which is then there
    change(played, statement)
    if statement.table is schema.bandits:
        bandit = Bandit.open(played, "hero")
    with pytest.raises(VerificationFailed):
        bandit.verify()


def test_a_missing_event_is_noticed(played):
    change(played, schema.events.delete().where(EVENTS.seq == 50))
    with pytest.raises(DamagedLog, match="event 51 follows event 49"):
        Bandit.open(played, "hero")


def test_nothing_happens_twice_to_a_decision_even_behind_our_back(played):
    bandit = Bandit.open(played, "hero")
    again = Event(84, "rewarded", 0.0, 0, target=4, value=1.0)
    with pytest.raises(BanditError):
        bandit._log.store.write(
            lambda: bandit._log.store.insert("rotting_events", f"bandit, {COLUMNS}", [(1, *again)]), Deadline(0.1)
        )


# Snapshots.


def test_opening_from_a_snapshot_is_opening_from_the_log(played):
    bandit = Bandit.open(played, "hero")
    bandit.decide(3)
    bandit.snapshot()
    bandit.decide(2)
    from_snapshot = Bandit.open(played, "hero")
    assert from_snapshot._log.snapshots.seq == 86
    bandit.verify()
    change(played, schema.snapshots.delete())
    from_log = Bandit.open(played, "hero")
    assert from_log._log.snapshots.seq == 0
    assert from_log._state.difference(from_snapshot._state) is None


def test_snapshots_are_taken_now_and_then(url, monkeypatch):
    monkeypatch.setattr(snapshotting, "EVENTS_PER_SNAPSHOT", 20)
    monkeypatch.setattr(snapshotting, "BYTES_PER_EVENT", 10**6)
    bandit = Bandit.open(url, "hero", EffFEWA(), COLOURS)
    seqs = set()
    for _ in range(30):
        bandit.reward(bandit.decide().id, 1.0)
        bandit._log.commits.wait_for_background()
        seqs |= {row.seq for row in content_of(url, schema.snapshots)}
    assert [seq // 20 for seq in sorted(seqs)] == [1, 2, 3]  # a thread may be a little late


def test_nobody_waits_for_a_snapshot_to_be_packed(url, monkeypatch):
    monkeypatch.setattr(snapshotting, "EVENTS_PER_SNAPSHOT", 20)
    packed, packing, go_on = snapshotting.packed, threading.Event(), threading.Event()

    def slowly(parts):
        packing.set()
        assert go_on.wait(60)
        return packed(parts)

    monkeypatch.setattr(snapshotting, "packed", slowly)
    bandit = Bandit.open(url, "hero", EffFEWA(), COLOURS)
    bandit.decide(20)
    assert packing.wait(60)
    bandit.reward(bandit.decide().id, 1.0)
    assert content_of(url, schema.snapshots) == []
    go_on.set()
    bandit.close()  # waits for it
    (row,) = content_of(url, schema.snapshots)
    assert row.seq == 23


@pytest.mark.parametrize("damage", ["bytes", "checksum", "shorter", "nonsense", "format"])
def test_a_damaged_snapshot_is_ignored(played, damage):
    bandit = Bandit.open(played, "hero")
    bandit.snapshot()
    (row,) = content_of(played, schema.snapshots)
    content, checksum = bytes(row.content), row.checksum
    if damage == "bytes":
        content = content[:2000] + bytes([content[2000] ^ 1]) + content[2001:]
    elif damage == "checksum":
        checksum = "0" * 32
    else:
        head = json.dumps({"format": 99}).encode()
        content = {"shorter": content[:-100], "nonsense": b"nonsense", "format": _with_head(content, head)}[damage]
        checksum = stored.checksum(content)
    change(played, update(schema.snapshots).values(content=content, checksum=checksum))
    again = Bandit.open(played, "hero")
    assert again._log.snapshots.seq == 0
    assert again._state.difference(bandit._state) is None
    again.verify()


def test_a_snapshot_that_lies_is_found_out(played):
    bandit = Bandit.open(played, "hero")
    bandit.snapshot()
    changed = bandit._state.snapshot()
    changed.head["decided"][0] += 1
    content = changed.to_bytes()
    change(played, update(schema.snapshots).values(content=content, checksum=stored.checksum(content)))
    with pytest.raises(VerificationFailed, match=r"snapshot .* differs .* in 'decided': .* delete"):
        Bandit.open(played, "hero").verify()


def _with_head(content, head):
    import io

    import numpy as np

    with np.load(io.BytesIO(content)) as file:
        arrays = {**{name: file[name] for name in file.files}, "head": np.frombuffer(head, np.uint8)}
    changed = io.BytesIO()
    np.savez(changed, **arrays)
    return changed.getvalue()
