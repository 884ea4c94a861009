"""The compiled loop, common random numbers, and comparisons of policies on a problem."""

from rotting.simulation.simulator import simulate

__all__ = ["simulate"]
