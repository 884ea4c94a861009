"""Policies against each other on common random numbers, and what comes out."""

from rotting.play.delays import Delay, FixedDelay, GeometricDelay
from rotting.play.run import Run
from rotting.simulation.identified import Identified, identification
from rotting.simulation.paired import holm
from rotting.simulation.significance import Difference, significance
from rotting.simulation.simulator import simulate
from rotting.simulation.traces import write_traces

__all__ = [
    "Delay",
    "Difference",
    "FixedDelay",
    "GeometricDelay",
    "Identified",
    "Run",
    "holm",
    "identification",
    "significance",
    "simulate",
    "write_traces",
]
