"""What the theorems ask of a problem."""

from __future__ import annotations

import math

from rotting.errors import BadType, BadValue
from rotting.problems import Problem, Rested


def rested(problem: Problem) -> None:
    """Refuse problems in which the pulls per arm do not determine the reward."""
    if not isinstance(problem, Problem):
        raise BadType("is not a rotting.Problem", name="problem", value=problem, hint="rotting.problems has named ones")
    if type(problem.dynamics_model) is not Rested:
        how = "is restless" if problem.restless else f"has the dynamics {problem.dynamics_model}"
        expected = "a rested one (an arm's value follows its own pulls, and nothing else)"
        raise BadValue(f"problem {str(problem)!r} {how}", expected=expected)


def rotting(problem: Problem) -> None:
    """Refuse problems outside the paper's setting: rested arms that never increase, and noise with light tails."""
    rested(problem)
    if math.isinf(problem.noise_scale):
        raise BadValue(
            f"problem {str(problem)!r} has the noise {problem.noise_model}", expected="noise with a sub-Gaussian scale"
        )
    for arm, curve in enumerate(problem.curves):
        if not curve.is_nonincreasing():
            raise BadValue(
                f"arm {arm} ({curve}) increases",
                owner=f"problem {str(problem)!r}",
                expected="arms that never do (Assumption 1)",
            )
