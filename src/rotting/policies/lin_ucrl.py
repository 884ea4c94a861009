"""LinUCRL: learn how arms bore, and follow the best cycle that this allows for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting._core.parameters import parameter
from rotting.errors import BadValue, DamagedFile
from rotting.policies._cholesky import factorise, solve_lower, solve_upper
from rotting.policies._contract.policy import Policy

_MOST_SITUATIONS = 1 << 20
_NOBODY = -1
FACTOR, ALPHA, RIDGE, DISCOUNT, LENGTH = range(5)  # of `settings`
SWEEPS, ARMS, ROUNDS, PROGRAM = range(4)  # of `counts`
READINGS = ("paper", "program")


class LinUCRLState(NamedTuple):
    """What was seen of each arm, the last arms, and the plan."""

    settings: np.ndarray  # [factor, alpha, ridge, discount, L^2]
    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    counts: np.ndarray  # int64 [sweeps of the value iteration, arms, rounds so far, which reading]
    gram: np.ndarray  # float64 (K, d + 1, d + 1): ridge I + the sum of x x'
    moments: np.ndarray  # float64 (K, d + 1): the sum of x r
    recent: np.ndarray  # int64 (w,): the last arms, the latest first; _NOBODY before the first rounds
    before: np.ndarray  # int64 (K,): pulls before this episode
    rewards: np.ndarray  # float64 (K^w, K): the plan's optimistic rewards ...
    values: np.ndarray  # float64 (2, K^w): ... and values of situations; the second row is working memory
    factor: np.ndarray  # float64 (d + 1, d + 1): working memory
    vectors: np.ndarray  # float64 (2, d + 1): working memory
    bits: np.ndarray  # float64 (2^w,): working memory, optimistic rewards by when the arm was pulled


def select(state, t, word):
    """Return the arm that the plan has for the situation; arms never pulled come first."""
    situation = _situation(state)
    best, best_value = 0, -np.inf
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
        value = _value(state, situation, state.numbers[arm])
        if value > best_value:
            best, best_value = arm, value
    return best


@helper
def _situation(state):
    """Return the number of the situation: its digits are the last arms, the latest last.

    Rounds before the first count as pulls of arm 0.
    """
    number, arms = np.int64(0), state.counts[ARMS]
    for place in range(len(state.recent) - 1, -1, -1):
        number = number * arms + max(state.recent[place], 0)
    return number


@helper
def _value(state, situation, arm):
    """Return what pulling an arm in a situation is worth by the plan."""
    following = (situation * state.counts[ARMS] + arm) % len(state.rewards)
    return state.rewards[situation, arm] + state.settings[DISCOUNT] * state.values[0, following]


def update(state, arm, reward):
    """Add the reward to the arm's regression; plan again if an arm has doubled its pulls in this episode."""
    gram, moments, power = state.gram, state.moments, state.vectors[0]
    _powers(_recency(state.recent, arm), power)
    for row in range(len(power)):
        moments[arm, row] += power[row] * reward
        for column in range(len(power)):
            gram[arm, row, column] += power[row] * power[column]
    for place in range(len(state.recent) - 1, 0, -1):
        state.recent[place] = state.recent[place - 1]
    state.recent[0] = arm
    state.pulls[arm] += 1
    state.counts[ROUNDS] += 1
    if _episode_is_over(state, arm):
        _plan(state)


@helper
def _recency(recent, arm):
    """Return the sum of 1 / tau over the rounds tau = 1, ..., w ago in which the arm was pulled."""
    rho = 0.0
    for place in range(len(recent)):
        if recent[place] == arm:
            rho += 1.0 / (place + 1.0)
    return rho


@helper
def _powers(rho, power):
    """Write 1, rho, rho^2, ... to `power`."""
    power[0] = 1.0
    for j in range(1, len(power)):
        power[j] = power[j - 1] * rho


