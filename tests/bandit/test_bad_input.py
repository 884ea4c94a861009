"""Whatever is wrong: an exception with a name, a message that helps, and nothing written."""

import math
import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from bandit.tables import limit_pages
from rotting import Bandit, EffFEWA, Oracle
from rotting.bandit import (
    BadAddress,
    BadName,
    BadReward,
    BadSettings,
    BanditError,
    NoArms,
    RetiredArm,
    StorageError,
    UnknownArm,
    UnknownBandit,
)

COLOURS = ["red", "green", "blue"]
HALF = EffFEWA(sigma=0.5)
NASTY = "'; DROP TABLE rotting_events; --"


@pytest.fixture
def bandit(url):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    bandit.retire_arm("blue")
    return bandit


@pytest.fixture
def unchanged(bandit):
    """Check that a test writes nothing."""
    before = bandit.history()
    yield
    assert bandit.history().equals(before)


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "1", None, [1.0], 1j, 1e101, 10**400, np.nan, np.array([1.0]), b"1"],
    ids=repr,
)
def test_bad_rewards(bandit, value):
    choice = bandit.decide()
    before = bandit.history()
    with pytest.raises(BadReward, match="reward="):
        bandit.reward(choice.id, value)
    with pytest.raises(BadReward):
        bandit.reward_many([(choice.id, 1.0), (choice.id, value)])
    assert bandit.history().equals(before)


@pytest.mark.parametrize("rewards", [7, None, [1, 2], [("a",)], "text", [("a", 1.0, 2)]], ids=repr)
def test_rewards_that_are_no_pairs(bandit, unchanged, rewards):
    with pytest.raises(BadSettings, match="pairs"):
        bandit.reward_many(rewards)


@pytest.mark.parametrize(
    ("among", "error", "words"),
    [
        ([], NoArms, "nothing to choose from"),
        (["blue"], RetiredArm, "'blue' of bandit 'hero' is retired; restore it"),
        (["red", "mauve"], UnknownArm, "no arm 'mauve'"),
        (["gren"], UnknownArm, "did you mean 'green'"),
        ([NASTY], UnknownArm, "DROP TABLE"),
        ([7], UnknownArm, "no arm 7"),
        ([None], UnknownArm, "no arm None"),
        ([["red"]], UnknownArm, "no arm"),
        ("red", BadSettings, "not a list of names"),
        (7, BadSettings, "not a list of names"),
        (["x" * 10**6], UnknownArm, "no arm"),
    ],
)
def test_bad_among(bandit, unchanged, among, error, words):
    with pytest.raises(error, match=words) as raised:
        bandit.decide(among=among)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", True, math.nan, 10**9], ids=repr)
def test_bad_batches(bandit, unchanged, n):
    with pytest.raises(BadSettings, match=r"^n=.*; expected a whole number >= 1 and <= 1000000"):
        bandit.decide(n)


@pytest.mark.parametrize(
    "name", ["", "x" * 201, "x" * 10**6, "a\nb", "a\0b", " red", "\ud800", 7, None, b"red"], ids=lambda n: repr(n)[:20]
)
def test_bad_names(bandit, url, unchanged, name):
    for attempt in (
        lambda: bandit.add_arm(name),
        lambda: Bandit.open(url, name, HALF, COLOURS),
        lambda: Bandit.open(url, "other", HALF, ["red", name]),
    ):
        with pytest.raises(BadName) as raised:
            attempt()
        assert len(str(raised.value)) < 400
    for switch in (bandit.retire_arm, bandit.restore_arm):
        with pytest.raises(UnknownArm):
            switch(name)


def test_names_may_look_like_anything(url):
    names = [NASTY, 'quo"te', "%s", "{}", "\u96ea", "\U0001f600", "x" * 200, "[bold]", "--help"]
    bandit = Bandit.open(url, NASTY, HALF, names)
    for choice in bandit.decide(len(names)):
        bandit.reward(choice.id, 1.0)
    bandit.retire_arm(NASTY)
    bandit.add_arm(NASTY + "again")
    assert list(Bandit.open(url, NASTY).arms) == [*names, NASTY + "again"]
    bandit.verify()


def test_arms_that_exist_or_are_given_twice(bandit, url, unchanged):
    with pytest.raises(BadName, match="already has an arm 'red'; choose another"):
        bandit.add_arm("red")
    with pytest.raises(BadName, match="already has an arm 'blue'; it is retired: restore it instead"):
        bandit.add_arm("blue")
    with pytest.raises(BadName, match="given twice"):
        Bandit.open(url, "other", HALF, ["red", "red"])


def test_no_arms_left(bandit):
    bandit.retire_arm("red")
    bandit.retire_arm("green")
    with pytest.raises(NoArms, match="every arm of bandit 'hero' is retired"):
        bandit.decide()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"policy": "EffFEWA()"}, "not a policy"),
        ({"policy": Oracle()}, "cannot be used for a bandit"),
        ({"epsilon": 1.5}, "^epsilon=1.5 is out of range; expected a finite number >= 0 and <= 1"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": "0.1"}, "epsilon"),
        ({"count": "clicked"}, "expected 'decided' or 'shown'"),
        ({"reward_wait": -1}, "reward_wait"),
        ({"reward_wait": math.inf}, "reward_wait"),
        ({"default_reward": 0.0}, "never used without reward_wait"),
        ({"reward_wait": 5, "default_reward": math.nan}, "^default_reward=nan is not a finite number"),
        ({"sigma": 0.5}, "expected 'auto'"),
        ({"sigma": "auto", "policy": __import__("rotting").SlidingWindowUCB()}, "no parameter sigma"),
        ({"seed": -1}, "seed"),
        ({"arms": "red"}, "not a list of names"),
    ],
    ids=repr,
)
def test_bad_settings(tmp_path, given, words):
    file = tmp_path / "new.db"
    with pytest.raises(BanditError, match=words):
        Bandit.open(f"sqlite:///{file}", "hero", **{"policy": HALF, "arms": COLOURS, **given})
    assert not file.exists()


