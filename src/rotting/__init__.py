"""Bandits for things that wear out as you show them.

The names below are imported on first use, so that `rotting --help` does not wait for the compiler's libraries.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rotting import curves, logs, policies, problems, simulation, theory
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
    "curves",
    "diagnose",
    "logs",
    "policies",
    "problems",
    "simulate",
    "simulation",
    "theory",
]

_ELSEWHERE = {"Problem": "rotting.problems", "diagnose": "rotting.logs", "simulate": "rotting.simulation"}


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
