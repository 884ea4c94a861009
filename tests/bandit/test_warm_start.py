"""Rewards of elsewhere, learnt before the first decision."""

import datetime

import numpy as np
import pandas
import pytest
from sqlalchemy import delete, update

from bandit import tables as schema
from rotting import FEWA, Bandit, EffFEWA
from rotting.bandit import BadName, BadReward, BadSettings, DamagedLog, RewardOutOfRange, VerificationFailed
from rotting.logs import LogError

COLOURS = ["red", "green", "blue"]
HALF = EffFEWA(sigma=0.5)
EVENTS = schema.events.c


def rows(number=60):
    random = np.random.default_rng(5)
    return [
        {"arm": COLOURS[place % 3], "reward": float(random.random()), "time": 1e9 + place, "probability": 1 / 3}
        for place in range(number)
    ]


def learnt(policy, earlier):
    agent = policy.start(3)
    agent.update_many([COLOURS.index(row["arm"]) for row in earlier], [row["reward"] for row in earlier])
    return agent


def test_a_bandit_begins_with_what_was_known(url):
    earlier = rows()
    with Bandit.open(url, "hero", FEWA(sigma=0.1), COLOURS, warm_start=earlier) as bandit:
        assert bandit._state.agent.same_as(learnt(FEWA(sigma=0.1), earlier))
        log = bandit.history()
        assert log["kind"].tolist() == ["added"] * 3 + ["warmed"] + ["imported"] * 60
        assert log["happened"].dropna().dt.as_unit("s").astype("int64").tolist() == [row["time"] for row in earlier]
        assert set(log["probability"].dropna()) == {1 / 3}
        assert log["details"].dropna().tolist() == ['{"source": "rows", "rewards": 60}']
        assert [(arm.shows, arm.rewards, arm.imported) for arm in bandit.report().arms] == [(0, 20, 20)] * 3
        bandit.reward(bandit.decide().id, 1.0)
        bandit.snapshot()
        bandit.add_arm("purple")
        assert bandit.decide().arm == "purple"
        assert bandit.verify().rewards == 61
    with Bandit.open(url, "hero", warm_start=earlier) as again:  # it exists: opened as it is
        assert sum(arm.imported for arm in again.report().arms) == 60
        again.verify()


def test_rewards_with_times_are_learnt_in_their_order(sqlite):
    earlier = rows()
    shuffled = [earlier[place] for place in np.random.default_rng(2).permutation(60)]
    with Bandit.open(sqlite, "hero", HALF, COLOURS, warm_start=shuffled) as bandit:
        assert bandit._state.agent.same_as(learnt(HALF, earlier))


def test_tables_and_texts_and_arms_from_the_rows(sqlite):
    frame = pandas.DataFrame(rows()).assign(time=lambda each: pandas.to_datetime(each["time"], unit="s", utc=True))
    with Bandit.open(sqlite, "table", HALF, warm_start=frame.drop(columns="probability")) as bandit:
        assert list(bandit.arms) == COLOURS
        assert bandit.history()["probability"].isna().all()
        assert bandit.history()["happened"].dropna().iloc[0] == datetime.datetime.fromtimestamp(1e9, datetime.UTC)
    texts = [{"arm": "red", "reward": 1, "time": "2026-01-02"}, {"arm": "red", "reward": 0, "time": "2026-01-01 12:00"}]
    with Bandit.open(sqlite, "texts", HALF, warm_start=texts) as bandit:
        assert bandit.history()["reward"].dropna().tolist() == [0.0, 1.0]


