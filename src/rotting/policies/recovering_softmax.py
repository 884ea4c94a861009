"""RecoveringSoftmax: which notification to send, when not all suit everybody and nobody wants the same again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting._core.randomness import uniform
from rotting.errors import DamagedFile
from rotting.policies._contract.policy import Policy

GAMMA, HALF_LIFE, TAU, PRIOR, LEAST, RATES = range(6)  # of `settings`
WEIGHTS, REWARDS, SQUARES = range(3)  # of `sent` and `kept`
ROUNDS, EARNED = range(2)  # of `offered`


class RecoveringSoftmaxState(NamedTuple):
    """What came of rounds in which each arm was eligible: pulled or not, weighted by how unlikely that was."""

    settings: np.ndarray  # [gamma, half-life, tau, prior, the least propensity, whether scores are rates]
    pulls: np.ndarray
    eligible: np.ndarray  # int64 (K,)
    rest: np.ndarray  # float64 (K,): d
    sent: np.ndarray  # float64 (3, K): sums of w, w r, w^2 where it was pulled, w = 1 / p
    kept: np.ndarray  # float64 (3, K): the same where it was eligible and not pulled, w = 1 / (1 - p)
    offered: np.ndarray  # float64 (2, K): rounds in which it was eligible, and their rewards
    scores: np.ndarray  # float64 (K,): shrunk lifts
    chances: np.ndarray  # float64 (K,): working memory, exp(score / tau), 0 if not eligible


def select(state, t, word):
    """Draw an eligible arm from the softmax."""
    left, last = uniform(word, 0) * _weigh(state, state.chances), 0
    for arm in range(len(state.pulls)):
        if state.eligible[arm] == 1:
            left -= state.chances[arm]
            last = arm
            if left < 0.0:
                return arm
    return last


def probabilities(state, t, out):
    """Fill in the softmax."""
    _soften(state, out)


@helper
def _soften(state, out):
    """Write the probabilities."""
    total = _weigh(state, out)
    for arm in range(len(out)):
        out[arm] /= total


@helper
def _weigh(state, chances):
    """Write to `chances` what the probabilities are proportional to; return the sum."""
    settings, best, total = state.settings, -np.inf, 0.0
    for arm in range(len(chances)):
        chances[arm] = state.scores[arm]
        if settings[GAMMA] > 0.0:
            chances[arm] -= settings[GAMMA] * 0.5 ** (state.rest[arm] / settings[HALF_LIFE])
        if state.eligible[arm] == 1:
            best = max(best, chances[arm])
    for arm in range(len(chances)):
        chances[arm] = math.exp((chances[arm] - best) / settings[TAU]) if state.eligible[arm] == 1 else 0.0
        total += chances[arm]
    return total


def update(state, arm, reward):
    """Add a round to the sums of all arms that were eligible in it, and score them."""
    _soften(state, state.chances)  # nothing changed since `select`: it drew from these
    if state.eligible[arm] == 1:
        for other in range(len(state.pulls)):
            if state.eligible[other] == 1:
                chance = state.chances[other]
                sums = state.sent if other == arm else state.kept
                _add(sums, other, chance if other == arm else 1.0 - chance, reward, state.settings[LEAST])
                state.offered[ROUNDS, other] += 1.0
                state.offered[EARNED, other] += reward
                state.scores[other] = score(state, other)
    state.pulls[arm] += 1
    for other in range(len(state.rest)):
        state.rest[other] += 1.0
    state.rest[arm] = 1.0


@helper
def _add(sums, arm, chance, reward, least):
    """Add a reward that had this chance to be seen, unless that was too small."""
    if chance >= least:
        sums[WEIGHTS, arm] += 1.0 / chance
        sums[REWARDS, arm] += reward / chance
        sums[SQUARES, arm] += 1.0 / (chance * chance)


@helper
def score(state, arm):
    """Return (mu+ - mu-) / mu-; 0 while one of the two is not known."""
    prior, sent, kept = state.settings[PRIOR], state.sent[WEIGHTS, arm] > 0.0, state.kept[WEIGHTS, arm] > 0.0
    if not (sent or prior > 0.0):
        return 0.0
    mean = state.offered[EARNED, arm] / state.offered[ROUNDS, arm]
    plus = _shrunk(state.sent, arm, mean, prior)
    if state.settings[RATES] == 1.0:
        return plus
    if not (kept or prior > 0.0):
        return 0.0
    minus = _shrunk(state.kept, arm, mean, prior)
    return (plus - minus) / minus if minus > 0.0 else 0.0


@helper
def _shrunk(sums, arm, mean, prior):
    """Return the weighted mean, shrunk to another with Kish's effective sample size (sum of w)^2 / (sum of w^2)."""
    if sums[WEIGHTS, arm] == 0.0:
        return mean
    size = sums[WEIGHTS, arm] ** 2 / sums[SQUARES, arm]
    own = sums[REWARDS, arm] / sums[WEIGHTS, arm]
    return (own * size + mean * prior) / (size + prior)


