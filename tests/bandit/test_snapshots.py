"""A snapshot whose content makes no sense is not used, whatever its checksum says: the log has everything."""

import io
import json
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
import sqlalchemy
from sqlalchemy import update

from bandit import tables as schema
from rotting import FEWA, Bandit, EffFEWA
from rotting.bandit.core.snapshots import Snapshot
from rotting.bandit.log.stored import checksum


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Return a SQLite file with a snapshot in which decisions wait."""
    file = tmp_path_factory.mktemp("snapshots") / "log.db"
    with Bandit.open(f"sqlite:///{file}", "hero", EffFEWA(sigma=0.5), ["red", "green", "blue"], sigma="auto") as bandit:
        bandit.reward_many([(choice.id, place % 3 / 2) for place, choice in enumerate(bandit.decide(40))])
        bandit.decide(3)
        bandit.snapshot()
    return file


def parts(content):
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def packed(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def with_head(arrays, **changes):
    head = json.loads(arrays["head"].tobytes()) | changes
    return arrays | {"head": np.frombuffer(json.dumps(head).encode(), np.uint8)}


def stored(file):
    engine = sqlalchemy.create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        content = bytes(connection.execute(sqlalchemy.select(schema.snapshots.c.content)).scalar_one())
    engine.dispose()
    return content


HEADS = [
    {"seq": -1},
    {"seq": "many"},
    {"seq": 1},  # before what waits
    {"at": None},
    {"at": float("nan")},
    {"at": 5.0},  # before what waits
    {"names": "red"},
    {"names": ["red", "green"]},
    {"names": ["red", "red", "red"]},
    {"names": [1, 2, 3]},
    {"names": None},
    {"live": [True]},
    {"live": [1, 1, 1]},
    {"decided": [1, 2]},
    {"decided": [-1, 2, 3]},
    {"decided": {"0": 1}},
    {"in_flight": [0, 0, 0]},  # not what waits
    {"in_flight": [1e9, 0, 0]},
    {"received": [0, 0, 0]},  # not what the agent has learnt
    {"received": ["a", "b", "c"]},
    {"noise": None},
    {"noise": []},
    {"noise": {"last": [[0, "x"]], "squares": 1.0, "differences": 1, "rewards": 2}},
    {"noise": {"last": [], "squares": 1.0, "differences": 0, "rewards": 0}},
    {"format": 2},  # of version 0.1
    {"format": None},
]
ARRAYS = {
    "pending": [np.zeros(0, np.uint8), np.frombuffer(b"nonsense", np.uint8)],
    "head": [np.zeros(0, np.uint8), np.frombuffer(b"[]", np.uint8), np.frombuffer(b"[" * 100_000, np.uint8)],
    "agent": [np.zeros(0, np.uint8), np.zeros(100, np.uint8)],
}


def check_it_is_not_used(database, tmp_path, content):
    file = tmp_path / "log.db"
    file.write_bytes(database.read_bytes())
    engine = sqlalchemy.create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        connection.execute(update(schema.snapshots).values(content=content, checksum=checksum(content)))
    engine.dispose()
    with Bandit.open(f"sqlite:///{file}", "hero") as bandit:
        assert bandit._log.snapshots.seq == 0
        assert bandit.verify().rewards == 40
        bandit.decide(5)
        bandit.snapshot()
        bandit.verify()


def test_a_good_one_is_used(database):
    with Bandit.open(f"sqlite:///{database}", "hero") as bandit:
        assert bandit._log.snapshots.seq == 86


@pytest.mark.parametrize("change", HEADS, ids=repr)
def test_heads(database, tmp_path, change):
    check_it_is_not_used(database, tmp_path, packed(with_head(parts(stored(database)), **change)))


@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name, arrays in ARRAYS.items() for place in range(len(arrays))]
)
def test_arrays(database, tmp_path, name, place):
    check_it_is_not_used(database, tmp_path, packed(parts(stored(database)) | {name: ARRAYS[name][place]}))


@pytest.mark.parametrize("name", ["head", "agent", "pending"])
def test_missing_arrays(database, tmp_path, name):
    arrays = parts(stored(database))
    del arrays[name]
    check_it_is_not_used(database, tmp_path, packed(arrays))


def waiting_changed(database, change):
    """Return the snapshot with other bytes for the decisions that wait."""
    arrays = parts(stored(database))
    content = zlib.compress(change(zlib.decompress(arrays["pending"].tobytes())))
    return packed(arrays | {"pending": np.frombuffer(content, np.uint8)})


ROW = 24 + len("7d4db8e63b-84-e2d33c8382410a1b")
WAITING = {
    "none": lambda rows: b"",
    "one of them twice": lambda rows: rows + rows[:ROW],
    "too short": lambda rows: rows[:-1],
    "too long": lambda rows: rows + b"\0" * 10,
    "another order": lambda rows: rows[ROW:] + rows[:ROW][:8] + struct.pack("<d", 1.0) + rows[:ROW][16:],
    "another number": lambda rows: struct.pack("<q", 0) + rows[8:],
    "another arm": lambda rows: rows[:16] + struct.pack("<i", 3) + rows[20:],
    "neither shown nor not": lambda rows: rows[:20] + b"\2" + rows[21:],
    "neither held out nor not": lambda rows: rows[:21] + b"\2" + rows[22:],
    "not a text": lambda rows: rows[:24] + b"\xff" + rows[25:],
}


@pytest.mark.parametrize("change", WAITING.values(), ids=WAITING)
def test_what_waits(database, tmp_path, change):
    check_it_is_not_used(database, tmp_path, waiting_changed(database, change))


def test_what_waits_as_it_was(database):
    assert waiting_changed(database, lambda rows: rows[:ROW] + rows[ROW:]) is not None
    assert Snapshot.from_bytes(waiting_changed(database, lambda rows: rows)).pending == (
        Snapshot.from_bytes(stored(database)).pending
    )


@pytest.mark.parametrize("policy", [FEWA(sigma=0.5), EffFEWA(sigma=0.5, alpha=0.2)], ids=str)
def test_the_agent_of_another_policy(database, tmp_path, policy):
    """Its state would fit as far as anybody can see."""
    snapshot = Snapshot.from_bytes(stored(database))
    agent = policy.start(3)
    for arm, number in enumerate(snapshot.head["received"]):
        agent.update_many([arm] * number, [0.5] * number)
    arrays = parts(stored(database)) | {"agent": np.frombuffer(agent.to_bytes(), np.uint8)}
    check_it_is_not_used(database, tmp_path, packed(arrays))


# A process of its own: compiled code that trusted such a state could end it.
HOSTILE = """
import io, sys
import numpy as np
import sqlalchemy
from rotting import Bandit, Policy, parse_policy
from rotting.bandit.log.stored import checksum

