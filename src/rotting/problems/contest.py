"""The Candy Cane Contest as an environment: two players on the same machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rotting._core.randomness import NOISE, START, checked_seed, stream_key, uniform
from rotting._core.validation import whole_number
from rotting.errors import BadValue
from rotting.problems.field import candy_cane
from rotting.problems.kernel import begin_run


class CandyCaneContest:
    """Machines on which several players pull at the same time; everybody's pulls empty them.

    In each round players are paid by the levels at its beginning; then each pull multiplies its machine's level by 0.97
    (this is Kaggle's order). Each player sees the own reward and the machines that the others chose.

    Parameters
    ----------
    n_arms
        How many machines.
    players
        How many players.
    rule
        "kaggle" or "river": see `rotting.problems.CandyCane`.
    seed
        A whole number >= 0, or None for another contest each time.

    Examples
    --------
    >>> contest = CandyCaneContest(n_arms=3, seed=1)
    >>> contest.step([0, 2])
    (1.0, 0.0)
    >>> contest.t, contest.last_arms, contest.level.round(2)
    (1, (0, 2), array([77.6 , 25.  ,  0.97]))
    """

    def __init__(self, n_arms: int = 100, players: int = 2, rule: str = "kaggle", seed: int | None = 0):
        self.players = whole_number("players", players, minimum=1, maximum=1000)
        self._problem = candy_cane(rule, n_arms)
        seed = checked_seed(seed)
        memory = self._problem.new_memory()
        with np.errstate(over="ignore"):
            begin_run(self._problem.arrays, memory, stream_key(seed, START, 0))
        self.level: np.ndarray = memory.level  # of each machine, now
        self._keys = [stream_key(seed, NOISE, player) for player in range(self.players)]
        self.t = 0  # rounds played
        self.last_arms: tuple[int, ...] = ()

    @property
    def chances(self) -> np.ndarray:
        """The chance of a candy cane from each machine, now."""
        chances: np.ndarray = np.ceil(self.level) / 101 if self._problem.arrays.dynamics.whole[0] else self.level.copy()
        return chances

    def step(self, arms: Sequence[int]) -> tuple[float, ...]:
        """Let every player pull a machine; return what each gets."""
        if len(arms) != self.players:
            raise BadValue(name="arms", value=arms, expected=f"{self.players} machines, one per player")
        chosen = tuple(whole_number("arms", arm, 0, len(self.level) - 1) for arm in arms)
        chances = self.chances
        with np.errstate(over="ignore"):
            rewards = tuple(
                float(uniform(key, self.t) < chances[arm]) for key, arm in zip(self._keys, chosen, strict=True)
            )
        for arm in chosen:
            self.level[arm] *= self._problem.arrays.dynamics.kept[0]
        self.t += 1
        self.last_arms = chosen
        return rewards

    def play(self, agents: Sequence[Any], rounds: int = 2000) -> tuple[float, ...]:
        """Let agents (`select()`, `update(arm, reward)`) play against each other; return what each collects.

        An agent with a method `watch(arm)` is told which machines the others chose.

        >>> from rotting import UCB1, Uniform
        >>> ours, theirs = CandyCaneContest(seed=1).play([UCB1(sigma=0.2).start(100), Uniform().start(100)])
        >>> ours > theirs
        True
        """
        if len(agents) != self.players:
            raise BadValue("is not one per player", name="agents", value=agents, expected=f"{self.players} agents")
        totals = [0.0] * self.players
        for _ in range(whole_number("rounds", rounds, minimum=0)):
            arms = [int(agent.select()) for agent in agents]
            rewards = self.step(arms)
            for player, agent in enumerate(agents):
                totals[player] += rewards[player]
                agent.update(arms[player], rewards[player])
                if hasattr(agent, "watch"):
                    for other, arm in enumerate(arms):
                        if other != player:
                            agent.watch(arm)
        return tuple(totals)
