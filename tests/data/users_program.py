"""A program as a user might write it, for a type checker to read."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import rotting
from rotting import FEWA, UCB1, Agent, Problem
from rotting.errors import RottingError
from rotting.parameters import parameter
from rotting.policies import Policy


class MineState(NamedTuple):
    pulls: np.ndarray


def select(state: MineState, t: int, word: int) -> int:
    return 0


def update(state: MineState, arm: int, reward: float) -> None:
    state.pulls[arm] += 1


@dataclass(frozen=True)
class Mine(Policy, state=MineState, select=select, update=update):
    alpha: float = parameter(0.5, above=0, doc="what alpha is")

    def initial_state(self, n_arms: int) -> MineState:
        return MineState(np.zeros(n_arms, np.int64))


class Plain:
    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms

    def select(self) -> int:
        return 0

    def update(self, arm: int, reward: float) -> None:
        pass


def best(problem: Problem) -> str:
    result = rotting.simulate({"a": FEWA(alpha=0.06), "b": UCB1(), "c": Mine(), "d": Plain}, problem, runs=3)
    means = result.regret.isel(round=-1).mean("run")
    return str(means.idxmin().item())


agent: Agent = FEWA().start(n_arms=3, seed=1)
arm: int = agent.select()
agent.update(arm, 1.0)
agent.update_many([0, 1], [0.5, 0.5])
text: str = str(agent.explain())
try:
    best(rotting.problems.two_arm(L=1.0, horizon=500))
except RottingError as error:
    print(error.name, error.hint)
