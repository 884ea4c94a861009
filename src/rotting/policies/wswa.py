"""wSWA: SWA for an unknown horizon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter
from rotting.policies._windows.history import History, append, check_history, reserve
from rotting.policies.swa import first_state, select, window_factor, window_for


class WSWAState(NamedTuple):
    """All rewards so far, and the window for the present horizon."""

    settings: np.ndarray  # [factor of the window, restart?]
    pulls: np.ndarray
    history: History
    counted: np.ndarray  # int64 (K,): pulls since the last restart
    phase: np.ndarray  # int64 [horizon, window M]
    rounds: np.ndarray  # int64 [rounds played since the last restart]


_window_for = helper(window_for)


def update(state, arm, reward):
    """Add the reward, and double the horizon when it is used up."""
    append(state.history, arm, reward)
    state.counted[arm] += 1
    state.rounds[0] += 1
    if state.rounds[0] == state.phase[0]:
        state.phase[0] *= 2
        state.phase[1] = _window_for(state.settings[0], state.phase[0])
        if state.settings[1] != 0.0:
            state.counted[:] = 0
            state.rounds[0] = 0


@dataclass(frozen=True)
class WSWA(
    Policy, state=WSWAState, select=select, update=update, keeps_history=True, shared_memory=True, noise="sigma"
):
    """SWA for an unknown horizon: the horizon is 1 and doubles whenever it is used up.

    By default samples are kept and only M grows, which is what the published figures show; arms that lack pulls for the
    larger M are pulled first. `restart=True` forgets everything at each doubling, the clock included.

    References
    ----------
    Levine, Crammer, Mannor (2017), "Rotting bandits".

    Examples
    --------
    >>> agent = WSWA(alpha=0.2, sigma=0.2).start(n_arms=2)
    >>> for _ in range(1000):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.4, 0.5][arm])
    >>> agent.pulls
    array([ 22, 978])
    """

    alpha: float | None = parameter(0.2, above=0, optional=True, doc="scale of the window; None: (2 mu_max)^(-2/3)")
    sigma: float | None = sigma_parameter()
    restart: bool = parameter(False, choices=(False, True), doc="forget everything at each doubling")
    mu_max: float | None = parameter(None, above=0, optional=True, doc="largest mean, for alpha=None")

    def __post_init__(self) -> None:
        super().__post_init__()
        window_factor("WSWA", self.alpha, self.sigma or 0.0, self.mu_max, 1)

    def initial_state(self, n_arms: int) -> WSWAState:
        """Return empty histories and the window for a horizon of one round."""
        factor = window_factor("WSWA", self.alpha, self.told("sigma"), self.mu_max, n_arms)
        swa = first_state([factor, float(self.restart)], n_arms, 1)
        return WSWAState(*swa, np.zeros(1, np.int64))

    def reserve(self, state: WSWAState, pulls: int) -> WSWAState:
        """Make room for more pulls."""
        return state._replace(history=reserve(state.history, pulls))

    def check_state(self, state: WSWAState) -> None:
        """Check the history, and that what is counted fits it."""
        check_history(state.history)
        horizon, window = state.phase.tolist()
        counted_right = np.all((state.counted >= 0) & (state.counted <= state.pulls))
        if not counted_right or not 1 <= horizon < 1 << 62 or window < 1 or not 0 <= state.rounds[0] < horizon:
            raise DamagedFile("its counts, its horizon and its window do not fit its history")
