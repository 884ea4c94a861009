"""Opening a bandit changes nothing that need not be changed."""

import gc
import os
import shutil
import signal
import sqlite3
import tempfile
from pathlib import Path

import pytest
import sqlalchemy

from rotting import Bandit, EffFEWA
from rotting.bandit import BadAddress, BanditError, RewardConflict, StorageError, UnknownBandit, UnknownDecision
from rotting.bandit.store import sqlite

COLOURS = ["red", "green", "blue"]
HALF = EffFEWA(sigma=0.5)
FIRST_VERSION = Path(__file__).parent / "data" / "first_version.sql"  # as written when identifiers sealed no times


@pytest.fixture
def file(tmp_path):
    """Return a SQLite file with a bandit that has a past."""
    with Bandit.open(f"sqlite:///{tmp_path}/bandits.db", "hero", HALF, COLOURS) as bandit:
        bandit.reward_many([(choice.id, 1.0) for choice in bandit.decide(5)])
    return tmp_path / "bandits.db"


def look_at_everything(url, folder):
    with Bandit.open(url, "hero") as bandit:
        assert bandit.verify().rewards == 5
        assert sum(arm.rewards for arm in bandit.report().arms) == 5
        assert bandit.export(folder / "log.csv") == len(bandit.history()) == 13
        assert list(bandit.arms) == COLOURS
        with pytest.raises(StorageError, match=r"cannot be written: .*readonly"):
            bandit.decide()


def test_a_file_that_may_only_be_read(file, tmp_path):
    look_at_everything(f"sqlite:///file:{file}?mode=ro&uri=true", tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT TESTED: this system cannot fork")
def test_a_user_who_may_only_read(file):
    """Root may write everything, so it becomes somebody else. SQLite needs to make files of its own beside the log."""
    with tempfile.TemporaryDirectory() as name:  # in no folder that only its owner may look into
        folder = Path(name)
        folder.chmod(0o777)
        file = Path(shutil.copy(file, folder))
        file.chmod(0o444)
        _look_as_somebody_else(file, folder)


def _look_as_somebody_else(file, folder):
    with Bandit.open(f"sqlite:///{file}", "hero") as bandit:
        bandit.report()  # everything is imported and compiled
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        code = 1
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            look_at_everything(f"sqlite:///{file}", folder)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    # Nothing is left behind that would belong to the reader, and lock the owner out.
    assert sorted(each.name for each in folder.iterdir()) == ["bandits.db", "log.csv"]


def test_what_is_written_while_somebody_reads_without_a_lock_is_noticed(file, monkeypatch):
    monkeypatch.setattr(sqlite.os, "access", lambda *_: False)  # root may write everything
    reader = Bandit.open(f"sqlite:///{file}", "hero")
    monkeypatch.undo()
    assert [each.name for each in file.parent.iterdir()] == ["bandits.db"]
    with pytest.raises(StorageError, match="written while it was read"), reader._log.reading():
        Bandit.open(f"sqlite:///{file}", "hero").decide()
    assert reader.verify().decisions == 6  # from now on, it reads as everybody does


def test_a_postgres_session_that_may_only_read(postgres, tmp_path):
    Bandit.open(postgres, "hero", HALF, COLOURS).decide()
    reader = Bandit.open(postgres + "%20-cdefault_transaction_read_only%3Don", "hero")
    assert reader.verify().decisions == 1
    with pytest.raises(StorageError, match=r"cannot be written: .*read-only"):
        reader.decide()


def test_an_empty_file_stays_empty(tmp_path):
    (tmp_path / "empty.db").touch()
    with pytest.raises(UnknownBandit, match="no bandit 'hero', only none"):
        Bandit.open(f"sqlite:///{tmp_path}/empty.db", "hero")
    assert {file.name: file.stat().st_size for file in tmp_path.iterdir()} == {"empty.db": 0}


def test_what_cannot_be_read_is_not_said_to_be_unwritable(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear all, " * 1000)
    with pytest.raises(StorageError, match="cannot be read"):
        Bandit.open(f"sqlite:///{tmp_path}/letter.txt", "hero")


def test_finding_a_bandit_writes_nothing(url):
    """Not even a lock is needed: somebody else holds the only one all the time."""
    Bandit.open(url, "hero", HALF, COLOURS).close()
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as other:
        other.execute(sqlalchemy.text("BEGIN IMMEDIATE" if url.startswith("sqlite") else "BEGIN"))
        other.execute(sqlalchemy.text("UPDATE rotting_bandits SET name = name"))
        with Bandit.open(url, "hero", HALF, ["red"]) as bandit:
            assert bandit.verify().events == 3
        other.execute(sqlalchemy.text("ROLLBACK"))
    engine.dispose()


def test_a_database_of_the_first_version_goes_on(tmp_path):
    file = tmp_path / "old.db"
    connection = sqlite3.connect(file)
    connection.executescript(FIRST_VERSION.read_text())
    connection.close()
    with Bandit.open(f"sqlite:///{file}", "hero") as bandit:
        assert bandit.verify().decisions == 5
        rewarded, waiting = "7d4db8e63b-3-ce1d381c8945", "7d4db8e63b-4-ac43c5d75b9e"
        assert bandit.reward(rewarded, 1.0) is False
        with pytest.raises(RewardConflict):
            bandit.reward(rewarded, 0.0)
        assert bandit.reward(waiting, 0.5) is True
        with pytest.raises(UnknownDecision):
            bandit.reward("7d4db8e63b-5-ac43c5d75b9e", 0.5)
        bandit.decide(5)
        bandit.snapshot()
        bandit.verify()
    with Bandit.open(f"sqlite:///{file}", "hero") as bandit:
        assert bandit.reward("7d4db8e63b-12-b07b0f3a64e3", 0.5) is True  # overdue, but without a reward
        bandit.verify()


def test_a_process_may_change_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bandit = Bandit.open("sqlite:///here.db", "hero", HALF, COLOURS)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    bandit.decide()
    assert bandit.verify().decisions == 1


@pytest.mark.parametrize(
    "address", ["postgresql://me:secret@h:54x/db", "postgresql://127.0.0.1:1/x?user=u&password=secret"]
)
def test_no_message_shows_a_password(address):
    with pytest.raises(BanditError) as caught:
        Bandit.open(address, "hero", HALF, COLOURS)
    assert "secret" not in str(caught.value)
    assert "***" in str(caught.value)


def test_an_address_in_memory_is_refused():
    with pytest.raises(BadAddress, match="would forget everything"):
        Bandit.open("sqlite:///file:x.db?mode=memory&cache=shared&uri=true", "hero", HALF, COLOURS)


def test_a_bandit_that_is_dropped_gives_its_connection_back_at_once(postgres):
    def connections():
        engine = sqlalchemy.create_engine(postgres)
        with engine.connect() as connection:
            count = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            found = connection.execute(sqlalchemy.text(count)).scalar_one()
        engine.dispose()
        return found

    gc.collect()
    gc.disable()  # a server has few connections: they must not wait for the garbage collector
    try:
        before = connections()
        for _ in range(5):
            bandit = Bandit.open(postgres, "hero", HALF, COLOURS)
            bandit.decide()
            del bandit
        assert connections() <= before + 1  # a backend takes a moment to end
    finally:
        gc.enable()
