"""ROGUE-TS: arms that tire with a linear state each, and a draw of what each may be worth now."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting._core.randomness import normal, uniform
from rotting.policies.rogue_ucb import COUNT, RIDGE, SQUARED, TIRED, VARIANCE, RogueState, RogueUCB, fit_of, width

_FLOOR = -1  # of `settings`: its last entry


def select(state, t, word):
    """Return the arm with the largest draw, new ones first; now and then any."""
    n_arms = len(state.pulls)
    for arm in range(n_arms):
        if state.pulls[arm] == 0:
            return arm
    if uniform(word, 2 * n_arms) < n_arms * state.settings[len(state.settings) + _FLOOR]:
        return np.int64(uniform(word, 2 * n_arms + 1) * n_arms)
    best, best_value = 0, -np.inf
    for arm in range(n_arms):
        value = _drawn(state, arm, uniform(word, arm), normal(word, n_arms + arm))
        if value > best_value:
            best, best_value = arm, value
    return best


@helper
def _drawn(state, arm, share, standard):
    """Draw a rate by how likely it is, and the value now given that."""
    n_rates, highest, total = len(state.crossed[arm]), -np.inf, 0.0
    for rate in range(n_rates):
        highest = max(highest, _likelihood(state, arm, rate))
    for rate in range(n_rates):
        total += math.exp(_likelihood(state, arm, rate) - highest)
    left, chosen = share * total, n_rates - 1
    for rate in range(n_rates):
        left -= math.exp(_likelihood(state, arm, rate) - highest)
        if left < 0.0:
            chosen = rate
            break
    level, drop, _, _ = fit_of(state, arm, chosen)
    ridge, sums, now = state.settings[RIDGE], state.sums[arm, chosen], state.tired[arm, chosen]
    spread = width(state.totals[arm, COUNT] + ridge, sums[TIRED], sums[SQUARED] + ridge, now)
    return level - drop * now + math.sqrt(state.settings[VARIANCE] * spread) * standard


@helper
def _likelihood(state, arm, rate):
    """Return the logarithm of the rate's likelihood, but for a constant; level and drop are integrated out."""
    _, _, left, determinant = fit_of(state, arm, rate)
    return -0.5 * (left / state.settings[VARIANCE] + math.log(determinant))


@dataclass(frozen=True)
class RogueTS(RogueUCB, select=select, randomised=True):
    """Draw the parameters of each arm of `RogueUCB` from their posterior; pull the arm that is then worth most now.

    The prior of level and drop is normal around 0 with the standard deviation `span`; that of the rate is flat on its
    grid. Each arm keeps a probability of `floor` at least, by drawing any arm in K `floor` of the rounds. The paper
    clips the probabilities themselves, which are not known in closed form: this mixes, which bounds them from below in
    the same way.

    References
    ----------
    Li, Carpenter, Buman, Mintz (2025), "Power constrained nonstationary bandits with habituation and recovery
    dynamics".

    Examples
    --------
    >>> agent = RogueTS(sigma=0.1).start(n_arms=3, seed=1)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.4, 0.9][arm])
    >>> int(agent.pulls.argmax())
    2
    """

    floor: float = parameter(0.0, minimum=0, maximum=0.5, doc="the least probability of an arm (1 / K at most)")

    def initial_state(self, n_arms: int) -> RogueState:
        """Return arms that are rested."""
        state = super().initial_state(n_arms)
        return state._replace(settings=np.append(state.settings, self.floor))
