"""RGP-UCB: a Gaussian process over how long each arm has rested, and an optimistic plan of d rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting._core.compiling import helper
from rotting._core.parameters import parameter
from rotting.errors import BadValue, DamagedFile
from rotting.policies._contract.policy import Policy, StateTuple
from rotting.policies._contract.told import sigma_parameter

_MOST_SEQUENCES = 1 << 20
VARIANCE, ADDED = range(2)  # of `settings`
Z_MAX, ROUNDS, PLANNED = range(3)  # of `counts`
NOBODY = -1


class RGPUCBState(NamedTuple):
    """What is believed of each arm at each rest, and the plan."""

    settings: np.ndarray  # [variance of the noise, what is added to variances of means]
    pulls: np.ndarray
    numbers: np.ndarray  # int64 (K,): 0, 1, 2, ...
    counts: np.ndarray  # int64 [z_max, rounds so far, rounds so far when the plan was made]
    last: np.ndarray  # int64 (K,): the round of the last pull
    mean: np.ndarray  # float64 (K, z_max + 1)
    covariance: np.ndarray  # float64 (K, z_max + 1, z_max + 1)
    plan: np.ndarray  # int64 (d,): the arms to pull, by their numbers
    trial: np.ndarray  # int64 (2, d): working memory, places of arms and their rests


def select(state, t, word):
    """Return the next arm of the plan; make one when the last is over. Arms never pulled come first."""
    for arm in range(len(state.pulls)):
        if state.pulls[arm] == 0:
            return arm
    place = planned(state)
    return _plan(state, t) if place == NOBODY else place


@helper
def planned(state):
    """Return the place of the next arm of the plan, if it still holds and has one that is there."""
    step = state.counts[ROUNDS] - state.counts[PLANNED]
    if len(state.plan) == 1 or state.counts[PLANNED] < 0 or step >= len(state.plan):
        return NOBODY
    for place in range(len(state.numbers)):
        if state.numbers[place] == state.plan[step]:
            return place
    return NOBODY


@helper
def rest_of(state, arm, later):
    """Return z of an arm so many rounds from now, if it is not pulled before."""
    return min(state.counts[ROUNDS] + later - state.last[arm], state.counts[Z_MAX])


@helper
def keep_plan(state, length):
    """Keep the sequence in `trial` as the plan."""
    for step in range(length):
        state.plan[step] = state.numbers[state.trial[0, step]]
    for step in range(length, len(state.plan)):
        state.plan[step] = NOBODY
    state.counts[PLANNED] = state.counts[ROUNDS]


@helper
def write_sequence(state, number, length):
    """Write sequence number 0, 1, ... of so many arms and their rests to `trial`; say whether no arm comes twice."""
    arms, rests = state.trial[0], state.trial[1]
    once = True
    for step in range(length):
        arm = number % len(state.pulls)
        number //= len(state.pulls)
        arms[step], rests[step] = arm, rest_of(state, arm, step)
        for before in range(step):
            if arms[before] == arm:
                rests[step], once = min(step - before - 1, state.counts[Z_MAX]), False
    return once


@helper
def _plan(state, t):
    """Keep the sequence of d different arms with the largest upper confidence bound of its total; return its first."""
    length = min(len(state.plan), len(state.pulls))
    sequences = len(state.pulls) ** length
    width = math.sqrt(
        2.0 * (math.log(float(sequences)) + math.log(float(state.counts[Z_MAX])) + 2.0 * math.log(t + length - 1.0))
    )
    best, best_bound = 0, -np.inf
    for number in range(sequences):
        if write_sequence(state, number, length):
            total, variance = 0.0, 0.0
            for step in range(length):
                arm, z = state.trial[0, step], state.trial[1, step]
                total += state.mean[arm, z]
                variance += max(state.covariance[arm, z, z], 0.0) + state.settings[ADDED]
            bound = total + width * math.sqrt(variance)
            if bound > best_bound:
                best, best_bound = number, bound
    write_sequence(state, best, length)
    keep_plan(state, length)
    return state.trial[0, 0]


def update(state, arm, reward):
    """Condition the arm's Gaussian process on a reward at its rest."""
    z = rest_of(state, arm, 0)
    mean, covariance = state.mean[arm], state.covariance[arm]
    scale = max(covariance[z, z], 0.0) + state.settings[VARIANCE]
    surprise = (reward - mean[z]) / scale
    for other in range(len(mean)):
        mean[other] += covariance[z, other] * surprise
    for other in range(len(mean)):
        if other != z:
            gain = covariance[z, other] / scale
            for third in range(len(mean)):
                covariance[other, third] -= gain * covariance[z, third]
    kept = state.settings[VARIANCE] / scale
    for other in range(len(mean)):
        covariance[z, other] *= kept
    state.pulls[arm] += 1
    state.counts[ROUNDS] += 1
    state.last[arm] = state.counts[ROUNDS]


