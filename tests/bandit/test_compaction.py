"""The beginning of a log, replaced by a seal: what goes on, what is refused, what is still known."""

import json
import math

import pandas
import pytest
import sqlalchemy
from sqlalchemy import delete, func, select, update

from bandit import tables as schema
from rotting import FEWA, UCB1, Bandit, EffFEWA
from rotting.bandit import (
    BadSettings,
    CompactedDecision,
    DamagedLog,
    RewardConflict,
    StorageError,
    UnknownBandit,
    UnknownDecision,
    VerificationFailed,
)
from rotting.bandit.log import compacting

COLOURS = ["red", "green", "blue"]
WORTH = {"red": 0.9, "green": 0.5, "blue": 0.1, "purple": 0.7}
EVENTS = schema.events.c


def play(bandit, rounds):
    choices = []
    for place in range(rounds):
        choices.append(bandit.decide())
        bandit.reward(choices[-1].id, WORTH[choices[-1].arm] + 0.05 * math.sin(7 * place))
    return choices


def rows_in(url, table):
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        number = connection.execute(select(func.count()).select_from(table)).scalar()
    engine.dispose()
    return number


def numbers(report):
    """Return what a report says of the past, which must not change because it was compacted."""
    return [
        (arm.arm, arm.shows, arm.pending, arm.rewards, arm.means, arm.wear_start, arm.wear_now) for arm in report.arms
    ]


@pytest.mark.parametrize("count", ["decided", "shown"])
def test_a_compacted_bandit_goes_on_as_if_nothing_had_happened(url, tmp_path, count):
    """Twins: one is compacted twice, where the other has an event without meaning. They go on in the same way."""
    settings = {"epsilon": 0.2, "holdout": 0.1, "count": count, "sigma": "auto"}
    plain, compacted = twins = [
        Bandit.open(url, name, FEWA(sigma=0.05), COLOURS, **settings) for name in ("plain", "compacted")
    ]
    for step in range(3):
        waiting = []
        for bandit in twins:
            play(bandit, 30)
            waiting.append(bandit.decide(6))
            for choice in waiting[-1][:3]:
                bandit.shown(choice.id)
        if step < 2:
            parts = len(compacted.history())
            done = compacted.compact(compacted._state.seq - step, tmp_path / f"part {step}.jsonl")
            assert done.events == len(pandas.read_json(done.export, lines=True)) == parts - step
            plain.change(reward_range=(-5, 5 + step))  # so that both logs have as many events
        for bandit, choices in zip(twins, waiting, strict=True):
            bandit.reward_many([(choice.id, 0.3) for choice in choices[1:5]])
    for bandit in twins:
        bandit.add_arm("purple")  # the policy learns everything anew
    arms, others = ([choice.arm for choice in play(bandit, 40)] for bandit in twins)
    assert arms == others
    assert plain._state.agent.same_as(compacted._state.agent)
    assert numbers(plain.report()) == numbers(compacted.report())
    assert plain.report().holdout == compacted.report().holdout
    verified = compacted.verify()
    assert verified.since > 100
    assert verified.events == compacted._state.seq - verified.since + 1
    with Bandit.open(url, "compacted") as again:
        assert again._state.difference(compacted._state) is None


def test_a_report_does_not_change_because_the_log_was_compacted(url, tmp_path):
    with Bandit.open(url, "hero", EffFEWA(sigma=0.3), COLOURS, holdout=0.2, count="shown") as bandit:
        choices = play(bandit, 40) + bandit.decide(10)
        for choice in choices[35:45]:
            bandit.shown(choice.id)
        before, policy = bandit.report(), bandit.policy
        bandit.compact(bandit._state.seq, tmp_path / "log.csv")
        assert rows_in(url, schema.events) == 1
        assert bandit.report().to_dict() == before.to_dict()
        with Bandit.open(url, "hero") as again:
            assert (again.report().to_dict(), again.policy) == (before.to_dict(), policy)
        shows = {arm.arm: arm.shows for arm in before.arms}
        for choice in choices[40:]:  # five of them were shown before the seal, five were not
            bandit.reward(choice.id, 0.5)
        for choice in choices[45:]:
            shows[choice.arm] += 1
        assert {arm.arm: arm.shows for arm in bandit.report().arms} == shows
        assert bandit.verify().rewards == 10


