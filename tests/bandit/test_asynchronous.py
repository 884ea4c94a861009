"""Coroutines share transactions, and the loop goes on meanwhile."""

import asyncio

import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit import AsyncBandit, ClosedBandit, Decide, Reward, TimedOut, UnknownDecision

COLOURS = ["red", "green", "blue"]
HALF = EffFEWA(sigma=0.5)


def test_coroutines_share_transactions(url):
    async def main():
        async with await AsyncBandit.open(url, "hero", HALF, COLOURS) as bandit:
            choices = await asyncio.gather(*(bandit.decide() for _ in range(50)))
            answers = await asyncio.gather(
                *(bandit.reward(choice.id, 1.0) for choice in choices),
                bandit.reward("nonsense", 1.0),
                bandit.shown_many([choice.id for choice in choices]),
                return_exceptions=True,
            )
            assert answers[:50] == [True] * 50
            assert isinstance(answers[50], UnknownDecision)
            assert answers[51] == 50
            assert await bandit.reward_many({choices[0].id: 1.0}) == 0
            assert len(await bandit.decide(3, among=["red"], key="a")) == 3
            assert await bandit.shown(choices[0].id) is False
            assert await bandit.exchange([]) == []
        return choices

    choices = asyncio.run(main())
    assert len({choice.id for choice in choices}) == 50
    bandit = Bandit.open(url, "hero")
    log = bandit.history()
    assert log[log.kind == "decided"].iloc[:50]["at"].nunique() <= 2  # the first alone at most, then all that wait
    assert bandit.verify().rewards == 50


def test_the_loop_is_not_blocked_and_deadlines_hold(url):
    async def main():
        async with await AsyncBandit.open(url, "hero", HALF, COLOURS) as bandit:
            await bandit.decide()
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            release = asyncio.Event()

            def hold(loop):
                with bandit.bandit._log.commits.held():
                    asyncio.run_coroutine_threadsafe(release.wait(), loop).result(30)

            holder = asyncio.create_task(asyncio.to_thread(hold, asyncio.get_running_loop()))
            await asyncio.sleep(0.05)
            begun = asyncio.create_task(bandit.decide(timeout=0.3))
            await asyncio.sleep(0.05)  # the loop goes on
            with pytest.raises(TimedOut) as raised:
                await bandit.exchange([Decide(), Reward("nonsense", 1.0)], timeout=0.1)
            assert raised.value.may_be_written is False  # it was still in the line
            with pytest.raises(TimedOut):
                await begun
            cancelled = asyncio.create_task(bandit.decide())
            await asyncio.sleep(0.01)
            cancelled.cancel()
            release.set()
            await holder
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            assert (await bandit.decide()).arm
        with pytest.raises(ClosedBandit):
            await bandit.decide()

    asyncio.run(main())
    Bandit.open(url, "hero").verify()
