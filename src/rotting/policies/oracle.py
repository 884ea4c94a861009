"""The oracle: what could be done if the problem were known."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from rotting._core.parameters import parameter
from rotting.errors import BadType, BadValue
from rotting.policies._contract.policy import Policy
from rotting.problems import Problem
from rotting.problems.kernel import ProblemArrays, after_pull, value_now


class OracleState(NamedTuple):
    """The problem itself, and what a run of it leaves behind."""

    problem: ProblemArrays
    memory: Any  # of the problem's dynamics
    pulls: np.ndarray  # those of the memory
    rounds: np.ndarray  # int64 [how many are over]


def select(state, t, word):
    """Return the arm that is worth most now, lowest index on ties."""
    best, best_value = 0, -np.inf
    for arm in range(len(state.pulls)):
        value = value_now(state.problem, state.memory, arm, t)
        if value > best_value:
            best, best_value = arm, value
    return best


def update(state, arm, reward):
    """Take the pull down: the reward says nothing that the oracle does not know."""
    state.rounds[0] += 1
    after_pull(state.problem, state.memory, arm, state.rounds[0])
    state.pulls[arm] += 1


@dataclasses.dataclass(frozen=True)
class Oracle(Policy, state=OracleState, select=select, update=update, knows=("problem",)):
    """Pull the arm that is worth most now: with rotting arms, rested or restless, the best that can be done.

    For rested arms that is the largest mu_i(N_i). In a simulation `Oracle()` is told the problem; elsewhere pass it.

    References
    ----------
    Heidari, Kearns, Roth (2016), "Tight policy regret bounds for improving and decaying bandits".

    Examples
    --------
    >>> from rotting.problems import Drop, Problem
    >>> agent = Oracle(Problem([0.0, Drop(before=0.5, after=-0.5, at=3)])).start(n_arms=2)
    >>> for _ in range(10):
    ...     agent.update(agent.select(), 0.0)
    >>> agent.pulls
    array([7, 3])
    """

    # Not in the repr and not compared: an oracle is the same policy whatever it is let loose on.
    problem: Problem | None = dataclasses.field(
        default=None,
        repr=False,
        compare=False,
        metadata=parameter(None, raw=True, optional=True, doc="the problem (a simulation fills it in)").metadata,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.problem is not None and not isinstance(self.problem, Problem):
            expected = "a rotting.Problem or None"
            raise BadType("is not a problem", owner="Oracle", name="problem", value=self.problem, expected=expected)

    def __str__(self) -> str:
        return "Oracle()"

    def initial_state(self, n_arms: int) -> OracleState:
        """Return the problem and no pulls."""
        if self.problem is None:
            hint = "pass Oracle(problem), or use it in a simulation"
            raise BadValue("it has no problem to know", owner="Oracle", hint=hint)
        if n_arms != self.problem.n_arms:
            problem = f"is not the number of arms of its problem, {self.problem.n_arms}"
            raise BadValue(problem, owner="Oracle", name="n_arms", value=n_arms, expected="the same")
        if self.problem.dynamics_model.draws:
            problem = f"every run of {str(self.problem)!r} draws its own arms, which no policy is told"
            raise BadValue(problem, owner="Oracle", hint="problem.oracle(horizon, seed=..., run=...) knows them")
        memory = self.problem.new_memory()
        return OracleState(self.problem.arrays, memory, memory.pulls, np.zeros(1, np.int64))

    def informed(self, problem: Problem, horizon: int) -> Oracle:
        """Return the oracle that knows this problem."""
        return Oracle(problem)
