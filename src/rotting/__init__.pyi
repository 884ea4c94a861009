# The public names, one list: type checkers read this file, and so does __init__.py, which imports each on first use.

from rotting import bandit as bandit
from rotting import curves as curves
from rotting import errors as errors
from rotting import logs as logs
from rotting import parameters as parameters
from rotting import policies as policies
from rotting import problems as problems
from rotting import randomness as randomness
from rotting import simulation as simulation
from rotting import sweeps as sweeps
from rotting import theory as theory
from rotting import value as value
from rotting.bandit import Bandit as Bandit
from rotting.bandit import sigma_for as sigma_for
from rotting.errors import RottingError as RottingError
from rotting.logs import diagnose as diagnose
from rotting.policies import *  # noqa: F403
from rotting.problems import Problem as Problem
from rotting.problems import parse_problem as parse_problem
from rotting.simulation import simulate as simulate
from rotting.sweeps import open_results as open_results
from rotting.sweeps import sweep as sweep
from rotting.sweeps import tune as tune
from rotting.value import evaluate as evaluate

__version__: str
