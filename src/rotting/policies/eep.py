"""EEP: explore arms that satiate, estimate how fast, and plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper, outlined
from rotting._core.parameters import parameter
from rotting.errors import BadValue, DamagedFile
from rotting.policies._contract.policy import Policy
from rotting.policies._contract.told import horizon_parameter
from rotting.policies.rgp_ucb import NOBODY, ROUNDS, keep_plan, planned

EXPLORED = 0  # of `counts`; ROUNDS and PLANNED are RGP-UCB's
S, SS, SX, X, XX = range(5)  # of `sums`: of satiation s and reward x
_MOST_SEQUENCES = 1 << 20


class EEPState(NamedTuple):
    """What each arm paid at which satiation, for each factor that it may have; estimates and the plan."""

    settings: np.ndarray  # float64 (G,): the factors gamma that are tried
    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    counts: np.ndarray  # int64 [pulls of each arm to explore it, rounds so far, rounds when the plan was made]
    last: np.ndarray  # int64 (K,): the round of the last pull
    satiation: np.ndarray  # float64 (K, G): in the round after that
    sums: np.ndarray  # float64 (K, G, 5), while exploring
    estimates: np.ndarray  # float64 (K, 3): level b, slope lambda, gamma
    fitted: np.ndarray  # int64 (K,): which of the factors
    plan: np.ndarray  # int64 (w,): the arms to pull, by their numbers
    trial: np.ndarray  # int64 (1, w): working memory


def select(state, t, word):
    """Return the first arm that is not explored; then the next arm of the plan."""
    for arm in range(len(state.pulls)):
        if state.pulls[arm] < state.counts[EXPLORED]:
            return arm
    place = planned(state)
    return _plan(state) if place == NOBODY else place


@helper
def _plan(state):
    """Keep the sequence of w arms with the largest estimated total; return its first."""
    steps, arms = len(state.plan), len(state.pulls)
    best, best_total = 0, -np.inf
    for number in range(arms**steps):
        total = _total(state, number)
        if total > best_total:
            best, best_total = number, total
    _write(state, best)
    keep_plan(state, steps)
    return state.trial[0, 0]


@helper
def _write(state, number):
    """Write sequence number 0, 1, ... to `trial`."""
    for step in range(len(state.plan)):
        state.trial[0, step] = number % len(state.pulls)
        number //= len(state.pulls)


@helper
def _total(state, number):
    """Return what a sequence earns by the estimates."""
    _write(state, number)
    arms, total = state.trial[0], 0.0
    for step in range(len(arms)):
        arm = arms[step]
        level, slope, gamma = state.estimates[arm, 0], state.estimates[arm, 1], state.estimates[arm, 2]
        rest = state.counts[ROUNDS] - state.last[arm] + step
        satiation = state.satiation[arm, state.fitted[arm]] * gamma**rest
        for before in range(step):
            if arms[before] == arm:
                satiation += gamma ** (step - before)
        total += level - slope * satiation
    return total


def update(state, arm, reward):
    """Satiate the arm; while it is explored, add the reward to its sums, and estimate at the end."""
    state.pulls[arm] += 1
    if state.pulls[arm] <= state.counts[EXPLORED]:
        for factor in range(len(state.settings)):
            satiation = _satiate(state, arm, factor)
            sums = state.sums[arm, factor]
            sums[S] += satiation
            sums[SS] += satiation * satiation
            sums[SX] += satiation * reward
            sums[X] += reward
            sums[XX] += reward * reward
    else:
        _satiate(state, arm, state.fitted[arm])
    state.counts[ROUNDS] += 1
    state.last[arm] = state.counts[ROUNDS]
    if state.pulls[arm] == state.counts[EXPLORED]:
        _estimate(state, arm)


@helper
def _satiate(state, arm, factor):
    """Return how satiated people are with an arm that is pulled now, for one of the factors, and satiate them."""
    gamma, rest = state.settings[factor], state.counts[ROUNDS] - state.last[arm]
    satiation = state.satiation[arm, factor] * gamma**rest
    state.satiation[arm, factor] = gamma * (satiation + 1.0)
    return satiation


@outlined
def _estimate(state, arm):
    """Fit x = b - lambda s by least squares for each factor; keep the factor whose rest is smallest."""
    n, smallest = float(state.counts[EXPLORED]), np.inf
    for factor in range(len(state.settings)):
        sums = state.sums[arm, factor]
        spread = n * sums[SS] - sums[S] * sums[S]
        slope = max(0.0, (sums[S] * sums[X] - n * sums[SX]) / spread) if spread > 1e-12 * n * n else 0.0
        level = (sums[X] + slope * sums[S]) / n
        square = sums[XX] - level * sums[X] + slope * sums[SX]
        if square < smallest:
            smallest = square
            state.fitted[arm] = factor
            state.estimates[arm, 0], state.estimates[arm, 1] = level, slope
            state.estimates[arm, 2] = state.settings[factor]


@dataclass(frozen=True)
class EEP(
    Policy,
    knows=("horizon",),
    state=EEPState,
    select=select,
    update=update,
    shared_memory=True,
    scratch=("trial",),
    made_for="arms that satiate",
):
    """Pull each arm m times in a row, estimate how it satiates, then plan `window` rounds at a time.

    An arm pays b - lambda s on average; its satiation s becomes gamma (s + 1) if it is pulled, else gamma s. For each
    gamma of 1 / grid, 2 / grid, ... below 1, b and lambda >= 0 are fitted by least squares; the best of these fits is
    kept. The plan is the best sequence of `window` arms by the estimates. m = None is ceil(T^(2/3) / K), but 4 at
    least. In a simulation `horizon=None` is filled in.

    The paper's rewards have noise in the satiation, and its estimate is a regression of each reward on the one before;
    here the noise is in the rewards, so that their regression would be biased, and satiation is known for each gamma.

    References
    ----------
    Leqi, Kilinc-Karzan, Lipton, Montgomery (2021), "Rebounding bandits for modeling satiation effects".

    Examples
    --------
    >>> from rotting import simulate
    >>> from rotting.problems import Linear, Problem, Satiation
    >>> arms = [Linear(1.0, 0.3, -9.0), Linear(0.8, 0.1, -9.0)]
    >>> problem = Problem(arms, dynamics=Satiation(gamma=0.5), noise="none")
    >>> result = simulate(EEP(grid=4), problem, horizon=400, runs=1, progress=False)
    >>> result.pulls.values.tolist()
    [[[258, 142]]]
    """

    m: int | None = parameter(None, minimum=4, optional=True, doc="pulls of each arm to explore it; none: by T")
    window: int = parameter(1, minimum=1, doc="how many rounds are planned at a time (w)")
    grid: int = parameter(50, minimum=2, maximum=1000, doc="how finely gamma is estimated")
    horizon: int | None = horizon_parameter()

    def initial_state(self, n_arms: int) -> EEPState:
        """Return arms that nobody has had."""
        if n_arms**self.window > _MOST_SEQUENCES:
            problem = f"makes {n_arms**self.window:,} sequences of {n_arms} arms"
            raise BadValue(problem, owner="EEP", name="window", value=self.window, expected="at most 2^20 of them")
        factors = np.arange(1, self.grid) / self.grid
        zeros = np.zeros(n_arms, np.int64)
        return EEPState(
            settings=factors,
            pulls=zeros,
            numbers=np.arange(n_arms),
            counts=np.array([self.explored(n_arms), 0, -1], np.int64),
            last=zeros.copy(),
            satiation=np.zeros((n_arms, len(factors))),
            sums=np.zeros((n_arms, len(factors), 5)),
            estimates=np.zeros((n_arms, 3)),
            fitted=zeros.copy(),
            plan=np.full(self.window, NOBODY, np.int64),
            trial=np.zeros((1, self.window), np.int64),
        )

    def explored(self, n_arms: int) -> int:
        """Return m."""
        if self.m is not None:
            return self.m
        return max(4, math.ceil(math.pow(self.told("horizon"), 2 / 3) / n_arms))

    def check_state(self, state: EEPState) -> None:
        """Check counts, fits and the plan."""
        n_arms, rounds = len(state.pulls), int(state.pulls.sum())
        explored, counted, made = state.counts.tolist()
        if explored != self.explored(n_arms) or counted != rounds or not -1 <= made <= rounds:
            raise DamagedFile("its counts are not those of its pulls")
        if (
            not np.array_equal(state.numbers, np.arange(n_arms))
            or not 0 <= state.last.min() <= state.last.max() <= rounds
        ):
            raise DamagedFile("its arms are not those that it has pulled")
        if not 0 <= state.fitted.min() <= state.fitted.max() < len(state.settings):
            raise DamagedFile("its fits do not exist")
        if not NOBODY <= state.plan.min() <= state.plan.max() < n_arms:
            raise DamagedFile("its plan has arms that do not exist")
        if not all(np.isfinite(each).all() for each in (state.satiation, state.sums, state.estimates)):
            raise DamagedFile("its sums are not numbers")