def test_late_rewards_work_while_they_are_waited_for_and_are_refused_by_name_after(url, tmp_path):
    with Bandit.open(url, "hero", UCB1(), COLOURS) as bandit:
        settled, waiting = bandit.decide(2)
        bandit.reward(settled.id, 1.0)
        bandit.compact(bandit._state.seq, tmp_path / "log.csv")
        assert bandit.shown(waiting.id)
        assert bandit.reward(waiting.id, 0.5)
        assert bandit.reward(waiting.id, 0.5) is False
        assert bandit.shown(waiting.id) is False
        with pytest.raises(RewardConflict):
            bandit.reward(waiting.id, 0.7)
        with pytest.raises(UnknownDecision):
            bandit.reward(waiting.id[:-1] + "g", 0.5)
        for call in (lambda: bandit.reward(settled.id, 1.0), lambda: bandit.shown(settled.id)):
            with pytest.raises(CompactedDecision, match="that was compacted"):
                call()
        log = bandit.history()
        assert log["decision"].dropna().unique().tolist() == [waiting.id]  # decided before, shown and rewarded after
        with pytest.raises(BadSettings, match="compacted up to event 6"):
            bandit.history(after=2)
        with pytest.raises(BadSettings, match="compacted up to event 6"):
            bandit.history(since="2020-01-01")
        bandit.verify()


def test_other_processes_notice(url, tmp_path):
    """One that is far behind, one that has the bandit open at its newest event, one that opens it later."""
    with Bandit.open(url, "hero", EffFEWA(), COLOURS) as bandit, Bandit.open(url, "hero") as behind:
        play(bandit, 30)
        with Bandit.open(url, "hero") as newest:
            bandit.snapshot()
            bandit.compact(50, tmp_path / "log.parquet")
            for other in (behind, newest):
                other.reward(other.decide().id, 0.5)
                other.verify()
            assert bandit.verify().since == 51
        assert list(behind.arms) == COLOURS  # it catches up
        with Bandit.open(url, "hero") as later:
            assert later._state.difference(behind._state) is None


def test_a_snapshot_that_ends_with_the_last_compacted_event_is_used(sqlite, tmp_path):
    """Its own event is no longer in the log, so it is compared with the seal."""
    with Bandit.open(sqlite, "hero", EffFEWA(), COLOURS) as bandit, Bandit.open(sqlite, "hero") as other:
        waiting = bandit.decide()
        bandit.snapshot()
        bandit.compact(bandit._state.seq, tmp_path / "log.csv")
        assert bandit.reward(waiting.id, 0.5)
        with Bandit.open(sqlite, "hero") as later:
            for each in (bandit, other, later):
                each.decide()
                each.verify()


def test_a_snapshot_that_is_older_than_the_seal_is_not_used(sqlite, tmp_path):
    """The events that follow it are gone: proofs must not begin with it."""
    with Bandit.open(sqlite, "hero", EffFEWA(), COLOURS) as bandit, Bandit.open(sqlite, "hero") as other:
        play(other, 5)
        other.snapshot()
        play(other, 5)
        bandit.compact(other._state.seq, tmp_path / "log.csv")
        play(other, 5)
        with Bandit.open(sqlite, "hero") as later:
            for each in (bandit, other, later):
                each.verify()


def test_a_snapshot_of_another_past_than_the_seal_is_refused(sqlite, tmp_path, tamper):
    with Bandit.open(sqlite, "hero", EffFEWA(), COLOURS) as bandit:
        play(bandit, 5)
        bandit.snapshot()
        bandit.compact(bandit._state.seq, tmp_path / "log.csv")
    tamper(sqlite, update(schema.seals).values(at=schema.seals.c.at - 1))
    with pytest.raises(DamagedLog, match="not at the same time"):
        Bandit.open(sqlite, "hero")


def test_an_interrupted_deletion_does_no_harm(url, tmp_path, monkeypatch):
    with Bandit.open(url, "hero", EffFEWA(), COLOURS) as bandit:
        play(bandit, 30)
        kind = type(bandit._log.store)

        def breaks(*_):
            raise StorageError("the connection broke")

        monkeypatch.setattr(kind, "delete_events", breaks)
        with pytest.raises(StorageError) as raised:
            bandit.compact(40, tmp_path / "log.csv")
        monkeypatch.undo()
        assert raised.value.may_be_written  # the seal is in its place
        assert rows_in(url, schema.events) == 64
        play(bandit, 3)
        bandit.add_arm("purple")
        bandit.verify()
        assert len(bandit.history()) == bandit._state.seq - 40
        with Bandit.open(url, "hero") as again:
            assert again._state.difference(bandit._state) is None
            play(again, 3)
        monkeypatch.setattr(compacting, "PORTION", 7)
        bandit.compact(60, tmp_path / "more.csv")
        assert rows_in(url, schema.events) == bandit._state.seq - 60
        bandit.verify()


