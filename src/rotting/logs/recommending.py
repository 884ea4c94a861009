"""Which policy to use, with which parameters, and the code to paste."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from rotting.logs.driver import EXPOSURE
from rotting.logs.gain import THOMPSON, thompson_name

if TYPE_CHECKING:
    from rotting.policies import Policy


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """A policy for the arms of a log."""

    policy: str  # such as "FEWA(alpha=0.06, sigma=0.24)"
    label: str  # its name in sentences
    reason: str
    code: str  # to paste
    played_as: str  # the row of the gains that shows it, or stands for it; the reason says if it only stands for it


def recommend(n_arms: int, sigma: float, binary: bool, rotting: bool, driver: str, batch: int = 1) -> Recommendation:
    """Return the policy whose assumptions the log supports: no search for the luckiest in the simulation.

    `batch` is how many exposures a pull of the simulation stands for.

    Examples
    --------
    >>> print(recommend(4, 0.2436, True, rotting=True, driver="exposure").code)
    from rotting import FEWA
    <BLANKLINE>
    agent = FEWA(alpha=0.06, sigma=0.244, delta0=1.0).start(n_arms=4)
    arm = agent.select()  # 0 to 3: which arm to show next
    agent.update(arm, reward=1.0)  # the reward that it earned
    """
    from rotting.policies import FEWA, RAWUCB, BetaThompson, GaussianThompson

    scale = float(f"{sigma:.3g}")
    policy: Policy
    if rotting and driver == EXPOSURE:
        label, policy, reason = "FEWA", FEWA(sigma=scale), "arms wear out with their exposures"
    elif rotting:
        label, policy = "RAW-UCB", RAWUCB(sigma=scale)
        reason = "arms wear out, and RAW-UCB does not mind whether with exposures or with time"
    else:
        label = THOMPSON
        policy = BetaThompson() if binary else GaussianThompson(sigma=max(scale, 1e-9))
        reason = "no arm is seen to wear out, so an ordinary bandit will do"
    played_as = thompson_name(binary, batch) if label == THOMPSON else label
    if played_as != label:
        reason += f". The gains show {played_as} in its place: a pull there is the mean of {batch:,} rewards"
    return Recommendation(repr(policy), label, reason, _code(policy, n_arms), played_as)


def _code(policy: Policy, n_arms: int) -> str:
    return (
        f"from rotting import {type(policy).__name__}\n\n"
        f"agent = {policy!r}.start(n_arms={n_arms})\n"
        f"arm = agent.select()  # 0 to {n_arms - 1}: which arm to show next\n"
        "agent.update(arm, reward=1.0)  # the reward that it earned"
    )
