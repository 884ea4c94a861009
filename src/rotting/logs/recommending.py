"""What to do: which policy to use and the code to paste, and what to do with each arm."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting.logs.estimates import Estimate
from rotting.logs.gain import KEEP, ORACLE, THOMPSON, Gain, compared_policies, thompson_name

if TYPE_CHECKING:
    from rotting.policies import Policy

SHOWN_NAMES = 20  # names of arms in the code to paste
# An arm is worth showing if it has a chance of this much to be worth this share of the best one.
WORTH_SHOWING, CHANCE = 0.8, 0.1
WORTH_CHANGING = 0.005  # a gain that may be less than this share of what is earned now is no reason to change
KEEP_IT, REST, REPLACE, RETIRE = "keep", "rest", "replace", "retire"


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """A policy for the arms of a log, or going on as before."""

    policy: str  # such as "FEWA(alpha=0.06, sigma=0.24)"
    label: str  # its name in sentences; "keep what you do" if no policy is promised to be better
    reason: str
    code: str  # to paste
    played_as: str  # the row of the gains that shows it, or stands for it; the reason says if it only stands for it


def recommend(
    arms: Sequence[str], sigma: float, binary: bool, rotting: bool, gains: Sequence[Gain], batch: int = 1
) -> Recommendation:
    """Return the first policy of the gains if it surely gains something, and "keep what you do" otherwise.

    Without gains (exposures counted per unit), the policy is the one whose assumptions the log supports.
    """
    scale = float(f"{sigma:.3g}")
    policies = compared_policies(scale, binary, 1)
    rows = [row for row in gains if row.policy not in (KEEP, ORACLE)]
    if not rows:
        label = "FEWA" if rotting else THOMPSON
        reason = "arms wear out" if rotting else "no arm is seen to wear out, so an ordinary bandit will do"
        return Recommendation(repr(policies[label]), label, reason, _code(policies[label], arms), label)
    best = max(rows, key=lambda row: row.gain.point)
    label = THOMPSON if best.policy == thompson_name(binary, batch) else best.policy
    policy = policies[label]
    point, low, high = (digits(value, 3) for value in (best.gain.point, best.gain.low, best.gain.high))
    gain = f"{point} ({low} to {high}) per 1000 exposures"
    kept = next(row.reward.point for row in gains if row.policy == KEEP)
    if best.gain.low > WORTH_CHANGING * abs(kept):
        reason = f"of all that was tried it gains most, {gain}"
        if best.policy != label:
            reason += f". The gains show {best.policy} in its place: a pull there is the mean of {batch:,} rewards"
        return Recommendation(repr(policy), label, reason, _code(policy, arms), best.policy)
    reason = f"the best of what was tried, {label}, might gain {gain}, or lose: this log promises nothing"
    return Recommendation(repr(policy), KEEP, reason, _code(policy, arms), best.policy)


def digits(value: float, count: int) -> str:
    """Return a number to so many significant digits; large ones in full, never as 1e+02.

    >>> digits(8.56, 2), digits(101.4, 2), digits(-1234.5, 2), digits(0.00123, 2), digits(0.0, 2)
    ('8.6', '100', '-1,200', '0.0012', '0')
    """
    rounded = float(f"{value:.{count}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10 ** (count - 1) else f"{rounded:.{count}g}"


def _code(policy: Policy, arms: Sequence[str]) -> str:
    """Return code that runs the policy on these arms, durably.

    >>> from rotting.policies import FEWA
    >>> print(_code(FEWA(sigma=0.25), ["red", "blue"]))
    from rotting import FEWA, Bandit
    <BLANKLINE>
    bandit = Bandit.open(
        "sqlite:///bandit.db", "my bandit", FEWA(alpha=0.06, sigma=0.25, delta0=1.0), arms=['red', 'blue']
    )
    choice = bandit.decide()  # choice.arm: what to show next
    bandit.reward(choice.id, 1.0)  # what it earned; may come later
    """
    named = repr(list(arms[:SHOWN_NAMES]))
    rest = f"  # and {len(arms) - SHOWN_NAMES:,} more" if len(arms) > SHOWN_NAMES else ""
    imports = ", ".join(sorted(["Bandit", type(policy).__name__], key=lambda name: (not name.isupper(), name)))
    return (
        f"from rotting import {imports}\n\n"
        f'bandit = Bandit.open(\n    "sqlite:///bandit.db", "my bandit", {policy!r}, arms={named}{rest}\n)\n'
        "choice = bandit.decide()  # choice.arm: what to show next\n"
        "bandit.reward(choice.id, 1.0)  # what it earned; may come later"
    )


@dataclasses.dataclass(frozen=True)
class Action:
    """What to do with one arm."""

    name: str  # "keep", "rest", "replace" or "retire"
    reason: str


def action_for(rotting: bool, recovering: bool, chance: float, lost: float, fresh_is_better: bool) -> Action:
    """Return what to do with an arm.

    Parameters
    ----------
    rotting, recovering
        Whether it wears out, and whether it is seen to come back.
    chance
        How likely it is to be worth nearly as much as the best arm, over its next exposures.
    lost
        The share of its first value that it has lost.
    fresh_is_better
        Whether a fresh arm is likely to be worth more.

    Examples
    --------
    >>> action_for(True, False, 0.02, 0.6, True).name, action_for(False, False, 0.5, 0.0, False).name
    ('replace', 'keep')
    """
    if rotting and recovering:
        return Action(REST, "it wears out and comes back: let it rest")
    if rotting and (chance < CHANCE or (lost >= 0.5 and fresh_is_better)):
        return Action(REPLACE, f"it has lost about {lost:.0%} of what it was worth: put a fresh one in its place")
    if chance < CHANCE:
        return Action(RETIRE, "it is worth clearly less than the best, and was from the beginning")
    if rotting:
        return Action(KEEP_IT, "it wears out, but is still worth showing")
    return Action(KEEP_IT, "nothing speaks against it")


def chances(values: np.ndarray) -> np.ndarray:
    """Return how likely each arm is to be worth nearly as much as the best, given values[draw, arm]."""
    best = values.max(axis=1, keepdims=True)
    return np.asarray((values >= np.where(best > 0, WORTH_SHOWING * best, best)).mean(axis=0))


def estimate(draws: np.ndarray) -> Estimate:
    """Return the mean and the 90 % interval of draws."""
    low, high = np.quantile(draws, (0.05, 0.95))
    return Estimate(float(draws.mean()), float(low), float(high))
