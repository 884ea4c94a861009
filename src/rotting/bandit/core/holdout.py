"""The holdout: a share of decisions that the policy does not take, and what the policy earns more than they do."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

# The two groups: decisions of the policy, and of the holdout. Events have these numbers in `holdout`.
POLICY, HOLDOUT = 0, 1
FEWEST_REWARDS = 30  # per group, for an interval: below, the normal approximation is none
NORMAL_QUANTILE = 1.959963984540054  # of 97.5 %


@dataclasses.dataclass
class Moments:
    """Number, mean and sum of squared deviations of some rewards (Welford's recurrence).

    >>> moments = Moments()
    >>> for reward in [1.0, 2.0, 6.0]:
    ...     moments.add(reward)
    >>> moments
    Moments(number=3, mean=3.0, squares=14.0)
    """

    number: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Add one reward."""
        self.number += 1
        difference = value - self.mean
        self.mean += difference / self.number
        self.squares += difference * (value - self.mean)


@dataclasses.dataclass
class HoldoutTally:
    """Decisions and rewards of the two groups since the holdout was last changed, at event `since`.

    Decisions before that are left out: with another share, the groups would be compared over different times.
    """

    since: int = 0
    decisions: list[int] = dataclasses.field(default_factory=lambda: [0, 0])
    rewards: list[Moments] = dataclasses.field(default_factory=lambda: [Moments(), Moments()])

    def decided(self, group: int) -> None:
        """Count a decision."""
        self.decisions[group] += 1

    def rewarded(self, decision: int, group: int, value: float) -> None:
        """Add the reward of a decision."""
        if decision > self.since:
            self.rewards[group].add(value)

    def to_list(self) -> list[object]:
        """Return plain data."""
        return [self.since, self.decisions, [dataclasses.astuple(moments) for moments in self.rewards]]

    @classmethod
    def from_list(cls, content: Sequence[object]) -> HoldoutTally:
        """Return what `to_list` described; ValueError if `content` describes none."""
        match content:
            case [
                int(since),
                [int(), int()] as decisions,
                [[int(), float(), float()], [int(), float(), float()]] as rewards,
            ]:
                moments = [Moments(*each) for each in rewards]  # type: ignore[arg-type]
                if all(each.number >= 0 and each.squares >= 0.0 and math.isfinite(each.mean) for each in moments):
                    return cls(since, list(decisions), moments)
        raise ValueError("not a tally of a holdout")


@dataclasses.dataclass(frozen=True)
class HoldoutReport:
    """What the policy earns more than the holdout, per decision with a reward.

    `decisions`, `rewards` and `means` are those of the policy and of the holdout since event `since`, when the holdout
    was last changed. `lift` is the difference of the means, `low` and `high` are its 95 % interval (normal
    approximation; None below 30 rewards in a group), `relative_lift` is the lift over the holdout's mean.
    """

    share: float
    control: str | None
    since: int
    decisions: tuple[int, int]
    rewards: tuple[int, int]
    means: tuple[float | None, float | None]
    lift: float | None
    low: float | None
    high: float | None
    relative_lift: float | None


def holdout_report(share: float, control: str | None, tally: HoldoutTally) -> HoldoutReport:
    """Return the report on a holdout of this share."""
    policy, holdout = tally.rewards
    means = (policy.mean if policy.number else None, holdout.mean if holdout.number else None)
    lift = None if None in means else policy.mean - holdout.mean
    error = _standard_error(policy, holdout)
    return HoldoutReport(
        share=share,
        control=control,
        since=tally.since,
        decisions=(tally.decisions[POLICY], tally.decisions[HOLDOUT]),
        rewards=(policy.number, holdout.number),
        means=means,
        lift=lift,
        low=None if lift is None or error is None else lift - NORMAL_QUANTILE * error,
        high=None if lift is None or error is None else lift + NORMAL_QUANTILE * error,
        relative_lift=None if lift is None or holdout.mean <= 0.0 else lift / holdout.mean,
    )


def _standard_error(policy: Moments, holdout: Moments) -> float | None:
    """Return the standard error of the difference of two means, None for too few rewards.

    No group's variance is taken for less than that of both together: thirty decisions without a click have none of
    their own, and would be taken for certain.
    """
    groups = (policy, holdout)
    if min(group.number for group in groups) < FEWEST_REWARDS:
        return None
    number = policy.number + holdout.number
    between = policy.number * holdout.number / number * (policy.mean - holdout.mean) ** 2
    total = (policy.squares + holdout.squares + between) / (number - 1)
    return math.sqrt(sum(max(group.squares / (group.number - 1), total) / group.number for group in groups))