@helper
def _episode_is_over(state, arm):
    """Say whether the arm just pulled has ended the episode; the first one lasts until all arms have been pulled."""
    for other in range(len(state.pulls)):
        if state.pulls[other] == 0:
            return False
    if state.before[arm] == 0 and state.counts[PROGRAM] == 0:
        return True
    pulls = state.pulls[arm] - state.before[arm]
    return pulls > 1 and pulls >= state.before[arm]


@outlined
def _plan(state):
    """Begin an episode: estimate all rewards optimistically, and iterate values."""
    for arm in range(len(state.pulls)):
        state.before[arm] = state.pulls[arm]
        _fill_rewards(state, arm)
    arms, values, rewards = state.counts[ARMS], state.values, state.rewards
    for situation in range(len(rewards)):
        values[0, situation] = 0.0
    for _ in range(state.counts[SWEEPS]):
        for situation in range(len(rewards)):
            first, best = (situation * arms) % len(rewards), -np.inf
            for arm in range(arms):
                best = max(best, rewards[situation, arm] + state.settings[DISCOUNT] * values[0, first + arm])
            values[1, situation] = best
        for situation in range(len(rewards)):
            values[0, situation] = values[1, situation]


@helper
def _fill_rewards(state, arm):
    """Estimate an arm's rewards: theta'x + c sqrt(x' V^-1 x), for each way in which it can have been pulled lately."""
    power, theta = state.vectors[0], state.vectors[1]
    factorise(state.gram[arm], state.factor)
    for j in range(len(theta)):
        theta[j] = state.moments[arm, j]
    solve_lower(state.factor, theta)
    solve_upper(state.factor, theta)
    width = state.settings[FACTOR] * _confidence(state, arm)
    window = len(state.recent)
    for pattern in range(len(state.bits)):
        rho = 0.0
        for place in range(window):
            if (pattern >> place) & 1:
                rho += 1.0 / (place + 1.0)
        _powers(rho, power)
        mean = 0.0
        for j in range(len(power)):
            mean += theta[j] * power[j]
        solve_lower(state.factor, power)
        squares = 0.0
        for j in range(len(power)):
            squares += power[j] * power[j]
        state.bits[pattern] = mean + width * math.sqrt(squares)
    for situation in range(len(state.rewards)):
        pattern, left = 0, situation
        for place in range(window):
            if left % state.counts[ARMS] == arm:
                pattern |= 1 << place
            left //= state.counts[ARMS]
        state.rewards[situation, arm] = state.bits[pattern]


@helper
def _confidence(state, arm):
    """Return c = sqrt((d + 1) ln(K t^alpha (1 + N L^2 / ridge))) + sqrt(ridge)."""
    settings, t = state.settings, state.counts[ROUNDS] + 1.0 - state.counts[PROGRAM]
    seen = math.log(1.0 + state.pulls[arm] * settings[LENGTH] / settings[RIDGE])
    logs = math.log(float(state.counts[ARMS])) + settings[ALPHA] * math.log(t) + seen
    return math.sqrt(len(state.vectors[0]) * logs) + math.sqrt(settings[RIDGE])


