"""Requests of many strangers in one transaction, and requests that are repeated."""

import shutil
from pathlib import Path

import pytest
import sqlalchemy

from rotting import Bandit, EffFEWA
from rotting.bandit import (
    BadReward,
    BadSettings,
    BanditError,
    Choice,
    Decide,
    KeyConflict,
    RetiredArm,
    Reward,
    RewardConflict,
    Shown,
    UnknownArm,
    UnknownDecision,
)
from rotting.bandit.store.tables import VERSION

COLOURS = ["red", "green", "blue"]
HALF = EffFEWA(sigma=0.5)
FIRST_RELEASE = Path(__file__).parents[1] / "data" / "v0_1" / "bandits.db"


@pytest.fixture
def bandit(url):
    return Bandit.open(url, "hero", HALF, COLOURS)


def test_everybody_gets_an_answer(bandit):
    first, second, third = bandit.decide(3)
    requests = [
        Reward(first.id, 1.0),
        Decide(),
        Shown(second.id),
        Reward(first.id, 1.0),
        Reward(first.id, 0.5),
        Decide(among=["nope"]),
        Shown("nonsense"),
        Shown(second.id),
        Decide(2, among=["red", "blue"]),
        Reward(second.id, 0.25),
        Shown(first.id),
        Reward(third.id, 0.0),
    ]
    outcomes = bandit.exchange(requests)
    kinds = [
        Choice if isinstance(each, Choice) else each if isinstance(each, bool) else type(each) for each in outcomes
    ]
    assert kinds == [
        True,
        Choice,
        True,
        False,
        RewardConflict,
        UnknownArm,
        UnknownDecision,
        False,
        list,
        True,
        True,
        True,
    ]
    assert [choice.arm for choice in (outcomes[1], *outcomes[8])] == ["red", "blue", "red"]  # they see each other
    log = bandit.history().iloc[6:]
    assert log.kind.tolist() == ["decided"] * 3 + ["rewarded", "shown", "rewarded", "shown", "rewarded"]
    assert log["at"].nunique() == 1
    bandit.verify()


def test_an_exchange_is_the_same_as_single_calls(url):
    """Decisions first, then the rest: the log is the one that single calls in that order write."""
    together, alone = (Bandit.open(url, name, HALF, COLOURS) for name in ("together", "alone"))
    before = [bandit.decide(5) for bandit in (together, alone)]
    values = [float(place) for place in range(5)]
    outcomes = together.exchange(
        [Reward(choice.id, value) for choice, value in zip(before[0], values, strict=True)] + [Decide()] * 4
    )
    arms = [alone.decide().arm for _ in range(4)]
    for choice, value in zip(before[1], values, strict=True):
        alone.reward(choice.id, value)
    assert [choice.arm for choice in outcomes[5:]] == arms
    columns = ["seq", "kind", "arm", "reward", "probability"]
    assert together.history()[columns].equals(alone.history()[columns])
    assert together._state.agent.same_as(alone._state.agent)


def test_one_bad_request_hurts_no_other(bandit):
    (choice,) = bandit.decide(1)
    bandit.retire_arm("blue")
    outcomes = bandit.exchange([Decide(among=["blue"]), Decide(), Reward("x-1-y", 0.0), Reward(choice.id, 1.0)])
    assert isinstance(outcomes[0], RetiredArm)
    assert isinstance(outcomes[1], Choice)
    assert isinstance(outcomes[2], UnknownDecision)
    assert outcomes[3] is True
    assert bandit.exchange([]) == []
    with pytest.raises(BadSettings, match="is not a request"):
        bandit.exchange([Decide(), "reward"])
    bandit.verify()


def test_bad_requests_are_refused_when_they_are_made():
    for make in (lambda: Decide(0), lambda: Decide(among="red"), lambda: Decide(key=""), lambda: Decide(key="a\n")):
        with pytest.raises(BadSettings):
            make()
    with pytest.raises(BadReward):
        Reward("x", float("nan"))


def test_rewards_that_can_be_logged_are(bandit):
    one, two, three = bandit.decide(3)
    bandit.reward(two.id, 0.0)
    outcomes = bandit.reward_many(
        [(one.id, 1.0), (two.id, 1.0), ("nonsense", 1.0), (three.id, float("inf")), (two.id, 0.0), (three.id, 0.5)],
        partial=True,
    )
    assert [each if isinstance(each, bool) else type(each) for each in outcomes] == [
        True,
        RewardConflict,
        UnknownDecision,
        BadReward,
        False,
        True,
    ]
    assert bandit.verify().rewards == 3


def test_many_exposures_at_once(bandit):
    one, two, three = bandit.decide(3)
    with pytest.raises(UnknownDecision):
        bandit.shown_many([one.id, "nonsense"])
    assert bandit.shown(one.id) is True
    assert bandit.shown_many([one.id, two.id, two.id, three.id]) == 2
    assert bandit.shown_many([]) == 0
    bandit.verify()


