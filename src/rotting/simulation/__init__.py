"""The compiled loop, common random numbers, and comparisons of policies on a problem."""

from rotting.play.delays import Delay, FixedDelay, GeometricDelay
from rotting.simulation.significance import Difference, holm, significance
from rotting.simulation.simulator import simulate
from rotting.simulation.traces import write_traces

__all__ = [
    "Delay",
    "Difference",
    "FixedDelay",
    "GeometricDelay",
    "holm",
    "significance",
    "simulate",
    "write_traces",
]
