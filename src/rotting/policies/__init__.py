"""How to choose: one policy, one file, one class."""

from rotting.policies.adwin_ucb import AdwinUCB
from rotting.policies.agent import Agent
from rotting.policies.aucb import AUCB
from rotting.policies.base import Policy
from rotting.policies.beta_thompson import BetaThompson
from rotting.policies.cto import CTO
from rotting.policies.discounted_ucb import DiscountedUCB
from rotting.policies.eff_fewa import EffFEWA
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.epsilon_greedy import EpsilonGreedy
from rotting.policies.exp3 import Exp3
from rotting.policies.fewa import FEWA
from rotting.policies.gaussian_thompson import GaussianThompson
from rotting.policies.greedy import Greedy
from rotting.policies.moss import MOSS
from rotting.policies.oracle import Oracle
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.rexp3 import Rexp3
from rotting.policies.sliding_window_ucb import SlidingWindowUCB
from rotting.policies.swa import SWA
from rotting.policies.ucb1 import UCB1
from rotting.policies.uniform import Uniform
from rotting.policies.wswa import WSWA

__all__ = [
    "AUCB",
    "CTO",
    "FEWA",
    "MOSS",
    "RAWUCB",
    "SWA",
    "UCB1",
    "WSWA",
    "AdwinUCB",
    "Agent",
    "BetaThompson",
    "DiscountedUCB",
    "EffFEWA",
    "EffRAWUCB",
    "EpsilonGreedy",
    "Exp3",
    "GaussianThompson",
    "Greedy",
    "Oracle",
    "Policy",
    "Rexp3",
    "SlidingWindowUCB",
    "Uniform",
]
