"""Policies that must know how many rounds there will be: a simulation tells them, unless their user did."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Self

from rotting._core.parameters import parameter
from rotting.errors import BadValue
from rotting.policies._contract.policy import Policy

# Rounds to make constants for where nobody says how many there will be; a simulation does.
USUAL_HORIZON = 10_000


def horizon_parameter(doc: str = "rounds to be played") -> Any:
    """Declare the field `horizon` of a policy: a number of rounds, or None until a simulation fills it in."""
    return parameter(None, whole=True, minimum=1, optional=True, doc=doc)


def usual_horizon_parameter() -> Any:
    """Declare the field `horizon` of a policy that takes `USUAL_HORIZON` for None."""
    return horizon_parameter(f"rounds to be played (T); none: those of the simulation, or {USUAL_HORIZON}")


class KnowsHorizon(Policy, knows=("horizon",), abstract=True):
    """A policy with a field `horizon`, which a simulation fills in where it is None."""

    if TYPE_CHECKING:  # each declares it where it stands among its own fields
        horizon: int | None

    def informed(self, problem: object, horizon: int) -> Self:
        """Tell it the horizon."""
        return self if self.horizon else dataclasses.replace(self, horizon=horizon)  # type: ignore[call-arg]

    def known_horizon(self, hint: str = "a simulation fills it in") -> int:
        """Return the horizon, or say that there must be one."""
        if self.horizon is None:
            problem = "leaves open how many rounds there will be"
            raise BadValue(problem, owner=type(self).__name__, name="horizon", value=None, hint=hint)
        return self.horizon