@dataclass(frozen=True)
class LinUCRL(
    Policy,
    state=LinUCRLState,
    select=select,
    update=update,
    shared_memory=True,
    scratch=("factor", "vectors", "bits"),
):
    """Learn each arm's value as a polynomial of its recency, and plan as if all were as good as it may be.

    The recency rho of an arm is the sum of 1 / tau over its pulls tau = 1, ..., `window` rounds ago. With
    x = (1, rho, ..., rho^degree), V = ridge I + the sum of x x' and theta = V^-1 (the sum of x r), an arm may be worth
    theta'x + factor c sqrt(x' V^-1 x), c = sqrt((d + 1) ln(K t^alpha (1 + N L^2 / ridge))) + sqrt(ridge),
    L^2 = 1 + l + ... + l^d, l = 1 + ln(window). A plan comes from `sweeps` rounds of value iteration over the K^window
    situations with a discount; a new one is made when an arm's pulls since the last reach those before it (and exceed
    1). Each arm is pulled once at first. The first plan comes when all have been, and t is the coming round; with
    reading = "program" it comes once an arm has two pulls, and t is one less, as in the authors' program. Rounds before
    the first count, where the plan is looked up, as pulls of arm 0.

    The authors' program multiplies c by 0.01, which is the default; theory has factor = 1. With so small a factor the
    ridge must be small, too (about the noise's variance), or arms that were pulled a few times stay underestimated for
    good. Memory and time grow with K^window, which may be 2^20 at most.

    References
    ----------
    Warlop, Lazaric, Mary (2018), "Fighting boredom in recommender systems with linear reinforcement learning".

    Examples
    --------
    >>> from rotting.problems import boredom
    >>> from rotting import simulate
    >>> result = simulate(LinUCRL(window=8, degree=1), boredom(1), horizon=500, runs=1)
    >>> round(float(result.pulls[0, 0, 0]) / 500, 1)
    0.6
    """

    window: int = parameter(5, whole=True, minimum=1, doc="w: for how many rounds a pull is remembered")
    degree: int = parameter(5, whole=True, minimum=0, maximum=20, doc="d: the degree of the polynomials")
    factor: float = parameter(0.01, minimum=0, doc="what the confidence bound is multiplied by; theory has 1")
    alpha: float = parameter(2.0, above=0, doc="confidence: bounds that hold with probability t^-alpha")
    ridge: float = parameter(0.5, above=0, doc="the regression's penalty (lambda)")
    discount: float = parameter(0.99, above=0, maximum=1, doc="what a round later is worth, of a plan")
    sweeps: int = parameter(100, whole=True, minimum=1, doc="rounds of value iteration")
    reading: str = parameter("paper", choices=READINGS, doc="when the first plan comes, and what t is")

    def initial_state(self, n_arms: int) -> LinUCRLState:
        """Return nothing seen, and no plan."""
        situations = n_arms**self.window if n_arms > 1 else 1
        if max(situations, 2**self.window) > _MOST_SITUATIONS:
            problem = f"makes {situations:,} situations of {n_arms} arms"
            raise BadValue(problem, owner="LinUCRL", name="window", value=self.window, expected="at most 2^20 of them")
        size = self.degree + 1
        length = sum((1 + math.log(self.window)) ** j for j in range(size))
        return LinUCRLState(
            settings=np.array([self.factor, self.alpha, self.ridge, self.discount, length]),
            pulls=np.zeros(n_arms, np.int64),
            numbers=np.arange(n_arms),
            counts=np.array([self.sweeps, n_arms, 0, READINGS.index(self.reading)], np.int64),
            gram=np.tile(self.ridge * np.eye(size), (n_arms, 1, 1)),
            moments=np.zeros((n_arms, size)),
            recent=np.full(self.window, _NOBODY, np.int64),
            before=np.zeros(n_arms, np.int64),
            rewards=np.zeros((situations, n_arms)),
            values=np.zeros((2, situations)),
            factor=np.zeros((size, size)),
            vectors=np.zeros((2, size)),
            bits=np.zeros(2**self.window),
        )

    def check_state(self, state: LinUCRLState) -> None:
        """Check that the last arms exist, and that what is planned with are numbers."""
        n_arms = len(state.pulls)
        if state.recent.min() < _NOBODY or state.recent.max() >= n_arms:
            raise DamagedFile("its last arms do not exist")
        if state.counts.tolist() != [self.sweeps, n_arms, state.pulls.sum(), READINGS.index(self.reading)]:
            raise DamagedFile("its counts are not those of its pulls")
        if not np.array_equal(state.numbers, np.arange(n_arms)) or np.any(state.before > state.pulls):
            raise DamagedFile("its arms are not those that it has pulled")
        if not all(np.isfinite(part).all() for part in (state.gram, state.moments, state.rewards, state.values)):
            raise DamagedFile("its plan holds something that is not a number")
