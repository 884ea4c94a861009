"""A bandit that lives: visitors come, its arms wear out, rewards arrive late. For `rotting serve --demo`."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from rotting.bandit import Bandit, Decide, Reward
from rotting.policies import EffFEWA

if TYPE_CHECKING:
    from rotting.serve.app import Service

NAME = "demo"
PAST = 3000  # decisions that are there from the start
PER_SECOND = 25.0
# Click rates: fresh, worn, and the exposures that it takes to lose half of the difference.
ARMS = {
    "Summer sale": (0.30, 0.04, 350.0),
    "Free shipping": (0.24, 0.10, 1500.0),
    "New arrivals": (0.22, 0.02, 400.0),
    "Gift cards": (0.13, 0.12, 5000.0),
}


def rate(arm: str, exposures: int) -> float:
    """Return the click rate of an arm after so many exposures."""
    fresh, worn, half = ARMS.get(arm, (0.28, 0.05, 800.0))
    return float(worn + (fresh - worn) * 0.5 ** (exposures / half))


class Visitors:
    """People who click less and less on what they have seen."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._chance = random.Random(0)

    def clicks(self, arm: str) -> float:
        """Show an arm to somebody; 1.0 for a click."""
        self._seen[arm] = self._seen.get(arm, 0) + 1
        return float(self._chance.random() < rate(arm, self._seen[arm]))

    def has_seen(self, arm: str, times: int) -> None:
        """Remember what people have seen before."""
        self._seen[arm] = times

    def delay(self) -> float:
        """Return how long somebody takes to click, in seconds."""
        return self._chance.lognormvariate(0.3, 0.9)

    def pause(self) -> float:
        """Return how long it takes until the next visitor comes."""
        return self._chance.expovariate(PER_SECOND)


async def live(service: Service) -> None:
    """Let visitors come until the server stops."""
    visitors = Visitors()
    await service.in_thread(lambda: _begin(service.options.url, visitors))
    await service.refresh(at_once=True)
    service.follower.want(NAME)
    tasks: set[asyncio.Task[None]] = set()
    while True:
        task = asyncio.create_task(_visit(service, visitors))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        await asyncio.sleep(visitors.pause())


def _begin(url: str, visitors: Visitors) -> None:
    """Make the bandit, with a past."""
    policy = EffFEWA(sigma=0.4)
    with Bandit.open(url, NAME, policy, ARMS, epsilon=0.02, reward_wait=3600.0) as bandit:
        for arm in bandit.report().arms:  # of an earlier demonstration with the same database
            visitors.has_seen(arm.arm, arm.shows)
        for _ in range(PAST // 50):
            bandit.reward_many([(choice.id, visitors.clicks(choice.arm)) for choice in bandit.decide(50)])


async def _visit(service: Service, visitors: Visitors) -> None:
    (outcome,) = await service.writer.exchange(NAME, (Decide(1),))
    if isinstance(outcome, list):
        await asyncio.sleep(visitors.delay())
        await service.writer.exchange(NAME, (Reward(outcome[0].id, visitors.clicks(outcome[0].arm)),))
