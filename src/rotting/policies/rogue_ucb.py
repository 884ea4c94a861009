"""ROGUE-UCB: arms that tire with a linear state each, fitted by maximum likelihood, and the best that is likely."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import sigma_parameter

VARIANCE, RIDGE, RADIUS = range(3)  # of `settings`; what follows there are the rates
_RATES = 3
COUNT, REWARD, SQUARE = range(3)  # of `totals`
TIRED, SQUARED, REWARDED = range(3)  # of `sums`


class RogueState(NamedTuple):
    """How tired each arm is for each rate, and what a fit of each arm needs."""

    settings: np.ndarray  # [variance of the noise, ridge, what the radius is multiplied by, rates...]
    pulls: np.ndarray
    tired: np.ndarray  # float64 (K, rates): s now
    totals: np.ndarray  # float64 (K, 3): sums of 1, y, y^2
    sums: np.ndarray  # float64 (K, rates, 3): sums of s, s^2, s y
    crossed: np.ndarray  # float64 (K, rates, rates): sums of s s', of two rates
    best: np.ndarray  # int64 (K,): the likeliest rate
    fitted: np.ndarray  # float64 (K, 2): its level and drop


def select(state, t, word):
    """Return the arm that is worth most under the best parameters that are likely, new ones first."""
    best, best_index = 0, -np.inf
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
        index = _optimistic(state, arm, math.log(t))
        if index > best_index:
            best, best_index = arm, index
    return best


@helper
def _optimistic(state, arm, log_t):
    """Return the largest value now of all parameters near enough to the fit, by how they explain the past."""
    n, sums, chosen = state.totals[arm, COUNT], state.sums[arm], state.best[arm]
    level, drop = state.fitted[arm, 0], state.fitted[arm, 1]
    ridge, tired = state.settings[RIDGE], sums[chosen, TIRED]
    room = state.settings[RADIUS] * math.sqrt(n * log_t) + ridge * (level * level + drop * drop)
    total = n * level - drop * tired
    square = n * level * level - 2.0 * level * drop * tired + drop * drop * sums[chosen, SQUARED]
    found = -np.inf
    for rate in range(len(sums)):
        now = state.tired[arm, rate]
        along = level * sums[rate, TIRED] - drop * state.crossed[arm, rate, chosen]
        at_level, at_drop, left, _ = solve(
            n + ridge, sums[rate, TIRED], sums[rate, SQUARED] + ridge, total, along, square
        )
        if left <= room:
            spread = width(n + ridge, sums[rate, TIRED], sums[rate, SQUARED] + ridge, now)
            found = max(found, at_level - at_drop * now + math.sqrt((room - left) * spread))
    return found


@helper
def solve(a, b, c, total, along, square):
    """Return level and drop of least squares, what is left, and the determinant of the matrix [[a, -b], [-b, c]]."""
    determinant = a * c - b * b
    level = (c * total - b * along) / determinant
    drop = (b * total - a * along) / determinant
    return level, drop, max(square - level * total + drop * along, 0.0), determinant


@helper
def width(a, b, c, now):
    """Return (1, -now) M^-1 (1, -now)' of that matrix."""
    return (c - 2.0 * b * now + a * now * now) / (a * c - b * b)


def update(state, arm, reward):
    """Add the reward to the sums of its arm, fit that, and let all arms tire or recover."""
    n_rates, tired, sums = len(state.crossed[0]), state.tired, state.sums[arm]
    state.pulls[arm] += 1
    state.totals[arm, COUNT] += 1.0
    state.totals[arm, REWARD] += reward
    state.totals[arm, SQUARE] += reward * reward
    for rate in range(n_rates):
        now = tired[arm, rate]
        sums[rate, TIRED] += now
        sums[rate, SQUARED] += now * now
        sums[rate, REWARDED] += now * reward
        for other in range(n_rates):
            state.crossed[arm, rate, other] += now * tired[arm, other]
    _fit(state, arm)
    for each in range(len(state.pulls)):
        for rate in range(n_rates):
            tired[each, rate] = state.settings[_RATES + rate] * (tired[each, rate] + (1.0 if each == arm else 0.0))


