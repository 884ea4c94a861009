"""Parameters that a simulation fills in where they are None: the horizon, and the scale of the noise."""

from __future__ import annotations

from typing import Any

from rotting._core.parameters import parameter

# Rounds to make constants for where nobody says how many there will be; a simulation does.
USUAL_HORIZON = 10_000


def horizon_parameter(doc: str = "rounds to be played") -> Any:
    """Declare the field `horizon` of a policy: a number of rounds, or None until a simulation fills it in."""
    return parameter(None, whole=True, minimum=1, optional=True, doc=doc)


def usual_horizon_parameter() -> Any:
    """Declare the field `horizon` of a policy that takes `USUAL_HORIZON` for None."""
    return horizon_parameter(f"rounds to be played (T); none: those of the simulation, or {USUAL_HORIZON}")


def sigma_parameter() -> Any:
    """Declare the field `sigma` of a policy: the scale of the noise, or None until a simulation fills it in."""
    doc = "scale of the noise (its standard deviation); none: the problem's, in a simulation"
    return parameter(1.0, minimum=0, optional=True, doc=doc)


def low_parameter() -> Any:
    """Declare the field `low` of a policy that maps rewards to [0, 1]."""
    return parameter(0.0, doc="the reward that counts as 0")


def high_parameter() -> Any:
    """Declare the field `high` of a policy that maps rewards to [0, 1]."""
    return parameter(1.0, doc="the reward that counts as 1")
