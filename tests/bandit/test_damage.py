"""Tables that were changed by hand: an exception with a name, which event it is about, and what to do."""

import sqlite3

import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit import BanditError, DamagedLog, VerificationFailed, WrongSchema

COLOURS = ["red", "green", "blue"]
# Events of the log below: 1-3 arms; 4, 6, 8 decided; 5, 7, 9 rewarded; 10, 11 decided; 12 shows 10; 13 decided among.
DAMAGE = [
    ("UPDATE rotting_events SET arm = 77 WHERE seq = 4", "event 4 .*arm=77 cannot .* expected"),
    ("UPDATE rotting_events SET arm = 'x' WHERE seq = 5", "event 5 .*arm='x'"),
    ("UPDATE rotting_events SET arm = 1 - arm % 2 WHERE seq = 5", "arm"),
    ("UPDATE rotting_events SET name = NULL WHERE seq = 2", "event 2 .*name=None cannot .* expected"),
    (
        "UPDATE rotting_events SET name = 'red' WHERE seq = 2",
        "event 2 .*name='red' cannot .* expected one that is new",
    ),
    (
        "UPDATE rotting_events SET kind = 'bogus' WHERE seq = 4",
        "event 4 .*kind='bogus' cannot .* expected one of",
    ),
    ("UPDATE rotting_events SET value = 'abc' WHERE seq = 5", "event 5 .*value='abc'"),
    ("UPDATE rotting_events SET value = 9e999 WHERE seq = 5", "event 5 .*value=inf"),
    ("UPDATE rotting_events SET value = NULL WHERE seq = 5", "event 5 .*value=None cannot .* expected a reward"),
    ("UPDATE rotting_events SET among = 'zzz' WHERE seq = 13", "event 13 .*among='zzz' cannot .* expected"),
    ("UPDATE rotting_events SET among = '[9]' WHERE seq = 13", r"event 13 .*among='\[9\]' cannot .* expected"),
    ("UPDATE rotting_events SET at = 'x' WHERE seq = 6", "event 6 .*at='x' cannot .* expected seconds"),
    ("UPDATE rotting_events SET at = 1e300 WHERE seq = 6", r"event 6 .*at=1e\+300 cannot .* expected seconds"),
    (
        "UPDATE rotting_events SET at = 5 WHERE seq = 6",
        r"event 6 .*at=5\.0 cannot .* expected a time that is not before",
    ),
    ("UPDATE rotting_events SET target = 999 WHERE seq = 5", "event 5 .*target=999 cannot .* expected"),
    ("UPDATE rotting_events SET target = NULL WHERE seq = 5", "event 5 .*target=None cannot .* expected"),
    ("UPDATE rotting_events SET probability = 'high' WHERE seq = 4", "event 4 .*probability='high'"),
    ("UPDATE rotting_events SET decision = NULL WHERE seq = 4", "event 4 .*decision=None"),
    ("DELETE FROM rotting_events WHERE seq < 3", "event 1 .* is missing"),
    ("DELETE FROM rotting_events", "event 1 .* is missing"),
    ("DELETE FROM rotting_events WHERE seq = 7", "event 8 follows event 6"),
    ("UPDATE rotting_bandits SET settings = '{}'", "settings in the database make no sense"),
    ("UPDATE rotting_bandits SET settings = 'garbage'", "settings of bandit 'hero'"),
    ("UPDATE rotting_bandits SET settings = '[1]'", "settings of bandit 'hero'"),
    ("UPDATE rotting_bandits SET settings = replace(settings, '60.0', '\"soon\"')", "reward_wait='soon'"),
    ("UPDATE rotting_bandits SET secret = 'zz'", "secret of bandit 'hero'"),
]


def change(file, *statements):
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for statement in statements:
        assert connection.execute(statement).rowcount > 0
    connection.commit()
    connection.close()