def test_another_bandit_hands_over_what_it_knows(url):
    with Bandit.open(url, "old", FEWA(sigma=0.1), COLOURS, epsilon=0.3, warm_start=rows(9)) as old:
        choices = old.decide(50)
        old.reward_many([(choice.id, 0.1 * place) for place, choice in enumerate(choices[:40])])
        with Bandit.open(url, "new", FEWA(sigma=0.1), warm_start=old) as new:
            assert new._state.agent.same_as(old._state.agent)
            mine, theirs = new.history().query("kind == 'imported'"), old.history()
            assert mine["reward"].tolist() == theirs["reward"].dropna().tolist()
            assert mine["probability"].tolist() == [1 / 3] * 9 + [choice.probability for choice in choices[:40]]
            came = theirs["happened"].where(theirs["kind"] == "imported", theirs["at"])
            assert mine["happened"].tolist() == came[theirs["reward"].notna()].tolist()
            assert new.history()["details"].dropna().tolist() == ['{"source": "bandit old", "rewards": 49}']
            assert new.warm_start([]) == 0
            assert new.warm_start(old) == 49  # into one that exists, as another warm start
            assert new.verify().rewards == 98


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("nowhere.csv", LogError, "nowhere.csv.*No such file"),
        (b"log.csv", BadSettings, "warm_start=.*is not a source"),
        (5, BadSettings, "is not a source"),
        ([1], BadSettings, "row 1 lacks an arm or a reward"),
        ([{"arm": "red"}], BadSettings, "row 1 lacks"),
        ([{"arm": "red", "reward": 1.0}, {"arm": "", "reward": 0.0}], BadName, "row 2 of warm_start: .*0 characters"),
        ([{"arm": "red", "reward": "much"}], BadReward, "row 1 of warm_start: reward='much'"),
        ([{"arm": "red", "reward": 0.5, "time": "noon"}], BadSettings, "row 1 of warm_start: time='noon'"),
        ([{"arm": "red", "reward": 0.5, "probability": 0}], BadSettings, "row 1 .*probability=0 is out of range"),
        ([{"arm": "red", "reward": 0.5, "time": 1.7e12}], BadSettings, "row 1 .*is not a time.*milliseconds"),
        ([{"arm": "red", "reward": 0.5, "time": 1e300}], BadSettings, "row 1 .*is not a time"),
        ([{"arm": "red", "reward": 0.5, "time": -1e12}], BadSettings, "row 1 .*is not a time"),
        ([{"arm": "red", "reward": 0.5, "probability": 2}], BadSettings, "row 1 .*probability=2 is out of range"),
        ([{"arm": "red", "reward": 0.5, "time": 1}, {"arm": "red", "reward": 0.5}], BadSettings, "none in row 2"),
        ([{"arm": "mauve", "reward": 0.5}], BadSettings, "rewards of arm 'mauve', which is not among the arms"),
        ([{"arm": "red", "reward": 1.5}], RewardOutOfRange, "reward=1.5 is out of range"),
    ],
)
def test_what_is_no_warm_start_is_refused_and_no_bandit_made(sqlite, source, error, words):
    with pytest.raises(error, match=words):
        Bandit.open(sqlite, "hero", HALF, COLOURS, reward_range=(0, 1), warm_start=source)
    with pytest.raises(LookupError):
        Bandit.open(sqlite, "hero")


def test_a_bandit_does_not_learn_its_own_rewards_again(sqlite):
    with Bandit.open(sqlite, "hero", HALF, warm_start=rows(6)) as bandit, Bandit.open(sqlite, "hero") as again:
        for source in (bandit, again):
            with pytest.raises(BadSettings, match="this bandit itself"):
                bandit.warm_start(source)
        assert sum(arm.imported for arm in bandit.report().arms) == 6


@pytest.mark.parametrize(
    "statement",
    [
        update(schema.events).where(EVENTS.kind == "warmed").values(details='{"source": "rows", "rewards": 9}'),
        update(schema.events).where(EVENTS.kind == "warmed").values(details='{"source": "rows"}'),
        update(schema.events).where(EVENTS.seq == 20).values(value=7.0),
        delete(schema.events).where(EVENTS.seq > 62),
    ],
    ids=["number", "no number", "reward", "fewer"],
)
def test_a_warm_start_that_was_tampered_with_is_found(url, statement, tamper):
    with Bandit.open(url, "hero", FEWA(sigma=0.01), COLOURS, warm_start=rows()) as bandit:
        bandit.decide(20)
        bandit.report()
        tamper(url, statement)
        with pytest.raises((VerificationFailed, DamagedLog)):
            bandit.verify()


def test_a_file_is_read_as_a_log(sqlite, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("time;ad;clicked\n31/12/2025 18:30;red;yes\n30/12/2025 09:00;teal;no\n")
    with Bandit.open(sqlite, "hero", HALF, warm_start=path) as bandit:
        found = bandit.history()
        imported = found[found["kind"] == "imported"]
        assert imported["arm"].tolist() == ["teal", "red"]
        assert imported["reward"].tolist() == [0.0, 1.0]
        assert bandit.verify()