def late_events(bandit, clock):
    """Let decisions be settled, and what they were late for come afterwards; returns the number of the last before."""
    first, second, third, fourth = bandit.decide(4)
    bandit.reward(second.id, 0.4)
    bandit.shown(third.id)
    clock.now += 20.0
    bandit.decide()  # settles what is overdue
    end = bandit._state.seq
    assert len(bandit._state.pending) == 1
    bandit.shown(second.id)
    bandit.reward_many([(first.id, 0.7), (third.id, 0.1)])
    bandit.shown_many([first.id, fourth.id])
    return end


@pytest.mark.parametrize("count", ["decided", "shown"])
def test_what_came_late_to_a_settled_decision_is_known_to_the_seal(url, tmp_path, clock, count):
    with Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS, reward_wait=10.0, count=count) as bandit:
        end = late_events(bandit, clock)
        told, rows = numbers(bandit.report()), bandit.history(after=end).to_dict("list")
        for upto in (end, end + 1, end + 4):  # later parts know what the seal before them says of the decisions
            bandit.compact(upto, tmp_path / f"{upto}.csv")
            assert bandit.verify().since == upto + 1
            assert numbers(bandit.report()) == told
            kept = bandit.history(after=upto)
            assert kept["decision"].tolist()[: end + 5 - upto] == rows["decision"][upto - end :]
        with Bandit.open(url, "hero") as again:
            assert again.verify() == bandit.verify()
            assert numbers(again.report()) == told
            with pytest.raises(CompactedDecision):
                again.reward(rows["decision"][0], 0.4)


def test_what_comes_late_while_the_log_is_compacted_is_known_to_the_seal(url, tmp_path, clock, monkeypatch):
    one, two = (Bandit.open(url, "hero", EffFEWA(sigma=0.5), COLOURS, reward_wait=10.0) for _ in range(2))
    choice = one.decide()
    clock.now += 20.0
    one.decide()
    write_log = compacting.write_log

    def meanwhile(rows, path):
        two.reward(choice.id, 0.7)
        return write_log(rows, path)

    monkeypatch.setattr(compacting, "write_log", meanwhile)
    one.compact(5, tmp_path / "log.csv")
    assert one.verify() == two.verify()
    assert one.history()["decision"].tolist()[1] == choice.id
    assert [arm.shows for arm in one.report().arms] == [2, 0, 0]


def test_what_does_not_verify_is_not_compacted(url, tmp_path, tamper):
    with Bandit.open(url, "hero", EffFEWA(), COLOURS) as bandit:
        play(bandit, 20)
        tamper(url, update(schema.events).where(EVENTS.seq == 10).values(probability=0.5))
        with pytest.raises(VerificationFailed):
            bandit.compact(30, tmp_path / "log.csv")
        assert list(tmp_path.glob("*.csv")) == []
        assert rows_in(url, schema.seals) == 0


@pytest.mark.parametrize(
    ("before", "words"), [(0, "events 1 to 43"), (44, "events 1 to 43"), ("1990-01-01", "nothing")]
)
def test_what_leaves_nothing_to_compact_is_refused(sqlite, tmp_path, before, words):
    with Bandit.open(sqlite, "hero", EffFEWA(), COLOURS) as bandit:
        play(bandit, 20)
        with pytest.raises(BadSettings, match=words):
            bandit.compact(before, tmp_path / "log.csv")


def test_an_earlier_export_is_not_overwritten(sqlite, tmp_path):
    with Bandit.open(sqlite, "hero", EffFEWA(), COLOURS) as bandit:
        play(bandit, 5)
        bandit.compact("2999-01-01", tmp_path / "log.csv")
        before = (tmp_path / "log.csv").read_text()
        play(bandit, 1)
        with pytest.raises(StorageError, match="exists") as caught:
            bandit.compact("2999-01-01", tmp_path / "log.csv")
        assert caught.value.hint == "give the name of a new file"
        assert (tmp_path / "log.csv").read_text() == before
        assert len(bandit.history()) == 3