def every_call(url, decision):
    """Yield the name and the outcome of every call that reads the log."""
    calls = {
        "decide": lambda bandit: bandit.decide(),
        "reward": lambda bandit: bandit.reward(decision, 1.0),
        "report": lambda bandit: bandit.report(),
        "history": lambda bandit: bandit.history(),
        "verify": lambda bandit: bandit.verify(),
    }
    for name, call in calls.items():
        try:
            with Bandit.open(url, "hero") as bandit:
                call(bandit)
            yield name, None
        except BanditError as error:  # any other exception is what this test is about
            yield name, error


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Return a database with something of everything, with and without a snapshot, and the id of its first decision."""
    file = tmp_path_factory.mktemp("damage") / "log.db"
    bandit = Bandit.open(f"sqlite:///{file}", "hero", EffFEWA(sigma=0.5), COLOURS, reward_wait=60)
    choices = []
    for _ in range(3):
        choices.append(bandit.decide())
        bandit.reward(choices[-1].id, 1.0)
    waiting = bandit.decide()
    bandit.decide()
    bandit.shown(waiting.id)
    bandit.decide(among=["red", "blue"])
    bandit.retire_arm("blue")
    bandit.restore_arm("blue")
    assert len(bandit.history()) == 15
    bandit.verify()
    plain = file.read_bytes() if bandit.close() is None else b""
    with Bandit.open(f"sqlite:///{file}", "hero") as bandit:
        bandit.snapshot()
    return plain, file.read_bytes(), choices[0].id


@pytest.mark.parametrize("snapshot", [False, True], ids=["log alone", "with snapshot"])
@pytest.mark.parametrize(("statement", "words"), DAMAGE, ids=[statement[7:] for statement, _ in DAMAGE])
def test_damage_is_named(log, tmp_path, statement, words, snapshot):
    file = tmp_path / "log.db"
    file.write_bytes(log[snapshot])
    change(file, statement)
    outcomes = dict(every_call(f"sqlite:///{file}", log[2]))
    assert isinstance(outcomes["verify"], DamagedLog | VerificationFailed)
    if not snapshot:  # what a snapshot covers is not read again, until somebody asks for it
        with pytest.raises(DamagedLog, match=words):
            raise outcomes["decide"]
        assert "restore a backup" in str(outcomes["decide"])


def test_a_damaged_log_is_not_exported(log, tmp_path):
    file = tmp_path / "log.db"
    file.write_bytes(log[1])
    change(file, "DELETE FROM rotting_events WHERE seq = 6")
    with Bandit.open(f"sqlite:///{file}", "hero") as bandit:
        with pytest.raises(DamagedLog, match="event 6 of bandit 'hero' is missing"):
            bandit.export(tmp_path / "log.csv")
        change(file, "DELETE FROM rotting_events WHERE seq = 5")
        with pytest.raises(DamagedLog, match="missing or changed"):
            bandit.report()
    assert not (tmp_path / "log.csv").exists()


@pytest.mark.parametrize(
    "damage", ["content = 'text'", "content = 7", "content = x'504b0304'", "seq = 'abc', content = 1"]
)
def test_a_snapshot_that_is_none_is_ignored(log, tmp_path, damage):
    file = tmp_path / "log.db"
    file.write_bytes(log[1])
    change(file, f"UPDATE rotting_snapshots SET {damage}")
    with Bandit.open(f"sqlite:///{file}", "hero") as bandit:
        bandit.verify()
        bandit.snapshot()
        bandit.verify()


def test_a_snapshot_of_another_log_is_refused(log, tmp_path):
    file = tmp_path / "log.db"
    file.write_bytes(log[1])
    change(file, "DELETE FROM rotting_events WHERE seq > 12")
    with pytest.raises(DamagedLog, match=r"snapshot that ends with event 15.*delete the bandit's row"):
        Bandit.open(f"sqlite:///{file}", "hero")
    change(file, "DELETE FROM rotting_snapshots")
    Bandit.open(f"sqlite:///{file}", "hero").verify()


def test_a_version_that_is_no_number(log, tmp_path):
    file = tmp_path / "log.db"
    file.write_bytes(log[0])
    change(file, "UPDATE rotting_schema SET version = 'abc'")
    with pytest.raises(WrongSchema, match="'abc'"):
        Bandit.open(f"sqlite:///{file}", "hero")


# What only verify() can know.


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (["UPDATE rotting_events SET decision = 'another' WHERE seq = 4"], "event 4 .* id 'another', expected '"),
        (
            ["UPDATE rotting_events SET target = 1 WHERE seq = 5"],
            "event 5 .*decision 1 was rewarded.* no such decision",
        ),
        (["UPDATE rotting_events SET target = 5 WHERE seq = 12"], "event 12 .*decision 5 was shown.* no such decision"),
        (
            ["UPDATE rotting_events SET kind = 'expired', target = 4, arm = 0 WHERE seq = 7"],
            "event 7 .*no longer waited",
        ),
        (
            ["DROP INDEX rotting_outcomes", "UPDATE rotting_events SET target = 4, arm = 0 WHERE seq = 7"],
            "event 7 .*decision 4 was rewarded; event 5 had done that",
        ),
    ],
    ids=["id", "reward", "shown", "expired", "twice"],
)
def test_verify_says_which_event_and_what(log, tmp_path, statements, words):
    file = tmp_path / "log.db"
    file.write_bytes(log[0])
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    with Bandit.open(f"sqlite:///{file}", "hero") as bandit, pytest.raises(VerificationFailed, match=words):
        bandit.verify()
