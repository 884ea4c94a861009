"""Bandit problems: mean-reward curves, dynamics, noise, oracles, and the named problems of the literature."""

from rotting.problems.blocking import Blocking
from rotting.problems.boredom import Boredom
from rotting.problems.candy_cane import CandyCane
from rotting.problems.contest import CandyCaneContest
from rotting.problems.curves import (
    Constant,
    Curve,
    CurveLike,
    Drop,
    Drops,
    Exponential,
    Growth,
    Linear,
    Logistic,
    Power,
    Sigmoid,
    Table,
)
from rotting.problems.cycles import Cycle
from rotting.problems.drawn import Drawn
from rotting.problems.dynamics import Dynamics
from rotting.problems.field import (
    boredom,
    candy_cane,
    creatives,
    many_arms,
    piecewise,
    pike_burke,
    push,
    recovering_logistic,
    rising,
    yahoo,
)
from rotting.problems.many_arms import ManyArms
from rotting.problems.named import (
    NAMED,
    ProblemLike,
    levine_drawn,
    levine_ten_arm,
    levine_two_arm,
    parse_problem,
    stationary,
    ten_arm,
    two_arm,
)
from rotting.problems.noise import Bernoulli, Gaussian, Noise, NoNoise
from rotting.problems.oracle import OracleResult
from rotting.problems.polynomial import Polynomial
from rotting.problems.problem import Problem
from rotting.problems.push import Push
from rotting.problems.recovering import Recovering
from rotting.problems.rested import Rested
from rotting.problems.restless import Restless
from rotting.problems.rising import Rising
from rotting.problems.satiation import Satiation
from rotting.problems.skewed_noise import Binomial, LogNormal, ScaledBeta, StudentT
from rotting.problems.tally import Tally
from rotting.problems.trigger_graph import TriggerGraph

__all__ = [
    "NAMED",
    "Bernoulli",
    "Binomial",
    "Blocking",
    "Boredom",
    "CandyCane",
    "CandyCaneContest",
    "Constant",
    "Curve",
    "CurveLike",
    "Cycle",
    "Drawn",
    "Drop",
    "Drops",
    "Dynamics",
    "Exponential",
    "Gaussian",
    "Growth",
    "Linear",
    "LogNormal",
    "Logistic",
    "ManyArms",
    "NoNoise",
    "Noise",
    "OracleResult",
    "Polynomial",
    "Power",
    "Problem",
    "ProblemLike",
    "Push",
    "Recovering",
    "Rested",
    "Restless",
    "Rising",
    "Satiation",
    "ScaledBeta",
    "Sigmoid",
    "StudentT",
    "Table",
    "Tally",
    "TriggerGraph",
    "boredom",
    "candy_cane",
    "creatives",
    "levine_drawn",
    "levine_ten_arm",
    "levine_two_arm",
    "many_arms",
    "parse_problem",
    "piecewise",
    "pike_burke",
    "push",
    "recovering_logistic",
    "rising",
    "stationary",
    "ten_arm",
    "two_arm",
    "yahoo",
]
