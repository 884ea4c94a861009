"""CTO with the tie rule of its authors: the fewest pulls first, then chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rotting._core.randomness import uniform
from rotting.policies.cto import CTO, CTOState, update


def select(state, t, word):
    """Return the arm whose fitted curve promises most, of equals the least pulled; arms never pulled come first."""
    best, best_value, equals = 0, -np.inf, 0
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
        value = state.values[arm]
        if value > best_value or (value == best_value and state.pulls[arm] < state.pulls[best]):
            best, best_value, equals = arm, value, 1
        elif value == best_value and state.pulls[arm] == state.pulls[best]:
            equals += 1
            if uniform(word, arm) * equals < 1.0:
                best = arm
    return best


def probabilities(state, t, out):
    """Share the choice among the arms between which chance decides."""
    out[:] = 0.0
    best, equals = 0, 0
    for arm in range(len(out)):
        if state.pulls[arm] == 0:
            out[:] = 0.0
            out[arm] = 1.0
            return
        gap, more = state.values[arm] - state.values[best], state.pulls[arm] - state.pulls[best]
        if gap > 0.0 or (gap == 0.0 and more < 0):
            best, equals = arm, 0
        if state.values[arm] == state.values[best] and state.pulls[arm] == state.pulls[best]:
            equals += 1
    for arm in range(len(out)):
        if state.values[arm] == state.values[best] and state.pulls[arm] == state.pulls[best]:
            out[arm] = 1.0 / equals


@dataclass(frozen=True)
class CTOSIM(CTO, state=CTOState, select=select, update=update, probabilities=probabilities, randomised=True):
    """CTO, which of arms that promise as much pulls the one with the fewest pulls, and of these one by chance.

    Where curves fall in steps, many arms promise the same. `CTO` takes the one with the lowest number.

    References
    ----------
    Levine, Crammer, Mannor (2017), "Rotting bandits", Section 4.1.

    Examples
    --------
    >>> agent = CTOSIM(curves=(1.0,)).start(n_arms=3, seed=1)
    >>> for _ in range(9):
    ...     agent.update(agent.select(), 1.0)
    >>> agent.pulls
    array([3, 3, 3])
    """
