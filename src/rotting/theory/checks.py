"""What the theorems ask of a problem."""

from __future__ import annotations

from rotting.errors import BadType, BadValue
from rotting.problems import Problem


def rested(problem: Problem) -> None:
    """Refuse restless problems: there the pulls per arm do not determine the reward."""
    if not isinstance(problem, Problem):
        raise BadType("is not a rotting.Problem", name="problem", value=problem, hint="rotting.problems has named ones")
    if problem.restless:
        raise BadValue(f"problem {str(problem)!r} is restless", expected="a rested one (only pulls wear arms)")


def rotting(problem: Problem) -> None:
    """Refuse problems outside the paper's setting: rested arms that never increase."""
    rested(problem)
    for arm, curve in enumerate(problem.curves):
        if not curve.is_nonincreasing():
            raise BadValue(
                f"arm {arm} ({curve}) increases",
                owner=f"problem {str(problem)!r}",
                expected="arms that never do (Assumption 1)",
            )
