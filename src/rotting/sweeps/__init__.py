"""Sweeps over policies, problems and runs that survive interruptions, on one machine or on a Dask cluster.

| module | what |
|---|---|
| `blocks` | the pieces in which a sweep is computed and kept: a block is a range of its runs, with a checksum |
| `cluster` | where a sweep is played: in this process, or by the workers of a Dask cluster |
| `errors` | what can go wrong in a sweep that its user can put right |
| `figures` | the figures of a sweep: regret over time, final regret against a parameter, policies x problems |
| `folder` | the folder of a sweep on disk: its plan, its blocks, and a lock |
| `kept` | what is kept of a sweep's runs, in its folder and under earlier plans that it goes on from |
| `plan` | what a sweep is to do: every policy on every problem, so many runs each, and how they are numbered |
| `plan_file` | plans as people write them: a short TOML file whose lists of values expand to a grid |
| `progress` | how far a sweep is: a bar on a terminal, a line per minute elsewhere |
| `ranking` | what the results of a sweep say |
| `results` | what a sweep has found so far, as a labelled dataset; large ones are read lazily |
| `running` | run a plan: find what is missing, play it, keep it |
| `tuning` | find good parameters for a policy: successive halving over a grid, on common random numbers |
"""

from rotting.sweeps.errors import SweepError
from rotting.sweeps.plan import Plan
from rotting.sweeps.results import open_results
from rotting.sweeps.running import sweep
from rotting.sweeps.tuning import tune

__all__ = ["Plan", "SweepError", "open_results", "sweep", "tune"]
