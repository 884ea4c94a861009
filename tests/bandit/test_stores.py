"""Every store keeps the contract, and the suite notices one that does not."""

import contextlib
import inspect

import pytest

from rotting.bandit import StorageError
from rotting.bandit.store.addresses import open_store
from rotting.bandit.store.contract import Batch, Store
from rotting.testing import memory, stores
from rotting.testing.stores import STORE_CHECKS


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make(request):
    """Return a function that opens stores at one empty place."""
    if request.param == "memory":
        place = memory.Place()
        return lambda: memory.MemoryStore(place)
    url = request.getfixturevalue(request.param)
    return lambda: open_store(url)


@pytest.mark.parametrize("check", STORE_CHECKS, ids=lambda check: check.__name__)
def test_every_store_keeps_the_contract(make, check):
    check(make)


def test_every_check_is_listed():
    own = [check for _, check in inspect.getmembers(stores, inspect.isfunction) if check.__module__ == stores.__name__]
    assert set(STORE_CHECKS) == {check for check in own if not check.__name__.startswith("_")}


class LosesAnswers:
    """A connection that breaks after it has carried out a COMMIT."""

    def __init__(self, driver, error):
        self.driver, self.error = driver, error

    def __getattr__(self, name):
        return getattr(self.driver, name)

    def execute(self, statement, *values):
        found = self.driver.execute(statement, *values)
        if statement == "COMMIT":
            raise self.error
        return found


def test_an_error_after_a_commit_says_that_it_may_be_written(url, monkeypatch):
    with contextlib.closing(open_store(url)) as store, store.lock:
        store.prepare()
        bandit = stores._bandit(store)
        gone = store.ERRORS[0]("the connection broke")
        if hasattr(store, "_results"):  # what PostgreSQL appends and commits is one message
            results = store._results
            monkeypatch.setattr(store, "_results", lambda *given: [results(*given)] and fail(gone))
        else:
            store.driver = LosesAnswers(store.driver, gone)
        with pytest.raises(StorageError) as raised, store.writing():
            store.append({bandit: Batch([stores._decided(3)], 2, 1.0)})
        assert raised.value.may_be_written
        assert len(stores._log(store, bandit)) == 3


def fail(error):
    raise error


def test_sqlite_syncs_at_every_commit(sqlite):
    with contextlib.closing(open_store(sqlite)) as store, store.lock:
        store.prepare()
        with store.writing():
            assert store.rows("PRAGMA synchronous") == [(2,)]


def broken(name, change):
    """Return a memory store one of whose methods is changed."""
    original = getattr(memory.MemoryStore, name)
    return type(
        "Broken", (memory.MemoryStore,), {name: lambda self, *given, **named: change(original, self, *given, **named)}
    )


MUTANTS = {
    "accepts whatever follows by its number": broken(
        "_is_next", lambda original, self, bandit, batch: self.place.content.logs[bandit][-1].seq == batch.seq
    ),
    "accepts everything": broken("_is_next", lambda original, self, bandit, batch: True),
    "lets others append to what is locked": broken("_lock", lambda original, self, bandits, patience: bandits),
    "loses the last event of a batch": broken(
        "append",
        lambda original, self, batches: original(
            self,
            {bandit: batch._replace(events=batch.events[:-1] or batch.events) for bandit, batch in batches.items()},
        ),
    ),
    "keeps its locks": broken("_leave", lambda original, self: setattr(self, "_seen", None)),
    "forgets snapshots": broken(
        "append",
        lambda original, self, batches: original(
            self, {bandit: batch._replace(snapshot=None) for bandit, batch in batches.items()}
        ),
    ),
    "forgets seals": broken(
        "append",
        lambda original, self, batches: original(
            self, {bandit: batch._replace(seal=None) for bandit, batch in batches.items()}
        ),
    ),
    "refuses all if it refuses one": broken(
        "append",
        lambda original, self, batches: (
            original(self, batches) if all(self._is_next(*each) for each in batches.items()) else set()
        ),
    ),
    "takes an older snapshot": broken(
        "put_snapshot",
        lambda original, self, bandit, snapshot, interval=0: original(self, bandit, snapshot, min(interval, -99)),
    ),
    "finds no keys": broken("_facts", lambda original, self, log, asked: original(log, asked)._replace(keyed={})),
    "counts imported rewards as its own": broken(
        "latest_rewards",
        lambda original, self, bandit, number: [
            (event.at, event.arm, event.value) for event in self.events(bandit)[::-1] if event.value is not None
        ][:number],
    ),
}


@pytest.mark.parametrize("kind", MUTANTS.values(), ids=MUTANTS)
def test_the_suite_notices_a_store_that_breaks_a_promise(kind):
    caught = []
    for check in STORE_CHECKS:
        place = memory.Place()
        try:
            check(lambda place=place: kind(place))
        except Exception as error:
            caught.append((check.__name__, error))
    assert caught


def test_the_contract_names_every_method_of_the_stores():
    promised = {name for name in vars(Store) if not name.startswith("_")} | set(Store.__annotations__)
    assert promised <= set(dir(memory.MemoryStore(memory.Place())))
