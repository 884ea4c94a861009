"""Sweeps over policies, problems and runs that survive interruptions, on one machine or on a Dask cluster."""

from rotting.sweeps.errors import SweepError
from rotting.sweeps.plan import Plan
from rotting.sweeps.results import open_results
from rotting.sweeps.running import sweep
from rotting.sweeps.tuning import tune

__all__ = ["Plan", "SweepError", "open_results", "sweep", "tune"]
