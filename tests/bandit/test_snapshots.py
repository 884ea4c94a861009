"""A snapshot whose content makes no sense is not used, whatever its checksum says: the log has everything."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
import sqlalchemy
from sqlalchemy import update

from rotting import FEWA, Bandit, EffFEWA
from rotting.bandit import schema
from rotting.bandit.snapshots import Snapshot
from rotting.bandit.storage import checksum

COLUMNS = ("seqs", "arms", "since", "was_shown", "decisions")


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
    {"format": 1},
    {"format": None},
]
ARRAYS = {
    "seqs": [np.array([0, 1, 2]), np.array([44, 44, 44]), np.array([1, 2, 10**12]), np.zeros(3), np.array([1])],
    "arms": [np.array([0, 1, 3]), np.array([-1, 1, 2]), np.array([0, 1, 2**62]), np.array(["a", "b", "c"])],
    "since": [np.full(3, np.nan), np.full(3, np.inf), np.full(3, -1.0), np.array([3.0, 2.0, 1.0]), np.zeros(2)],
    "was_shown": [np.array([0, 1, 2]), np.zeros(0, np.bool_)],
    "decisions": [np.arange(3), np.array(["a"])],
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
        assert bandit._log._snapshot_seq == 0
        assert bandit.verify().rewards == 40
        bandit.decide(5)
        bandit.snapshot()
        bandit.verify()


def test_a_good_one_is_used(database):
    with Bandit.open(f"sqlite:///{database}", "hero") as bandit:
        assert bandit._log._snapshot_seq == 86


@pytest.mark.parametrize("change", HEADS, ids=repr)
def test_heads(database, tmp_path, change):
    check_it_is_not_used(database, tmp_path, packed(with_head(parts(stored(database)), **change)))


@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name, arrays in ARRAYS.items() for place in range(len(arrays))]
)
def test_arrays(database, tmp_path, name, place):
    check_it_is_not_used(database, tmp_path, packed(parts(stored(database)) | {name: ARRAYS[name][place]}))


@pytest.mark.parametrize("name", ["head", "agent", *COLUMNS])
def test_missing_arrays(database, tmp_path, name):
    arrays = parts(stored(database))
    del arrays[name]
    check_it_is_not_used(database, tmp_path, packed(arrays))


@pytest.mark.parametrize("policy", [FEWA(sigma=0.5), EffFEWA(sigma=0.5, alpha=0.2)], ids=str)
def test_the_agent_of_another_policy(database, tmp_path, policy):
    """Its state would fit as far as anybody can see."""
    snapshot = Snapshot.from_bytes(stored(database))
    agent = policy.start(3)
    for arm, number in enumerate(snapshot.received):
        agent.update_many([arm] * number, [0.5] * number)
    arrays = parts(stored(database)) | {"agent": np.frombuffer(agent.to_bytes(), np.uint8)}
    check_it_is_not_used(database, tmp_path, packed(arrays))


# A process of its own: compiled code that trusted such a state could end it.
HOSTILE = """
import io, sys
import numpy as np
import sqlalchemy
from rotting import Bandit, Policy, parse_policy
from rotting.bandit import schema
from rotting.bandit.storage import checksum

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
    arrays = load(bytes(connection.execute(sqlalchemy.select(schema.snapshots.c.content)).scalar_one()))
agent = load(arrays["agent"].tobytes())
tried = 0
for name, array in agent.items():
    if not name.startswith("state."):
        continue
    for value in (2**30, -1, -(2**30)) if array.dtype.kind == "i" else (np.nan, np.inf):
        changed = agent | {name: np.full_like(array, value)}
        content = save(arrays | {"agent": np.frombuffer(save(changed), np.uint8)})
        with engine.begin() as connection:
            connection.execute(sqlalchemy.update(schema.snapshots).values(content=content, checksum=checksum(content)))
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
