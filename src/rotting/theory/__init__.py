"""Regret and what the theory says about it: decomposition, upper and lower bounds."""

from rotting.theory.bounds import (
    deterministic_lower_bound,
    eff_fewa_bound,
    fewa_bound,
    fewa_high_probability_bound,
    greedy_bound,
    high_probability_delta0,
    stochastic_lower_bound,
)
from rotting.theory.identification_bounds import (
    hardness,
    rsr_bound,
    rucbe_bound,
    rucbe_exploration,
    sequential_halving_bound,
    successive_rejects_bound,
)
from rotting.theory.levine_bounds import dcto_ucb_bound, detection_pulls, swa_bound, wswa_bound
from rotting.theory.problem_bounds import (
    OverpullLimits,
    eff_fewa_problem_bound,
    fewa_problem_bound,
    fewa_problem_high_probability_bound,
    largest_decay,
    overpull_limits,
)
from rotting.theory.regret import Decomposition, decompose, overpulls, regret

__all__ = [
    "Decomposition",
    "OverpullLimits",
    "dcto_ucb_bound",
    "decompose",
    "detection_pulls",
    "deterministic_lower_bound",
    "eff_fewa_bound",
    "eff_fewa_problem_bound",
    "fewa_bound",
    "fewa_high_probability_bound",
    "fewa_problem_bound",
    "fewa_problem_high_probability_bound",
    "greedy_bound",
    "hardness",
    "high_probability_delta0",
    "largest_decay",
    "overpull_limits",
    "overpulls",
    "regret",
    "rsr_bound",
    "rucbe_bound",
    "rucbe_exploration",
    "sequential_halving_bound",
    "stochastic_lower_bound",
    "successive_rejects_bound",
    "swa_bound",
    "wswa_bound",
]
