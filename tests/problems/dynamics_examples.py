"""One problem for every dynamics and every noise of the package: the generic tests ask for it by name."""

from __future__ import annotations

import numpy as np

from rotting.problems import (
    Blocking,
    Boredom,
    CandyCane,
    Constant,
    Drawn,
    Drop,
    Dynamics,
    Exponential,
    Growth,
    Linear,
    ManyArms,
    Noise,
    Polynomial,
    Problem,
    Push,
    Recovering,
    Rested,
    Restless,
    Rising,
    Satiation,
    Sigmoid,
    Tally,
    TriggerGraph,
)

FALLING = (Exponential(1.0, 0.05), Drop(0.9, 0.2, 7), Constant(0.4))

PROBLEMS = {
    problem.dynamics_model.__class__.__name__: problem
    for problem in (
        Problem(FALLING, dynamics=Rested()),
        Problem(FALLING, dynamics=Restless()),
        Problem(FALLING, dynamics=TriggerGraph([[1, 1, 0], [0, 1, 0], [1, 0, 1]])),
        Problem([Sigmoid(1.0, 0.5, 3.0), Growth(0.0, 0.3, 0.7), Constant(0.4)], dynamics=Recovering(z_max=4)),
        Problem(FALLING, dynamics=Push(users=3, active=0.5, rate_active=0.2)),
        Problem(FALLING, dynamics=Blocking(delays=[3, 2, 1])),
        Problem([Linear(1.0, 0.3, -5.0), Linear(0.8, 0.1, -5.0)], dynamics=Satiation(gamma=0.7)),
        Problem(FALLING, dynamics=Tally(m=3)),
        Problem([Polynomial([1, -0.3]), Polynomial([2 / 3, -0.4])], dynamics=Boredom(window=3)),
        Problem([Growth(0.0, 0.1, 1.0), Constant(0.4)], dynamics=Rising()),
        Problem([0.0] * 4, dynamics=ManyArms(rho=0.05)),
        Problem([0.0] * 4, dynamics=CandyCane()),
        Problem([0.0] * 3, dynamics=Drawn(FALLING, largest=0.5)),
    )
}


def literal_means(problem: Problem, arms: list[int], begun: object) -> list[float]:
    """Return what each of these pulls is worth, as the definition says: from the list of all pulls before it."""
    dynamics, curves = problem.dynamics_model, problem.curves

    def at(arm: int, x: float) -> float:
        return float(curves[arm].values_at(np.array([float(x)]))[0])

    def mean(arm: int, past: list[int]) -> float:
        own = past.count(arm)
        match dynamics:
            case Rested() | Rising():
                return at(arm, own)
            case Restless():
                return at(arm, len(past))
            case TriggerGraph(matrix):
                return at(arm, sum(matrix[arm][other] for other in past))
            case Recovering(z_max):
                rest = past[::-1].index(arm) if arm in past else z_max
                return at(arm, min(rest, z_max))
            case Push(users, gamma, half_life):
                user, day = len(past) % users, len(past) // users
                rate = dynamics.rate_active if begun.active[user] else dynamics.rate
                seen = [t // users for t, other in enumerate(past) if other == arm and t % users == user]
                penalty = gamma * 0.5 ** ((day - seen[-1]) / half_life) if seen else 0.0
                return rate * (1 + at(arm, day) - penalty)
            case Blocking(delays, blocked):
                free, used = 0, 0
                for t, other in enumerate(past):
                    if other == arm and t >= free:
                        free, used = t + delays[arm], used + 1
                return at(arm, used) if len(past) >= free else blocked
            case Satiation(gamma):
                satiation = 0.0
                for other in past:
                    satiation = gamma * (satiation + (other == arm))
                return at(arm, satiation)
            case Tally(m):
                return at(arm, own if m is None else past[-m:].count(arm))
            case Boredom(window):
                recent = past[::-1][:window]
                return at(arm, sum(1 / tau for tau, other in enumerate(recent, 1) if other == arm))
            case ManyArms(_, rho, falling):
                wear = sum(rho / t if falling else rho for t, other in enumerate(past, 1) if other == arm)
                return float(begun.level[arm]) - wear
            case Drawn(drawn):
                return float(drawn[begun.curve[arm]](own)) + float(begun.constant[arm])
            case CandyCane("kaggle", kept):
                level = float(begun.level[arm])
                for _ in range(own):
                    level *= kept
                return float(np.ceil(level)) / 101
        raise AssertionError(f"no definition of {dynamics!r} here: add it")

    return [mean(arm, arms[:t]) for t, arm in enumerate(arms)]


def package(known: dict[str, type]) -> list[str]:
    """Return the names of the package's own classes."""
    return [name for name, kind in known.items() if kind.__module__.startswith("rotting.")]


DYNAMICS, NOISES = package(Dynamics.known), package(Noise.known)
