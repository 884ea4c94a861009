"""Compile everything that ships, so that nobody waits for it later."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rotting.play.players import PolicyOrClass
from rotting.policies import POLICIES, EffFEWA, EffRAWUCB, Policy
from rotting.problems import Drop, Power, Problem
from rotting.simulation.simulator import simulate

_HORIZON = 50


def compilations() -> list[tuple[str, Callable[[], None]]]:
    """Return what there is to compile, by name, and functions that compile all that is ever called of each.

    Examples
    --------
    >>> "FEWA" in dict(compilations())
    True
    """
    problem = Problem([Drop(1.0, 0.0, 20), Power(0.3), [0.5, 0.4]], sigma=0.5)
    needs: dict[str, dict[str, Any]] = {
        **{name: {"curves": problem.curves} for name in ("CTO", "CTOSIM", "DCTOUCB")},
        "Oracle": {"problem": problem},
    }
    told: dict[str, Any] = {"horizon": _HORIZON}
    every = [kind(**needs.get(name, told if "horizon" in kind.knows else {})) for name, kind in POLICIES.items()]
    every += EffFEWA(grid=1.5), EffRAWUCB(grid=1.5)  # finer grids have states of another kind
    found = [(type(policy).__name__, partial(_compile, policy, problem)) for policy in every]
    return [*found, ("Python classes", partial(_simulate, _FirstArm, problem))]


def _compile(policy: Policy, problem: Problem) -> None:
    agent = policy.start(problem.n_arms, seed=0)
    for _ in range(2 * problem.n_arms):
        agent.update(agent.select(), 0.5)
    agent.update_many([0], [0.5])
    if type(policy).explain is not Policy.explain:
        agent.explain()
    _simulate(policy, problem)


def _simulate(player: PolicyOrClass, problem: Problem) -> None:
    simulate(player, problem, horizon=_HORIZON, runs=1, progress=False)


class _FirstArm:
    """A policy that is not compiled, to compile what plays it."""

    def __init__(self, n_arms: int): ...

    def select(self) -> int:
        return 0

    def update(self, arm: int, reward: float) -> None: ...
