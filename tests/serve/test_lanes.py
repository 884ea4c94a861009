"""What is made for many at once is made once."""

import asyncio

import pytest

from rotting.serve import lanes


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
