"""What must not happen to a log, however clumsy its owner: found by trying."""

import sqlite3

import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit import BadAddress, DamagedLog, StorageError


@pytest.fixture
def bandit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = Bandit.open("sqlite:///log.db", "hero", EffFEWA(sigma=0.5), ["red", "green"])
    for _ in range(30):
        opened.reward(opened.decide().id, 1.0)
    return opened


def test_a_log_is_not_exported_onto_its_database(bandit, tmp_path):
    (tmp_path / "link.csv").symlink_to("log.db")
    for name in ("log.db", "link.csv", "log.db-wal"):
        with pytest.raises(StorageError, match="the database itself"):
            bandit.export(name)
    assert bandit.verify().rewards == 30


def test_nothing_is_written_after_an_older_copy_has_been_put_in_place(bandit):
    with sqlite3.connect("log.db") as live, sqlite3.connect("copy.db") as copy:
        live.backup(copy)
        for _ in range(5):
            bandit.decide()
        copy.backup(live)
    with pytest.raises(DamagedLog, match="older copy"):
        bandit.decide()
    assert Bandit.open("sqlite:///log.db", "hero").verify().decisions == 30


def test_options_are_not_taken_for_a_part_of_the_file_name(bandit):
    with pytest.raises(BadAddress, match="options"):
        Bandit.open("sqlite:///other.db?mode=ro", "hero", EffFEWA(sigma=0.5), ["red"])