@dataclass(frozen=True)
class RGPUCB(
    Policy,
    state=RGPUCBState,
    select=select,
    update=update,
    shared_memory=True,
    scratch=("trial",),
    noise="sigma",
    made_for="arms that recover",
):
    """Believe in a smooth curve over each arm's rest z; every d rounds, plan the d arms that may earn most together.

    The prior of each curve is a Gaussian process with covariance scale^2 exp(-(z - z')^2 / (2 lengthscale^2)). A
    sequence of d different arms has the bound (sum of means) + sqrt(2 ln(K^d z_max (t + d - 1)^2) (sum of variances)),
    each at the rest that the arm will have then; z stops at `z_max`, and arms begin at `first_rest`. All arms are
    pulled once first.

    With `noisy`, variances are those of rewards, the noise's included: so does the authors' program, and their results
    are those of it. The paper's rule has the variances of means.

    References
    ----------
    Pike-Burke, Grunewalder (2019), "Recovering bandits".

    Examples
    --------
    >>> from rotting import simulate
    >>> from rotting.problems import pike_burke
    >>> result = simulate(RGPUCB(first_rest=0, noisy=True, sigma=0.1), pike_burke(), runs=1, progress=False)
    >>> earned = float((result.oracle_reward - result.regret).isel(round=-1).mean())
    >>> 450 < earned < 475
    True
    """

    d: int = parameter(1, minimum=1, doc="how many rounds are planned at a time")
    z_max: int = parameter(30, minimum=1, maximum=1000, doc="after so many rounds of rest nothing changes any more")
    first_rest: int | None = parameter(None, optional=True, minimum=0, doc="z in the first round; none: z_max")
    lengthscale: float = parameter(5.0, above=0, doc="over how many rounds of rest a curve changes")
    scale: float = parameter(1.0, above=0, doc="how far from 0 curves are (the prior's standard deviation)")
    noisy: bool = parameter(False, choices=(False, True), doc="whether variances include the noise's")
    sigma: float | None = sigma_parameter()

    def initial_state(self, n_arms: int) -> StateTuple:
        """Return the prior."""
        if n_arms ** min(self.d, n_arms) > _MOST_SEQUENCES:
            problem = f"makes {n_arms ** min(self.d, n_arms):,} sequences of {n_arms} arms"
            owner = type(self).__name__
            raise BadValue(problem, owner=owner, name="d", value=self.d, expected="at most 2^20 of them")
        rests = np.arange(self.z_max + 1.0)
        prior = self.scale**2 * np.exp(-((rests[:, None] - rests) ** 2) / (2 * self.lengthscale**2))
        variance = self.told("sigma") ** 2
        first = self.z_max if self.first_rest is None else min(self.first_rest, self.z_max)
        return RGPUCBState(
            settings=np.array([max(variance, 1e-12 * self.scale**2), variance if self.noisy else 0.0]),
            pulls=np.zeros(n_arms, np.int64),
            numbers=np.arange(n_arms),
            counts=np.array([self.z_max, 0, -1], np.int64),
            last=np.full(n_arms, -first, np.int64),
            mean=np.zeros((n_arms, self.z_max + 1)),
            covariance=np.tile(prior, (n_arms, 1, 1)),
            plan=np.full(self.d, NOBODY, np.int64),
            trial=np.zeros((2, self.d), np.int64),
        )

    def check_state(self, state: RGPUCBState) -> None:
        """Check rests and the plan, and that beliefs are numbers."""
        n_arms, rounds = len(state.pulls), int(state.pulls.sum())
        z_max, counted, made = state.counts.tolist()
        if z_max != self.z_max or counted != rounds or not -1 <= made <= rounds:
            raise DamagedFile("its counts are not those of its pulls")
        if not np.array_equal(state.numbers, np.arange(n_arms)) or np.any(state.last > rounds):
            raise DamagedFile("its arms are not those that it has pulled")
        if state.last.min() < -self.z_max or not NOBODY <= state.plan.min() <= state.plan.max() < n_arms:
            raise DamagedFile("its plan has arms that do not exist")
        if not np.isfinite(state.mean).all() or not np.isfinite(state.covariance).all():
            raise DamagedFile("its beliefs are not numbers")
