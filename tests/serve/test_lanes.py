"""What is made for many at once is made once."""

import asyncio

import pytest

from rotting.bandit import StorageError
from rotting.bandit.store.addresses import open_store
from rotting.serve import lanes
from rotting.serve.health import write_and_forget


def asked(fresh):
    """Return how often something was made for ten who ask at once, three times."""
    made = []

    async def make():
        made.append(len(made))
        await asyncio.sleep(0)
        return made[-1]

    async def ask():
        shared = lanes.Shared(fresh)
        for _ in range(3):
            found = await asyncio.gather(*(shared.get("page", make) for _ in range(10)))
            assert len(set(found)) == 1
        return len(made)

    return asyncio.run(ask())


def test_all_who_ask_at_once_are_given_the_same():
    assert asked(fresh=1e9) == 1
    assert asked(fresh=0.0) == 3


def test_no_more_is_kept_than_there_is_room_for():
    async def make():
        return 1

    async def ask():
        shared = lanes.Shared()
        for number in range(3 * lanes.MOST_MADE):
            await shared.get(number, make)
        return len(shared._made)

    assert asyncio.run(ask()) <= lanes.MOST_MADE


def test_what_fails_is_tried_again():
    async def fail():
        raise ValueError("no")

    async def ask():
        shared = lanes.Shared(0.0)
        for make in (fail, fail):
            with pytest.raises(ValueError, match="no"):
                await shared.get("page", make)

    asyncio.run(ask())


def test_a_probe_that_was_not_finished_does_not_disturb_the_next(tmp_path, monkeypatch):
    store = open_store(f"sqlite:///{tmp_path}/bandits.db")
    store.prepare()

    def fail(*_, **__):
        raise StorageError("the answer was lost")

    with monkeypatch.context() as patched:
        patched.setattr(store, "delete_events", fail)
        with pytest.raises(StorageError):
            write_and_forget(store)
    write_and_forget(store)
    with store.reading():
        assert store.bandits() == []
    store.close()