@dataclass(frozen=True)
class RecoveringSoftmax(
    Policy,
    state=RecoveringSoftmaxState,
    select=select,
    update=update,
    probabilities=probabilities,
    randomised=True,
    sees=("eligible", "rest"),
    scratch=("chances",),
    shared_memory=True,
    rewards=(0.0, 1.0),
    made_for="arms that recover",
):
    """Draw an eligible arm with probability proportional to exp((lift - gamma 0.5^(d / half_life)) / tau).

    d is how long ago the arm was shown to whoever is next: `rest`, as the problem (or `Agent.see`) says, or else the
    rounds since its last pull. The lift of an arm is (mu+ - mu-) / mu-, from rounds in which it was eligible: mu+ is
    the mean reward where it was pulled, mu- where another was, each reward weighted by the inverse of its probability.
    Both are shrunk to the arm's plain mean mu over all these rounds, (n mu+ + prior mu) / (n + prior), n being Kish's
    effective sample size. Probabilities below `least` are left out.

    The rule and its numbers are those of the paper, as two summaries of it that agree give them; that the weighted
    means divide by the sum of weights is our reading. The paper scores once a day, and cuts old rounds off: this does
    neither. What it does for a round is some 4 K exponentials.

    With `rates`, an arm's score is mu+ instead of the lift: a naive rule, which prefers what is shown to those who
    come back anyway.

    References
    ----------
    Yancey, Settles (2020), "A sleeping, recovering bandit algorithm for optimizing recurring notifications".

    Examples
    --------
    >>> agent = RecoveringSoftmax(gamma=0.5, half_life=1, tau=0.1, prior=10).start(n_arms=3, seed=0)
    >>> for _ in range(200):
    ...     arm = agent.select()
    ...     agent.update(arm, [0.2, 0.5, 0.6][arm])
    >>> int(agent.pulls.argmin())
    0
    """

    gamma: float = parameter(0.017, minimum=0, doc="by how much a lift is less if the arm was shown a moment ago")
    half_life: float = parameter(15.0, above=0, doc="after what rest half of that is left")
    tau: float = parameter(0.0025, above=0, doc="how much worse an arm is that is drawn e times less often")
    prior: float = parameter(1e5, minimum=0, doc="how many rounds the plain mean counts as")
    least: float = parameter(0.005, minimum=1e-6, maximum=1, doc="probabilities below this are left out")
    rates: bool = parameter(False, choices=(False, True), doc="whether an arm's score is its mean reward, not its lift")

    def initial_state(self, n_arms: int) -> RecoveringSoftmaxState:
        """Return arms that nobody has seen."""
        numbers = self.gamma, self.half_life, self.tau, self.prior, self.least, self.rates
        return RecoveringSoftmaxState(
            settings=np.array(numbers, float),
            pulls=np.zeros(n_arms, np.int64),
            eligible=np.ones(n_arms, np.int64),
            rest=np.full(n_arms, np.inf),
            sent=np.zeros((3, n_arms)),
            kept=np.zeros((3, n_arms)),
            offered=np.zeros((2, n_arms)),
            scores=np.zeros(n_arms),
            chances=np.zeros(n_arms),
        )

    def check_state(self, state: RecoveringSoftmaxState) -> None:
        """Check what is eligible, rests and sums."""
        if not np.isin(state.eligible, (0, 1)).all() or not state.eligible.any() or state.rest.min() < 0:
            raise DamagedFile("its arms are not those of a round")
        sums = np.concatenate([state.sent, state.kept, state.offered, state.scores[None]])
        if not np.isfinite(sums).all() or sums[[0, 2, 3, 5, 6]].min() < 0:
            raise DamagedFile("its sums are not those of rewards")