def test_rewards_of_decisions_that_only_the_log_knows(url):
    """More of them than one query holds."""
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    choices = bandit.decide(1200)
    rewards = [(choice.id, 1.0) for choice in choices]
    assert bandit.reward_many(rewards) == 1200
    assert bandit.reward_many(rewards) == 0
    assert bandit.exchange([Reward(*each) for each in rewards]) == [False] * 1200
    assert bandit.shown_many([choice.id for choice in choices]) == 1200
    bandit.verify()


# Keys.


def test_the_same_key_gives_the_same_decisions(url):
    bandit = Bandit.open(url, "hero", HALF, COLOURS)
    first = bandit.decide(key="a")
    several = bandit.decide(3, key="b")
    among = bandit.decide(2, among=["red", "green"], key="c")
    bandit.reward(first.id, 1.0)
    events = len(bandit.history())
    bandit.retire_arm("green")
    other = Bandit.open(url, "hero")  # as after a restart, or in another process
    for again in (bandit, other):
        assert again.decide(key="a").id == first.id
        assert [choice.id for choice in again.decide(3, key="b")] == [choice.id for choice in several]
        repeated = again.decide(2, among=["green", "red"], key="c")
        assert [(choice.id, choice.arm, choice.probability) for choice in repeated] == [
            (choice.id, choice.arm, choice.probability) for choice in among
        ]
        assert repeated[0].why == "decided before, with the same key"
    assert len(bandit.history()) == events + 1
    bandit.verify()


def test_a_key_belongs_to_one_request(bandit):
    bandit.decide(2, key="a")
    for different in ({"n": 3}, {}, {"n": 2, "among": ["red"]}):
        with pytest.raises(KeyConflict, match="key 'a' belongs to another request: 2 decisions"):
            bandit.decide(**different, key="a")


def test_a_key_twice_in_one_exchange(bandit):
    first, again, other = bandit.exchange([Decide(key="a"), Decide(key="a"), Decide(key="b")])
    assert first.id == again.id != other.id
    assert bandit.verify().decisions == 2


def test_keys_of_other_bandits_are_theirs(url):
    one, two = (Bandit.open(url, name, HALF, COLOURS) for name in ("one", "two"))
    assert one.decide(key="a").id != two.decide(key="a").id


def test_a_key_survives_two_processes_that_use_it_at_once(url):
    """Each knows nothing of the other until it writes."""
    one, two = (Bandit.open(url, "hero", HALF, COLOURS) for _ in range(2))
    for number in range(5):
        assert one.decide(key=f"{number}").id == two.decide(key=f"{number}").id
    assert one.verify().decisions == 5


# Databases of the first release have no keys.


def test_a_database_of_the_first_release_gets_keys(tmp_path):
    file = shutil.copy(FIRST_RELEASE, tmp_path / "bandits.db")
    url = f"sqlite:///{file}"
    with Bandit.open(url, "hero") as bandit:
        before = bandit.verify()
        choice = bandit.decide(key="a")
        bandit.reward(choice.id, 0.5)
    with Bandit.open(url, "hero") as bandit:
        assert bandit.decide(key="a").id == choice.id
        after = bandit.verify()
    assert (after.decisions, after.rewards) == (before.decisions + 1, before.rewards + 1)


def test_tables_of_the_first_release_in_postgresql_are_migrated(postgres):
    with Bandit.open(postgres, "hero", HALF, COLOURS) as bandit:
        bandit.reward(bandit.decide().id, 1.0)
    engine = sqlalchemy.create_engine(postgres)
    with engine.begin() as connection:  # as version 1 made them
        for statement in (
            "DROP INDEX rotting_keys",
            "DROP TABLE rotting_seals",
            "ALTER TABLE rotting_events DROP COLUMN key, DROP COLUMN batch, DROP COLUMN holdout, DROP COLUMN happened, "
            "DROP COLUMN details",
            "ALTER TABLE rotting_events ADD CONSTRAINT rotting_events_kind_check CHECK (kind IN ('decided', 'shown', "
            "'rewarded', 'expired', 'added', 'retired', 'restored'))",
            "UPDATE rotting_schema SET version = 1",
        ):
            connection.exec_driver_sql(statement)
    engine.dispose()
    with Bandit.open(postgres, "hero") as bandit:
        assert bandit.decide(key="a").id == bandit.decide(key="a").id
        assert bandit.verify().decisions == 2
    engine = sqlalchemy.create_engine(postgres)
    with engine.connect() as connection:
        version = connection.exec_driver_sql("SELECT version FROM rotting_schema").scalar()
    engine.dispose()
    assert version == VERSION


@pytest.mark.parametrize("make", [lambda: Reward("x", float("nan")), lambda: Decide(n=0)], ids=["reward", "decide"])
def test_a_request_checks_itself_when_it_is_made(make):
    """So that a server can answer the one that is wrong before it collects those of others."""
    with pytest.raises(BanditError):
        make()
