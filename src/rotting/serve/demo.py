"""A bandit that lives: visitors come, its arms wear out, rewards arrive late. For `rotting serve --demo`."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from typing import TYPE_CHECKING

from rotting.bandit import Bandit, Decide, Reward
from rotting.errors import RottingError
from rotting.policies import EffFEWA

if TYPE_CHECKING:
    from rotting.serve.writer import Writer

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
ADDED = (0.28, 0.05, 800.0)


class Visitors:
    """People who click less and less on what they have seen."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.chance = random.Random(0)

    def clicks(self, arm: str) -> float:
        """Show an arm to somebody; 1.0 for a click."""
        fresh, worn, half = ARMS.get(arm, ADDED)
        self.seen[arm] += 1
        return float(self.chance.random() < worn + (fresh - worn) * 0.5 ** (self.seen[arm] / half))


async def live(service: Writer) -> None:
    """Let visitors come until the server stops."""
    visitors = Visitors()
    await service.in_thread(lambda: _begin(service.options.url, visitors))
    async with asyncio.TaskGroup() as visits:
        while True:
            visits.create_task(_visit(service, visitors))
            await asyncio.sleep(visitors.chance.expovariate(PER_SECOND))


def _begin(url: str, visitors: Visitors) -> None:
    """Make the bandit, with a past."""
    with Bandit.open(
        url, NAME, EffFEWA(sigma=0.4), ARMS, epsilon=0.02, reward_wait=3600.0, reward_range=(0, 1)
    ) as bandit:
        visitors.seen.update(bandit.standing().decided)  # in an earlier demonstration with the same database
        for _ in range(PAST // 50):
            bandit.reward_many([(choice.id, visitors.clicks(choice.arm)) for choice in bandit.decide(50)])


async def _visit(service: Writer, visitors: Visitors) -> None:
    with contextlib.suppress(RottingError):  # somebody who comes in vain
        [choice] = await service.ask(NAME, Decide(1))
        await asyncio.sleep(visitors.chance.lognormvariate(0.3, 0.9))
        await service.ask(NAME, Reward(choice.id, visitors.clicks(choice.arm)))
