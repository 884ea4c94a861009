"""Does a store keep the promises of `rotting.bandit.store.Store`? One suite, for ours and for yours.

    import pytest
    from rotting.testing.stores import STORE_CHECKS

    @pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
    def test_my_store_keeps_the_contract(check):
        check(lambda: MyStore("an empty place"))

Each check is given a function that opens stores at one empty place, the same each time. Some take a tenth of a second,
since they wait for a deadline. What only the machine can say, whether what is acknowledged survives a power cut, is not
checked here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from rotting.bandit import BanditError, ClosedBandit, StorageError, TimedOut
from rotting.bandit.store import (
    BanditRow,
    Batch,
    Contention,
    Deadline,
    Event,
    Facts,
    Key,
    Question,
    Seal,
    Snapshot,
    Store,
)

Opener = Callable[[], Store]
_LATE = 0.2  # seconds after its deadline within which a block ends
_NAMES = iter(range(10**9))
Refused = TypeVar("Refused", bound=BanditError)


# What the checks are made of.


@contextlib.contextmanager
def _opened(make: Opener, number: int = 1) -> Iterator[list[Store]]:
    """Yield stores at one place, which is prepared."""
    stores = [make() for _ in range(number)]
    with stores[0].lock:
        stores[0].prepare()
    try:
        yield stores
    finally:
        for store in stores:
            store.close()


def _bandit(store: Store, arms: int = 2) -> int:
    """Add a bandit with so many arms, and return its number."""
    number = next(_NAMES)
    row = BanditRow(0, f"bandit {number}", f"token{number}", "00ff", "{}")
    return store.add(row, [Event(arm + 1, "added", 1.0, arm, f"arm {arm}") for arm in range(arms)]).id


def _decided(seq: int, at: float = 2.0, key: str | None = None, batch: int | None = None) -> Event:
    return Event(seq, "decided", at, 0, decision=f"id-{seq}-x", probability=0.5, key=key, batch=batch)


def _rewarded(seq: int, target: int, value: float = 0.25, at: float = 3.0) -> Event:
    return Event(seq, "rewarded", at, 0, target=target, value=value)


def _append(store: Store, bandit: int, events: Sequence[Event], seq: int, at: float, lock: bool = False) -> bool:
    with store.writing():
        if lock:
            store.look_up({bandit: Question(seq)}, lock=True)
        return store.append({bandit: Batch(events, seq, at)}) == {bandit}


def _log(store: Store, bandit: int) -> list[Event]:
    with store.reading():
        return store.events(bandit)


def _facts(store: Store, bandit: int, asked: Question) -> Facts:
    with store.reading():
        return store.look_up({bandit: asked})[bandit]


def _refuses(kind: type[Refused], call: Callable[[], object]) -> Refused:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}")


# The checks.


def an_empty_place_is_prepared_once(make: Opener) -> None:
    """`condition` says what there is, `prepare` makes what is needed, and again nothing."""
    store = make()
    if not store.is_missing():
        with store.reading():
            assert store.condition() in ("nothing", "ready")
    store.prepare()
    bandit = _bandit(store)
    store.prepare()
    other = make()
    with other.reading():
        assert other.condition() == "ready"
        assert len(other.events(bandit)) == 2
    store.close()
    other.close()


def bandits_are_found_by_name_and_token(make: Opener) -> None:
    """In the order in which they were made; a name that is there already gives the bandit that has it."""
    with _opened(make, 2) as [one, two]:
        names = enumerate(["b", "a", "äß✓", "A_%"])
        rows = [BanditRow(0, name, f"t{place}", "0a", '{"a": 1}') for place, name in names]
        added = [one.add(row, [Event(1, "added", 1.0, 0, "red")]) for row in rows]
        assert len({row.id for row in added}) == 4
        again = two.add(rows[1]._replace(token="other", settings="{}"), [Event(1, "added", 9.0, 0, "blue")])
        assert again == added[1]
        with two.reading():
            assert two.bandits() == added
            assert two.bandits("A_") == added[3:]
            assert two.find(name="äß✓") == two.find(token="t2") == added[2]
            assert two.find(name="B") is None
            assert two.find(token="b") is None
            assert two.events(added[1].id) == [Event(1, "added", 1.0, 0, "red")]


def what_is_appended_is_read_as_it_was(make: Opener) -> None:
    """Every field, bit for bit, by this store and by others."""
    with _opened(make, 2) as [one, two]:
        bandit = _bandit(one)
        events = [
            Event(3, "decided", 1700000000.123457, 1, None, "a-3-ß", None, None, 1 / 3, "[0, 1]", "clé", 2, 1),
            Event(4, "decided", 1700000000.123457, 0, None, "a-4-x", holdout=0),
            Event(5, "rewarded", 1700000000.5, 1, target=3, value=5e-324, holdout=1),
            Event(6, "expired", 1700000001.0, 0, target=4),
            Event(7, "imported", 1700000001.0, 0, value=-1e100, probability=0.1, happened=12.5),
            Event(8, "changed", 1700000001.0, -1, details='{"epsilon": 0.1}'),
        ]
        assert _append(one, bandit, events, 2, 1.0)
        for store in (one, two):
            assert _log(store, bandit)[2:] == events


def an_append_is_accepted_if_the_last_event_is_the_one_that_is_named(make: Opener) -> None:
    """Its number and its time; all of it, or nothing; with a lock and without."""
    with _opened(make, 2) as [one, two]:
        for lock in (False, True):
            bandit = _bandit(one)
            assert _append(one, bandit, [_decided(3)], 2, 1.0, lock)
            before = _log(two, bandit)
            for seq, at in ((2, 1.0), (3, 2.5), (4, 2.0), (1, 1.0)):
                assert not _append(two, bandit, [_decided(seq + 1), _decided(seq + 2)], seq, at, lock)
            assert _log(one, bandit) == before
            assert _append(two, bandit, [_decided(4), _decided(5)], 3, 2.0, lock)


def each_of_many_batches_is_judged_by_itself(make: Opener) -> None:
    """One transaction for all that is accepted; what is refused leaves nothing behind."""
    with _opened(make, 2) as [one, two]:
        bandits = [_bandit(one) for _ in range(6)]
        assert _append(two, bandits[2], [_decided(3)], 2, 1.0)
        for lock in (False, True):
            with one.writing():
                if lock:
                    one.look_up({bandit: Question(2) for bandit in bandits}, lock=True)
                seqs = dict.fromkeys(bandits, 2 + 2 * lock)
                batches = {
                    bandit: Batch([_decided(seq + 1), _decided(seq + 2)], seq, 2.0 if lock else 1.0)
                    for bandit, seq in seqs.items()
                }
                assert one.append(batches) == {bandit for bandit in bandits if bandit != bandits[2]}
            assert [len(_log(two, bandit)) for bandit in bandits] == [
                3 if bandit == bandits[2] else 4 + 2 * lock for bandit in bandits
            ]


def nothing_is_left_of_a_block_that_ends_without_an_append(make: Opener) -> None:
    """By itself or by an exception of whatever kind; nobody waits for it afterwards."""
    with _opened(make, 2) as [one, two]:
        bandit = _bandit(one)
        errors: tuple[BaseException | None, ...] = (None, ValueError("x"), KeyboardInterrupt(), StorageError("x"))
        for error in errors:
            with contextlib.suppress(ValueError, KeyboardInterrupt, StorageError), one.writing():
                one.look_up({bandit: Question(1)}, lock=True)
                if error is not None:
                    raise error
            with two.writing(Deadline(5.0)):
                assert len(two.look_up({bandit: Question(1)}, lock=True)[bandit].events) == 2
        assert _append(one, bandit, [_decided(3)], 2, 1.0)


def a_lock_keeps_others_away_until_the_block_ends(make: Opener) -> None:
    """Who locks waits until its deadline, who does not is refused; readers neither wait nor see anything."""
    with _opened(make, 3) as [one, two, three]:
        bandit = _bandit(one)
        with one.writing():
            one.look_up({bandit: Question(2)}, lock=True)
            start = time.monotonic()
            error = _refuses(TimedOut, lambda: _locked(two, bandit, Deadline(0.1)))
            assert 0.1 <= time.monotonic() - start < 0.1 + _LATE
            assert not error.may_be_written
            with contextlib.suppress(TimedOut), three.writing(Deadline(0.0)):
                assert three.append({bandit: Batch([_decided(3, 9.0)], 2, 1.0)}) == set()
            assert len(_log(three, bandit)) == 2
            assert one.append({bandit: Batch([_decided(3)], 2, 1.0)}) == {bandit}
        assert _locked(two, bandit, Deadline(5.0)) == [_decided(3)]


def _locked(store: Store, bandit: int, deadline: Deadline) -> list[Event]:
    with store.writing(deadline):
        return store.look_up({bandit: Question(3)}, lock=True)[bandit].events


def a_reader_sees_one_moment(make: Opener) -> None:
    """Whatever others append and delete meanwhile."""
    with _opened(make, 2) as [one, two]:
        bandit = _bandit(one)
        assert _append(one, bandit, [_decided(3)], 2, 1.0)
        with two.reading():
            before = two.events(bandit)
            assert _append(one, bandit, [_rewarded(4, 3)], 3, 2.0)
            one.put_snapshot(bandit, Snapshot(4, "sum", b"x"))
            one.delete_events(bandit, 2, 10)
            assert two.events(bandit) == before
            assert two.last_seq(bandit) == 3
            assert two.rewards(bandit, 0, 9) == []
            assert two.snapshot(bandit) is None
        assert [event.seq for event in _log(two, bandit)] == [3, 4]


def what_was_acknowledged_is_seen_by_all(make: Opener) -> None:
    """By stores that are open, and by those that are opened later, after the writer has gone."""
    with _opened(make, 2) as [one, two]:
        bandit = _bandit(one)
        for seq in range(2, 12):
            writer, reader = (one, two) if seq % 2 else (two, one)
            assert _append(writer, bandit, [_decided(seq + 1)], seq, 2.0 if seq > 2 else 1.0)
            assert _log(reader, bandit)[-1].seq == seq + 1
    store = make()
    assert _log(store, bandit)[-1].seq == 12
    store.close()


def a_question_is_answered_from_the_whole_log(make: Opener) -> None:
    """Events from a number on, decisions with what became of them, requests by their keys; of many bandits at once."""
    with _opened(make) as [store]:
        bandits = [_bandit(store) for _ in range(3)]
        for bandit in bandits:
            events = [_decided(3, 2.0, "k", 2), _decided(4), _decided(5, 2.0, "l"), _rewarded(6, 4, 0.5)]
            assert _append(store, bandit, [*events, Event(7, "shown", 3.0, 0, target=4)], 2, 1.0)
        one, two, _ = bandits
        with store.reading():
            facts = store.look_up({one: Question(6, (4, 6, 99), ("k", "none")), two: Question(None, (), ("l",))})
        assert set(facts) == {one, two}
        assert [event.seq for event in facts[one].events] == [6, 7]
        assert {number: [event.seq for event in about] for number, about in facts[one].about.items()} == {4: [4, 6, 7]}
        assert [event.seq for event in facts[one].keyed.pop("k")] == [3, 4]
        assert facts[one].keyed == {}
        assert facts[two].events == []
        assert facts[two].about == {}
        assert facts[two].keyed == {"l": [_decided(5, 2.0, "l")]}
        assert _facts(store, one, Question()) == Facts([], {}, {})
        many = tuple(range(1, 3000))
        assert set(_facts(store, one, Question(None, many, tuple(map(str, many)))).about) == {3, 4, 5}


def parts_of_a_log_are_read(make: Opener) -> None:
    """Pages, single events, rewards, exposures."""
    with _opened(make) as [store]:
        bandit = _bandit(store)
        events = [_decided(seq, 2.0) for seq in range(3, 9)]
        events += [
            _rewarded(9, 3, 0.1, 3.0),
            Event(10, "shown", 4.0, 0, target=3),
            Event(11, "shown", 4.0, 0, target=4),
        ]
        events += [Event(12, "expired", 5.0, 0, target=5), Event(13, "expired", 5.0, 0, target=6, value=0.0)]
        events += [Event(14, "imported", 5.0, 1, value=7.0)]
        assert _append(store, bandit, events, 2, 1.0)
        with store.reading():
            assert store.events(bandit, 2) == events
            assert store.events(bandit, 4, 9, 3) == events[2:5]
            assert store.events(bandit, arm=1) == [Event(2, "added", 1.0, 1, "arm 1"), events[-1]]
            assert store.numbered(bandit, [14, 3, 99]) == {3: events[0], 14: events[-1]}
            assert store.last_seq(bandit) == 14
            assert store.rewards(bandit, 0, 13) == [(9, 0, 0.1), (13, 0, 0.0)]
            assert store.latest_rewards(bandit, 5) == [(5.0, 0, 0.0), (3.0, 0, 0.1)]
            assert store.latest_rewards(bandit, 1) == [(5.0, 0, 0.0)]
            assert store.exposures(bandit, 0, 14) == ({0: 3}, [])
            counts, earlier = store.exposures(bandit, 4, 14)
            assert counts == {0: 3}
            assert sorted(earlier) == [(0, 3), (0, 4)]
            assert store.last_seq(bandit + 1000) == 0
            assert store.events(bandit + 1000) == []


def nothing_happens_to_a_decision_twice(make: Opener) -> None:
    """Two outcomes of one kind, or one key twice, are refused, whoever asks for it."""
    with _opened(make) as [store]:
        bandit = _bandit(store)
        assert _append(store, bandit, [_decided(3, 2.0, "k"), _rewarded(4, 3)], 2, 1.0)
        for doubled in (_rewarded(5, 3, 0.75), _decided(5, 3.0, "k")):
            for lock in (False, True):
                call = partial(_append, store, bandit, [doubled], 4, 3.0, lock)
                error = _refuses(StorageError, call)
                assert not isinstance(error, Contention), "trying again would not help"
                assert not error.may_be_written
        assert len(_log(store, bandit)) == 4
        assert _append(store, bandit, [Event(5, "shown", 3.0, 0, target=3)], 4, 3.0)


def snapshots_and_seals_go_with_their_events(make: Opener) -> None:
    """In one transaction, or not at all; the newest snapshot stays, all seals do."""
    with _opened(make, 2) as [one, two]:
        bandit = _bandit(one)
        with two.reading():
            assert two.snapshot(bandit) is None
            assert two.snapshot(bandit, content=False) is None
            assert two.seals(bandit) == []
        sealed = Event(3, "sealed", 2.0, -1, details="{}")
        batch = Batch([sealed], 2, 1.0, Snapshot(3, "a", b"\0new"), Seal(2, 1.0, "b", b"\xff"))
        with one.writing():
            assert one.append({bandit: batch._replace(at=1.5)}) == set()
        with two.reading():
            assert two.snapshot(bandit) is None
            assert two.seals(bandit) == []
        with one.writing():
            assert one.append({bandit: batch}) == {bandit}
        one.put_snapshot(bandit, Snapshot(2, "old", b"old"))
        one.put_snapshot(bandit, Snapshot(9, "c", b"nine"), interval=7)
        with two.reading():
            assert two.snapshot(bandit) == batch.snapshot
            found = two.snapshot(bandit, content=False)
            assert found is not None
            assert (found.seq, found.checksum) == (3, "a")
        one.put_snapshot(bandit, Snapshot(9, "c", b"nine"), interval=6)
        with one.writing():
            later = Event(4, "sealed", 2.0, -1, details="{}")
            one.append({bandit: Batch([later], 3, 2.0, None, Seal(3, 2.0, "d", b"more"))})
        with two.reading():
            assert two.snapshot(bandit) == Snapshot(9, "c", b"nine")
            assert two.seals(bandit) == [Seal(2, 1.0, "b", b"\xff"), Seal(3, 2.0, "d", b"more")]
            assert two.seals(bandit, newest=True, content=False) == [Seal(3, 2.0, "d", b"")]


def bandits_are_deleted_in_portions(make: Opener) -> None:
    """First the name, which is free at once, then the rest; others keep theirs."""
    with _opened(make, 2) as [one, two]:
        kept, bandit = _bandit(one), _bandit(one)
        with one.reading():
            row = next(row for row in one.bandits() if row.id == bandit)
        assert _append(one, bandit, [_decided(seq) for seq in range(3, 8)], 2, 1.0)
        one.take_name(bandit)
        with two.reading():
            assert two.find(id=bandit) is None
            assert two.find(id=kept) is not None
            assert two.find(name=row.name) is None
            assert bandit not in [row.id for row in two.bandits()]
        again = two.add(row._replace(token="another"), [Event(1, "added", 1.0, 0, "red")])
        assert [one.delete_events(bandit, 6, 4), one.delete_events(bandit, 6, 4), one.delete_events(bandit, 6, 4)] == [
            *(4, 2, 0)
        ]
        assert [event.seq for event in _log(two, bandit)] == [7]
        one.delete_events(bandit, 99, 99)
        one.put_snapshot(bandit, Snapshot(7, "a", b"x"))
        one.delete_rest(bandit)
        with two.reading():
            assert two.snapshot(bandit) is None
            assert [row.id for row in two.bandits()] == [kept, again.id]


def keys_are_kept_and_replaced(make: Opener) -> None:
    """The oldest first."""
    with _opened(make, 2) as [one, two]:
        with two.reading():
            assert two.access_keys() == []
        keys = [Key("b", "digest", "admin", None, "", 1.5, None), Key("a", "other", "client", "hero", "ß", 2.5, None)]
        for key in keys[::-1]:
            one.put_access_key(key)
        revoked = keys[0]._replace(revoked=9.25)
        two.put_access_key(revoked)
        with one.reading():
            assert one.access_keys() == [revoked, keys[1]]


def a_closed_store_says_so_and_a_disconnected_one_goes_on(make: Opener) -> None:
    """Whatever had not been appended is gone."""
    with _opened(make, 2) as [one, two]:
        bandit = _bandit(one)
        one.disconnect()
        assert len(_log(one, bandit)) == 2
        copy = one.another()
        assert len(_log(copy, bandit)) == 2
        copy.close()
        _refuses(ClosedBandit, lambda: _log(copy, bandit))
        _refuses(ClosedBandit, lambda: _append(copy, bandit, [_decided(3)], 2, 1.0))
        two.check_writable()
        assert _append(one, bandit, [_decided(3)], 2, 1.0)
        assert not one.owns_file("/nowhere/else")
        assert abs(one.clock() - two.clock()) < 1.0


STORE_CHECKS: tuple[Callable[[Opener], None], ...] = (
    an_empty_place_is_prepared_once,
    bandits_are_found_by_name_and_token,
    what_is_appended_is_read_as_it_was,
    an_append_is_accepted_if_the_last_event_is_the_one_that_is_named,
    each_of_many_batches_is_judged_by_itself,
    nothing_is_left_of_a_block_that_ends_without_an_append,
    a_lock_keeps_others_away_until_the_block_ends,
    a_reader_sees_one_moment,
    what_was_acknowledged_is_seen_by_all,
    a_question_is_answered_from_the_whole_log,
    parts_of_a_log_are_read,
    nothing_happens_to_a_decision_twice,
    snapshots_and_seals_go_with_their_events,
    bandits_are_deleted_in_portions,
    keys_are_kept_and_replaced,
    a_closed_store_says_so_and_a_disconnected_one_goes_on,
)