@helper
def fit_of(state, arm, rate):
    """Return level, drop, what is left, and the determinant of the fit with a rate."""
    ridge, sums, totals = state.settings[RIDGE], state.sums[arm, rate], state.totals[arm]
    return solve(
        totals[COUNT] + ridge, sums[TIRED], sums[SQUARED] + ridge, totals[REWARD], sums[REWARDED], totals[SQUARE]
    )


@helper
def _fit(state, arm):
    """Keep the rate that leaves least."""
    least = np.inf
    for rate in range(len(state.crossed[arm])):
        level, drop, left, _ = fit_of(state, arm, rate)
        if left < least:
            least, state.best[arm], state.fitted[arm, 0], state.fitted[arm, 1] = left, rate, level, drop


@dataclass(frozen=True)
class RogueUCB(
    Policy,
    state=RogueState,
    select=select,
    update=update,
    shared_memory=True,
    noise="sigma",
    made_for="arms that satiate",
):
    """Pull the arm that may be worth most now: level - drop s, with s <- rate (s + pulled) in each round.

    Each arm has parameters of its own; its rate is one of 0, 1 / rates, ..., 1 - 1 / rates. They are fitted by maximum
    likelihood, with a ridge of (sigma / span)^2 for level and drop, as they are bounded. The arm's index is its largest
    value under parameters whose divergence from the fit, per pull and over its own pulls, is at most
    `radius` sqrt(eta ln t / (4 n)), eta = span^2 / (2 sigma^2) being the largest that there is: for each rate, that is
    a quadratic problem with a closed solution. A round takes K rates + rates^2 steps.

    The paper's radius has constants of the model instead of `radius`, and its tuned form an estimate of a variance that
    is at most eta / 4, as in the program of the authors of "Recovering bandits": this takes eta / 4. The grid and the
    ridge are ours; the paper leaves open how the maximum is found.

    References
    ----------
    Mintz, Aswani, Kaminsky, Flowers, Fukuoka (2020), "Nonstationary bandits with habituation and recovery dynamics".

    Examples
    --------
    >>> agent = RogueUCB(radius=0.1, sigma=0.1).start(n_arms=3, seed=1)
    >>> for _ in range(100):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.4, 0.9][arm])
    >>> int(agent.pulls.argmax())
    2
    """

    rates: int = parameter(10, minimum=1, maximum=100, doc="of how many rates the likeliest is found")
    radius: float = parameter(1.0, minimum=0, doc="what the radius is multiplied by")
    span: float = parameter(1.0, above=0, doc="how far apart means can be")
    sigma: float | None = sigma_parameter()

    def initial_state(self, n_arms: int) -> RogueState:
        """Return arms that are rested."""
        sigma, count = max(self.told("sigma"), 1e-6 * self.span), self.rates
        radius = self.radius * sigma * self.span / math.sqrt(2.0)
        return RogueState(
            settings=np.array([sigma**2, (sigma / self.span) ** 2, radius, *(np.arange(count) / count)]),
            pulls=np.zeros(n_arms, np.int64),
            tired=np.zeros((n_arms, count)),
            totals=np.zeros((n_arms, 3)),
            sums=np.zeros((n_arms, count, 3)),
            crossed=np.zeros((n_arms, count, count)),
            best=np.zeros(n_arms, np.int64),
            fitted=np.zeros((n_arms, 2)),
        )

    def check_state(self, state: RogueState) -> None:
        """Check rates and sums."""
        if not 0 <= state.best.min() <= state.best.max() < self.rates:
            raise DamagedFile("its rates do not exist")
        if not all(
            np.isfinite(each).all() for each in (state.tired, state.totals, state.sums, state.crossed, state.fitted)
        ):
            raise DamagedFile("its sums are not numbers")
        if not np.array_equal(state.totals[:, COUNT], state.pulls):
            raise DamagedFile("its counts are not those of its pulls")
