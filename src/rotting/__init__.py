"""Bandits for things that wear out as you show them.

The names below are imported on first use, so that `rotting --help` does not wait for the compiler's libraries.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rotting import bandit, curves, logs, policies, problems, simulation, sweeps, theory
    from rotting.bandit import Bandit, sigma_for
    from rotting.logs import diagnose
    from rotting.policies import (
        AUCB,
        CTO,
        FEWA,
        MOSS,
        RAWUCB,
        SWA,
        UCB1,
        WSWA,
        AdwinUCB,
        Agent,
        BetaThompson,
        DiscountedUCB,
        EffFEWA,
        EffRAWUCB,
        EpsilonGreedy,
        Exp3,
        GaussianThompson,
        Greedy,
        Oracle,
        Policy,
        Rexp3,
        SlidingWindowUCB,
        Uniform,
    )
    from rotting.problems import Problem
    from rotting.simulation import simulate
    from rotting.sweeps import open_results, sweep, tune

__version__ = "0.1.0"

__all__ = [
    "AUCB",
    "CTO",
    "FEWA",
    "MOSS",
    "RAWUCB",
    "SWA",
    "UCB1",
    "WSWA",
    "AdwinUCB",
    "Agent",
    "Bandit",
    "BetaThompson",
    "DiscountedUCB",
    "EffFEWA",
    "EffRAWUCB",
    "EpsilonGreedy",
    "Exp3",
    "GaussianThompson",
    "Greedy",
    "Oracle",
    "Policy",
    "Problem",
    "Rexp3",
    "SlidingWindowUCB",
    "Uniform",
    "bandit",
    "curves",
    "diagnose",
    "logs",
    "open_results",
    "policies",
    "problems",
    "sigma_for",
    "simulate",
    "simulation",
    "sweep",
    "sweeps",
    "theory",
    "tune",
]

_ELSEWHERE = {
    "Problem": "rotting.problems",
    "simulate": "rotting.simulation",
    "open_results": "rotting.sweeps",
    "sweep": "rotting.sweeps",
    "tune": "rotting.sweeps",
    "Bandit": "rotting.bandit",
    "sigma_for": "rotting.bandit",
    "diagnose": "rotting.logs",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'rotting' has no attribute {name!r}")
    if name.islower() and name not in _ELSEWHERE:
        return import_module(f"rotting.{name}")
    value = getattr(import_module(_ELSEWHERE.get(name, "rotting.policies")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
