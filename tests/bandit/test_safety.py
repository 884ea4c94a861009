"""What must not happen to a log, whatever its owner does with files and copies."""

import sqlite3

import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit import BadAddress, BanditError, ClosedBandit, DamagedLog, StorageError, UnknownDecision


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


def test_decisions_of_a_lost_timeline_are_unknown(bandit):
    """After a backup has been restored, events have the numbers of those that were lost, but not their identifiers."""
    with sqlite3.connect("log.db") as live, sqlite3.connect("copy.db") as copy:
        live.backup(copy)
        waiting, settled = bandit.decide(), bandit.decide()
        bandit.reward(settled.id, 1.0)
        copy.backup(live)
    again = Bandit.open("sqlite:///log.db", "hero")
    other, another = again.decide(), again.decide()
    again.reward(another.id, 0.0)
    assert [choice.id.split("-")[1] for choice in (waiting, settled)] == [
        choice.id.split("-")[1] for choice in (other, another)
    ]
    for lost in (waiting, settled):
        with pytest.raises(UnknownDecision):
            again.reward(lost.id, 1.0)
        with pytest.raises(UnknownDecision):
            again.shown(lost.id)
    with pytest.raises(DamagedLog, match="older copy"):
        bandit.decide()  # as many events as it knows, but others
    assert again.verify().decisions == 32


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_file_that_was_deleted_or_replaced_is_noticed(bandit, tmp_path, how):
    """Going on with the old one would lose everything in the end: no name leads to it any more."""
    with Bandit.open("sqlite:///other.db", "hero", EffFEWA(sigma=0.5), ["red", "green"]):
        pass
    (tmp_path / "log.db").unlink()
    if how == "replaced":
        (tmp_path / "other.db").rename("log.db")
    for call in (bandit.decide, bandit.report, bandit.history, bandit.verify):
        with pytest.raises(StorageError, match=f"'sqlite:///log.db' was {how}.* open the bandit again"):
            call()
    assert (tmp_path / "log.db").exists() is (how == "replaced")


def test_a_closed_bandit_says_so(bandit):
    bandit.close()
    bandit.close()
    for call in (bandit.decide, bandit.report, bandit.verify, lambda: bandit.reward("x", 1.0), lambda: bandit.arms):
        with pytest.raises(ClosedBandit, match="closed; open it again"):
            call()
    assert Bandit.open("sqlite:///log.db", "hero").verify().rewards == 30


def test_arms_change_together_or_not_at_all(bandit):
    for changes in (
        {"add": ["blue"], "retire": ["nope"]},
        {"add": ["blue", "red"]},
        {"add": ["blue", "blue"]},
        {"retire": ["red"], "restore": ["nope"]},
        {"retire": "red"},
    ):
        with pytest.raises(BanditError):
            bandit.change_arms(**changes)
    assert bandit.arms == {"red": True, "green": True}
    assert bandit.change_arms(add=["blue", "mauve"], retire=["red", "blue", "red"], restore=["green"]) == 4
    assert bandit.arms == {"red": False, "green": True, "blue": False, "mauve": True}
    bandit.verify()


@pytest.mark.parametrize("path", [None, 7, b"log.csv"])
def test_exports_go_to_files(bandit, path):
    with pytest.raises(BadAddress, match="not the name of a file"):
        bandit.export(path)


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("log.txt", BadAddress, r"'log.txt' ends in '.txt'; expected .csv or .jsonl"),
        ("log", BadAddress, r"'log' ends in ''; expected .csv or .jsonl"),
        ("nowhere/log.csv", StorageError, "cannot be written: there is no folder 'nowhere'"),
        ("folder.csv", StorageError, "cannot be written: it is a folder"),
    ],
)
def test_an_export_that_cannot_be_written_is_refused_before_the_log_is_read(
    bandit, tmp_path, monkeypatch, path, error, words
):
    (tmp_path / "folder.csv").mkdir()
    monkeypatch.setattr(Bandit, "history", lambda _: pytest.fail("read the log"))
    with pytest.raises(error, match=words):
        bandit.export(path)


def test_options_are_not_taken_for_a_part_of_the_file_name(bandit):
    with pytest.raises(BadAddress, match="options"):
        Bandit.open("sqlite:///other.db?mode=ro", "hero", EffFEWA(sigma=0.5), ["red"])