@pytest.mark.parametrize("before", [None, True])
def test_everything_is_not_compacted_by_mistake(sqlite, tmp_path, before):
    with Bandit.open(sqlite, "hero", EffFEWA(), COLOURS) as bandit:
        with pytest.raises(BadSettings, match="before"):
            bandit.compact(before, tmp_path / "log.csv")
        assert len(bandit.history()) == 3


def test_a_warm_start_is_not_torn_apart(sqlite, tmp_path):
    earlier = [{"arm": "red", "reward": 0.1 * place} for place in range(10)]
    with Bandit.open(sqlite, "hero", EffFEWA(), COLOURS, warm_start=earlier) as bandit:
        with pytest.raises(BadSettings, match="inside a warm start, which ends with event 14"):
            bandit.compact(8, tmp_path / "log.csv")
        bandit.compact(14, tmp_path / "log.csv")
        assert [arm.imported for arm in bandit.report().arms] == [10, 0, 0]
        play(bandit, 5)
        bandit.verify()


def test_a_seal_that_was_tampered_with_is_found(url, tmp_path, tamper):
    with Bandit.open(url, "hero", EffFEWA(), COLOURS) as bandit:
        play(bandit, 20)
        bandit.compact(30, tmp_path / "log.csv")
        details = json.loads(bandit.history()["details"].dropna().iloc[0])
        assert details["upto"] == 30
        tamper(url, update(schema.seals).values(checksum="0" * 32))
        with pytest.raises(DamagedLog, match="not as it was written"):
            bandit.verify()
        tamper(url, update(schema.seals).values(content=b"x", checksum=compacting.checksum(b"x")))
        with pytest.raises(DamagedLog, match="cannot be read"):
            Bandit.open(url, "hero")


# Deleting a bandit.


def test_a_deleted_bandit_is_gone_and_others_stay(url, tmp_path, monkeypatch):
    monkeypatch.setattr(compacting, "PORTION", 10)
    with Bandit.open(url, "other", UCB1(), COLOURS) as other, Bandit.open(url, "hero", UCB1(), COLOURS) as bandit:
        play(other, 5), play(bandit, 20)
        bandit.compact(30, tmp_path / "log.csv")
        bandit.snapshot()
        assert Bandit.delete(url, "hero") == 44
        with pytest.raises(UnknownBandit, match="'hero' was deleted"):
            bandit.decide()
        with pytest.raises(UnknownBandit, match="only 'other'"):
            Bandit.open(url, "hero")
        with pytest.raises(UnknownBandit):
            Bandit.delete(url, "hero")
        assert other.verify().decisions == 5
        for table, number in ((schema.events, 13), (schema.bandits, 1), (schema.seals, 0), (schema.snapshots, 0)):
            assert rows_in(url, table) == number
        with Bandit.open(url, "hero", EffFEWA(), ["new"]) as again:
            assert again.decide().arm == "new"


def test_a_log_without_its_seal_has_no_beginning(sqlite, tmp_path, tamper):
    with Bandit.open(sqlite, "hero", EffFEWA(), COLOURS) as bandit:
        play(bandit, 20)
        bandit.compact(30, tmp_path / "log.csv")
    tamper(sqlite, delete(schema.seals))
    with pytest.raises(DamagedLog, match="event 1 of bandit 'hero' is missing"):
        Bandit.open(sqlite, "hero")


def test_of_two_compactions_at_once_one_file_is_left_and_it_is_the_one_in_the_log(sqlite, tmp_path, monkeypatch):
    one, two = (Bandit.open(sqlite, "hero", EffFEWA(sigma=0.5), COLOURS) for _ in range(2))
    play(one, 20)
    write_log = compacting.write_log

    def meanwhile(rows, path):
        monkeypatch.setattr(compacting, "write_log", write_log)
        with pytest.raises(StorageError, match="exists"):
            two.compact(10, tmp_path / "one.csv")
        two.compact(30, tmp_path / "two.csv")
        return write_log(rows, path)

    monkeypatch.setattr(compacting, "write_log", meanwhile)
    with pytest.raises(BadSettings, match="compacted"):
        one.compact(20, tmp_path / "one.csv")
    assert [path.name for path in tmp_path.glob("*.csv")] == ["two.csv"]
    [details] = one.history().details.dropna()
    assert json.loads(details)["export_checksum"] == compacting._file_checksum(tmp_path / "two.csv")
    one.compact(40, tmp_path / "one.csv")  # the name is free again
    assert one.verify() == two.verify()
