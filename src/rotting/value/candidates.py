"""What is to be evaluated: policies that play along, and fixed shares."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from rotting._core.checking import compile_errors_in_short
from rotting.errors import BadType, BadValue, KernelError
from rotting.logs.arrays import Floats
from rotting.policies import Policy
from rotting.policies._contract.policy import as_policy
from rotting.policies._contract.states import fresh_state
from rotting.policies._contract.suited import range_mismatches, warn
from rotting.value.along import Means, SharesState, Weighed, weigh
from rotting.value.logged import Logged, arm_number

# What may be evaluated: a policy or a text of one, or the share of each arm.
CandidateLike: TypeAlias = Policy | str | Mapping[str, float]
# Draws that tell the probabilities of a randomised policy: for a row, and for all rows and arms. Two are enough in
# many rows: they add variance to weights, and no bias.
MOST_DRAWS, FEWEST_DRAWS, ALL_DRAWS = 100, 2, 20_000_000
# How far shares may add up to something else than 1.
_ROUNDING = 1e-6


@dataclasses.dataclass(frozen=True)
class Candidate:
    """Something to evaluate: a policy, or shares of the arms that never change."""

    label: str
    policy: Policy | None = None
    shares: Floats | None = None

    @property
    def randomised(self) -> bool:
        """Whether what it chooses is left to chance."""
        return self.policy is None or self.policy.randomised

    def state(self, n_arms: int, pulls: int) -> Any:
        """Return a first state with room for so many pulls."""
        if self.policy is None:
            assert self.shares is not None
            return SharesState(np.zeros(n_arms, np.int64), self.shares)
        return self.policy.reserve(fresh_state(self.policy, n_arms), pulls)

    def draws(self, logged: Logged) -> int:
        """Return how many draws tell its probabilities in each row; 0 where they are known."""
        if self.policy is None or self.policy.tells_probabilities:
            return 0
        return max(FEWEST_DRAWS, min(MOST_DRAWS, ALL_DRAWS // (logged.rows * len(logged.arms))))

    def weigh(self, logged: Logged, key: np.uint64) -> Weighed:
        """Return what the rows of a log say of it."""
        n_arms = len(logged.arms)
        weighed = Weighed(*(np.zeros(logged.rows) for _ in Weighed._fields))
        means, chances = Means(np.zeros(n_arms), np.zeros(n_arms)), np.zeros(n_arms)
        state, replays = self.state(n_arms, len(logged.learnt.arms)), max(self.draws(logged) - 1, 0)
        with compile_errors_in_short(self.label):
            call = weigh.compiled_for(state)
            wrong = call(state, logged.learnt, logged.known, logged.arm, key, replays, means, chances, weighed)
        if wrong >= 0:
            raise KernelError(f"chose no arm that there is, in row {wrong + 1} of the log", owner=self.label)
        return weighed


def candidates_of(given: Sequence[CandidateLike] | Mapping[str, CandidateLike], logged: Logged) -> list[Candidate]:
    """Return what was given as candidates with labels of their own."""
    if isinstance(given, str | Policy) or not isinstance(given, Sequence | Mapping):
        hint = "give a list of them, or a dictionary with labels"
        raise BadType("are not several policies", name="policies", value=given, hint=hint)
    labelled = isinstance(given, Mapping)
    pairs = given.items() if isinstance(given, Mapping) else ((None, each) for each in given)
    found = [_candidate(label, each, logged) for label, each in pairs]
    labels = [each.label for each in found]
    if not found or len(set(labels)) < len(labels):
        problem = "holds nothing" if not found else "holds the same policy twice"
        raise BadValue(problem, name="policies", value=labels, expected="policies that differ")
    assert labelled or all(labels)
    return found


def _candidate(label: str | None, given: CandidateLike, logged: Logged) -> Candidate:
    if isinstance(given, Mapping):
        return Candidate(label or "given shares", shares=_shares(given, logged))
    policy = _told(as_policy(given), logged)
    warn(range_mismatches(policy, float(logged.reward.min()), float(logged.reward.max())))
    return Candidate(label or str(given), policy)


def _told(policy: Policy, logged: Logged) -> Policy:
    """Return a policy with what a simulation would tell it: how many rounds there are, and the scale of the noise."""
    if "problem" in policy.knows:
        problem = "knows the arms' true values, which no log holds"
        raise BadValue(problem, name="policy", value=policy, expected="a policy that learns")
    told: dict[str, Any] = {}
    if "horizon" in policy.knows and not getattr(policy, "horizon", 1):
        told["horizon"] = logged.rows
    name = policy.noise_parameter
    if name is not None and getattr(policy, name) is None:
        limits = policy.reward_limits() if policy.maps_rewards else None
        told[name] = logged.noise / (1.0 if limits is None else limits[1] - limits[0])
    return dataclasses.replace(policy, **told) if told else policy


def _shares(given: Mapping[str, float], logged: Logged) -> Floats:
    shares = np.zeros(len(logged.arms))
    for name, share in given.items():
        is_number = isinstance(share, int | float | np.integer | np.floating) and not isinstance(share, bool)
        if not is_number or not 0 <= share <= 1:
            raise BadValue("is not a share", name=f"policies[{name!r}]", value=share, expected="a number from 0 to 1")
        shares[arm_number(logged, str(name))] = share
    if abs(float(shares.sum()) - 1) > _ROUNDING:
        raise BadValue("are not shares of one whole", name="shares", value=float(shares.sum()), expected="a sum of 1")
    return np.asarray(shares / shares.sum())
