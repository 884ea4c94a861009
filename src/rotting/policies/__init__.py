"""How to choose: one policy, one file, one class. A new one is named here, in the imports and in `__all__`."""

from rotting.policies._contract.agent import Agent
from rotting.policies._contract.explaining import Explanation, FilterVerdict, IndexVerdict
from rotting.policies._contract.policy import Policy, PolicyLike, parse_policy
from rotting.policies.adwin_ucb import AdwinUCB
from rotting.policies.aucb import AUCB
from rotting.policies.aucb_tp import AUCBTP
from rotting.policies.aucbt_asw import AUCBTASW
from rotting.policies.beta_thompson import BetaThompson
from rotting.policies.cto import CTO
from rotting.policies.cto_sim import CTOSIM
from rotting.policies.cusum_ucb import CUSUMUCB
from rotting.policies.dcto_ucb import DCTOUCB
from rotting.policies.discounted_beta_thompson import DiscountedBetaThompson
from rotting.policies.discounted_ucb import DiscountedUCB
from rotting.policies.eep import EEP
from rotting.policies.eff_fewa import EffFEWA
from rotting.policies.eff_raw_ucb import EffRAWUCB
from rotting.policies.eff_raw_ucb_plus import EffRAWUCBPlus
from rotting.policies.epsilon_greedy import EpsilonGreedy
from rotting.policies.exp3 import Exp3
from rotting.policies.exp3s import Exp3S
from rotting.policies.fewa import FEWA
from rotting.policies.free_ucb import FreeUCB
from rotting.policies.gaussian_thompson import GaussianThompson
from rotting.policies.glr_kl_ucb import GLRKLUCB
from rotting.policies.graph_ucb import GraphUCB
from rotting.policies.greedy import Greedy
from rotting.policies.isi_comb_ucb1 import ISICombUCB1
from rotting.policies.kl_ucb import KLUCB
from rotting.policies.lb_sda import LBSDA
from rotting.policies.level_filter import LevelFilter
from rotting.policies.lin_ucrl import LinUCRL
from rotting.policies.moss import MOSS
from rotting.policies.mucb import MUCB
from rotting.policies.oracle import Oracle
from rotting.policies.raw_kl_ucb import RAWKLUCB
from rotting.policies.raw_ucb import RAWUCB
from rotting.policies.raw_ucb_plus import RAWUCBPlus
from rotting.policies.recovering_softmax import RecoveringSoftmax
from rotting.policies.red_ucb import REdUCB
from rotting.policies.rexp3 import Rexp3
from rotting.policies.rgp_ts import RGPTS
from rotting.policies.rgp_ucb import RGPUCB
from rotting.policies.rising_elimination import RisingElimination
from rotting.policies.rless_ucb import RLessUCB
from rotting.policies.rogue_ts import RogueTS
from rotting.policies.rogue_ucb import RogueUCB
from rotting.policies.rotting_rejects import RottingRejects
from rotting.policies.rsr import RSR
from rotting.policies.rucbe import RUCBE
from rotting.policies.sequential_halving import SequentialHalving
from rotting.policies.sliding_window_beta_thompson import SlidingWindowBetaThompson
from rotting.policies.sliding_window_gaussian_thompson import SlidingWindowGaussianThompson
from rotting.policies.sliding_window_ucb import SlidingWindowUCB
from rotting.policies.ssucb import SSUCB
from rotting.policies.successive_rejects import SuccessiveRejects
from rotting.policies.swa import SWA
from rotting.policies.tally_elimination import TallyElimination
from rotting.policies.ucb1 import UCB1
from rotting.policies.ucb_tp import UCBTP
from rotting.policies.ucbt_asw import UCBTASW
from rotting.policies.uniform import Uniform
from rotting.policies.wswa import WSWA

__all__ = [
    "AUCB",
    "AUCBTASW",
    "AUCBTP",
    "CTO",
    "CTOSIM",
    "CUSUMUCB",
    "DCTOUCB",
    "EEP",
    "FEWA",
    "GLRKLUCB",
    "KLUCB",
    "LBSDA",
    "MOSS",
    "MUCB",
    "POLICIES",
    "RAWKLUCB",
    "RAWUCB",
    "RGPTS",
    "RGPUCB",
    "RSR",
    "RUCBE",
    "SSUCB",
    "SWA",
    "UCB1",
    "UCBTASW",
    "UCBTP",
    "WSWA",
    "AdwinUCB",
    "Agent",
    "BetaThompson",
    "DiscountedBetaThompson",
    "DiscountedUCB",
    "EffFEWA",
    "EffRAWUCB",
    "EffRAWUCBPlus",
    "EpsilonGreedy",
    "Exp3",
    "Exp3S",
    "Explanation",
    "FilterVerdict",
    "FreeUCB",
    "GaussianThompson",
    "GraphUCB",
    "Greedy",
    "ISICombUCB1",
    "IndexVerdict",
    "LevelFilter",
    "LinUCRL",
    "Oracle",
    "Policy",
    "PolicyLike",
    "RAWUCBPlus",
    "REdUCB",
    "RLessUCB",
    "RecoveringSoftmax",
    "Rexp3",
    "RisingElimination",
    "RogueTS",
    "RogueUCB",
    "RottingRejects",
    "SequentialHalving",
    "SlidingWindowBetaThompson",
    "SlidingWindowGaussianThompson",
    "SlidingWindowUCB",
    "SuccessiveRejects",
    "TallyElimination",
    "Uniform",
    "parse_policy",
]

# The policies of the package, by name.
POLICIES: dict[str, type[Policy]] = {name: Policy.known[name] for name in __all__ if name in Policy.known}