def test_bandits_that_do_not_exist(bandit, url, tmp_path):
    with pytest.raises(UnknownBandit, match="no bandit 'heroine', only 'hero'; give policy= and arms= to make it"):
        Bandit.open(url, "heroine")
    with pytest.raises(NoArms, match="a new bandit 'heroine' needs arms; give them as arms="):
        Bandit.open(url, "heroine", HALF)
    with pytest.raises(NoArms, match="needs arms"):
        Bandit.open(url, "heroine", HALF, [])
    with pytest.raises(UnknownBandit, match="no database"):
        Bandit.open(f"sqlite:///{tmp_path}/nowhere.db", "hero")
    assert not (tmp_path / "nowhere.db").exists()


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("nonsense", BadAddress),
        ("", BadAddress),
        (None, BadAddress),
        (7, BadAddress),
        ("sqlite://", BadAddress),
        ("sqlite:///:memory:", BadAddress),
        ("sqlite:///a\0b.db", BadAddress),
        ("mysql://user@host/database", BadAddress),
        ("x" * 10**5, BadAddress),
        ("sqlite:////no/such/folder/at/all.db", StorageError),
        ("postgresql://tester:geheim@127.0.0.1:1/postgres", StorageError),
    ],
    ids=lambda value: str(value)[:30],
)
def test_wrong_addresses(address, error):
    with pytest.raises(error) as raised:
        Bandit.open(address, "hero", HALF, COLOURS)
    assert len(str(raised.value)) < 700
    assert "geheim" not in str(raised.value)


def test_a_file_that_is_no_database(tmp_path):
    file = tmp_path / "letter.txt"
    file.write_text("Dear all, " * 1000)
    with pytest.raises(StorageError, match="not a database"):
        Bandit.open(f"sqlite:///{file}", "hero", HALF, COLOURS)
    assert file.read_text() == "Dear all, " * 1000


# Databases that cannot be written.


def test_a_read_only_sqlite_file(tmp_path):
    file = tmp_path / "bandits.db"
    Bandit.open(f"sqlite:///{file}", "hero", HALF, COLOURS).close()
    with pytest.raises(StorageError, match="readonly"):
        Bandit.open(f"sqlite:///file:{file}?mode=ro&uri=true", "hero").decide()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="NOT TESTED: root may write to read-only files")
def test_a_read_only_file_for_those_who_are_not_root(tmp_path):
    file = tmp_path / "bandits.db"
    Bandit.open(f"sqlite:///{file}", "hero", HALF, COLOURS).close()
    file.chmod(0o400)
    with pytest.raises(StorageError, match="readonly"):
        Bandit.open(f"sqlite:///{file}", "hero").decide()


def test_a_read_only_postgres_session(postgres):
    bandit = Bandit.open(postgres, "hero", HALF, COLOURS)
    before = bandit.history()
    with pytest.raises(StorageError, match="read-only"):
        Bandit.open(postgres + "%20-cdefault_transaction_read_only%3Don", "other", HALF, COLOURS)
    bandit._log.store.disconnect()
    assert bandit.history().equals(before)


FULL_DISK = """
import resource, signal, sys
from rotting import Bandit
from rotting.bandit import StorageError
bandit = Bandit.open(sys.argv[1], "hero")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
taken = 0
try:
    while taken < 100_000:
        choices = bandit.decide(100)
        taken += len(choices)
        bandit.reward_many([(choice.id, 1.0) for choice in choices])
except StorageError as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(taken, len(bandit.decide(7)), bandit.verify().decisions, error)
"""


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: no way to limit the size of files here")
def test_a_full_disk(tmp_path):
    """A limit on the size of files stands in for it: the same calls fail, in the middle of a transaction."""
    url = f"sqlite:///{tmp_path}/bandits.db"
    Bandit.open(url, "hero", HALF, COLOURS).close()
    done = subprocess.run([sys.executable, "-c", FULL_DISK, url], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    taken, more, verified, *message = done.stdout.split()
    assert int(taken) >= 100
    assert int(verified) == int(taken) + int(more)  # what failed left nothing behind; all else is there
    assert "cannot be written" in " ".join(message)


def test_a_database_that_says_it_is_full(sqlite, monkeypatch):
    bandit = Bandit.open(sqlite, "hero", HALF, COLOURS)
    before = bandit.history()

    limit_pages(monkeypatch, bandit._log.store, lambda: 1)
    bandit._log.store.disconnect()
    with pytest.raises(StorageError, match="full"):
        bandit.decide(5000)
    with sqlite3.connect(sqlite.removeprefix("sqlite:///")) as connection:
        assert connection.execute("SELECT count(*) FROM rotting_events").fetchone() == (len(before),)


def test_a_server_that_goes_away_and_comes_back(postgres):
    bandit = Bandit.open(postgres, "hero", HALF, COLOURS)
    bandit.decide()
    import sqlalchemy

    engine = sqlalchemy.create_engine(postgres)
    with engine.connect() as connection:
        connection.execute(
            sqlalchemy.text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        )
    bandit.decide()  # finds a new connection
    assert bandit.verify().decisions == 2