url, policy = sys.argv[1], parse_policy(sys.argv[2])
engine = sqlalchemy.create_engine(url)

def load(content):
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}

def save(arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()

with Bandit.open(url, "hero", policy, ["red", "green", "blue"]) as bandit:
    bandit.reward_many([(choice.id, place % 3 / 2) for place, choice in enumerate(bandit.decide(40))])
    bandit.snapshot()
with engine.connect() as connection:
    arrays = load(bytes(connection.execute(sqlalchemy.text("SELECT content FROM rotting_snapshots")).scalar_one()))
agent = load(arrays["agent"].tobytes())
tried = 0
for name, array in agent.items():
    if not name.startswith("state."):
        continue
    for value in (2**30, -1, -(2**30)) if array.dtype.kind == "i" else (np.nan, np.inf):
        changed = agent | {name: np.full_like(array, value)}
        content = save(arrays | {"agent": np.frombuffer(save(changed), np.uint8)})
        with engine.begin() as connection:
            change = sqlalchemy.text("UPDATE rotting_snapshots SET content = :content, checksum = :checksum")
            connection.execute(change, {"content": content, "checksum": checksum(content)})
        with Bandit.open(url, "hero") as bandit:
            bandit.reward_many([(choice.id, 0.5) for choice in bandit.decide(4)])
        tried += 1
print("tried", tried)
"""


@pytest.mark.parametrize("policy", ["SlidingWindowUCB()", "RAWUCB()", "FEWA()", "EffFEWA()", "EffRAWUCB()", "WSWA()"])
def test_no_state_of_an_agent_ends_the_process(tmp_path, policy):
    command = [sys.executable, "-c", HOSTILE, f"sqlite:///{tmp_path}/log.db", policy]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("tried ")


def test_a_snapshot_with_another_checksum_is_not_used(url, tamper):
    with Bandit.open(url, "hero", EffFEWA(sigma=0.5), ["red", "green"]) as bandit:
        bandit.decide(3)
        bandit.snapshot()
    tamper(url, update(schema.snapshots).values(checksum="0" * 32))
    with Bandit.open(url, "hero", EffFEWA(sigma=0.5), ["red", "green"]) as bandit:
        with bandit._log.reading() as stored:
            assert stored.get_snapshot() is None
        assert bandit.verify().decisions == 3
