"""Agents in Python that choose among the arms that may be pulled."""

from __future__ import annotations

import inspect
from typing import Any

from rotting.errors import KernelError
from rotting.play.shown import show
from rotting.policies._contract.agent import Agent
from rotting.policies._contract.checked import CheckedAgent
from rotting.problems.kernel import ELIGIBLE, REST


class Among:
    """An agent on a problem that shows things of each round: it is shown them, or asked for an eligible arm.

    A policy that does not see which arms are eligible chooses as if the others did not exist. A Python class is given
    them if its `select` takes an argument `eligible`.
    """

    def __init__(self, agent: Any, memory: Any, key: Any, owner: str):
        self._agent, self._memory, self._key, self._owner = agent, memory, key, owner
        self.update = agent.update
        self._limited = ELIGIBLE in memory._fields
        is_python = not isinstance(agent, Agent | CheckedAgent)
        self._asks = is_python and ELIGIBLE in inspect.signature(agent.select).parameters

    def select(self) -> Any:
        """Return the arm to pull."""
        agent, memory = self._agent, self._memory
        arms = memory.eligible.nonzero()[0].tolist() if self._limited else None
        if arms == []:
            raise KernelError("no arm is eligible", owner=self._owner, expected="at least one in every round")
        if self._asks:
            return agent.select(eligible=arms)
        if isinstance(agent, CheckedAgent):
            show(agent.state, memory)
            return agent.select(None if ELIGIBLE in agent.policy.sees else arms)
        if isinstance(agent, Agent) and REST in agent.policy.sees and REST in memory._fields:
            agent.see(rest=memory.rest)
        if isinstance(agent, Agent) and arms is not None:
            return agent.select_among(arms, self._key)[0]
        return agent.select()
