"""The oracle: what could be done if the problem were known."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from rotting._core.parameters import parameter
from rotting.errors import BadType, BadValue
from rotting.policies._engine.policy import Policy
from rotting.problems import Problem
from rotting.problems.curve_kernels import mean_at
from rotting.problems.dynamics import ProblemArrays


class OracleState(NamedTuple):
    """The problem itself, and how often each arm was pulled."""

    problem: ProblemArrays
    pulls: np.ndarray


def select(state, t, word):
    """Return the arm that is worth most now, lowest index on ties."""
    restless = state.problem.restless[0] == 1
    best, best_value = 0, -np.inf
    for arm in range(len(state.pulls)):
        value = mean_at(state.problem.curves, arm, t - 1 if restless else state.pulls[arm])
        if value > best_value:
            best, best_value = arm, value
    return best


def update(state, arm, reward):
    """Count the pull: the reward says nothing that the oracle does not know."""
    state.pulls[arm] += 1


@dataclasses.dataclass(frozen=True)
class Oracle(Policy, state=OracleState, select=select, update=update, knows=("problem",)):
    """Pull the arm with the largest mu_i(N_i): the best that can be done with rotting arms.

    In restless problems it is the largest mu_i(t - 1). In a simulation `Oracle()` is told the problem;
    elsewhere pass it.

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
        return OracleState(self.problem.arrays, np.zeros(n_arms, np.int64))

    def informed(self, problem: Problem, horizon: int) -> Oracle:
        """Return the oracle that knows this problem."""
        return Oracle(problem)
