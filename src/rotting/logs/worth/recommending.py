"""What to do: which policy to use and the code to paste, and what to do with each arm."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting.logs.worth.estimates import Estimate, money
from rotting.logs.worth.gain import KEEP, ORACLE, THOMPSON, Gain, compared_policies, thompson_name

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
    code: str  # to paste into Python
    commands: str  # to paste into a shell: the same as a service
    played_as: str  # the row of the gains that shows it, or stands for it; the reason says if it only stands for it


@dataclasses.dataclass(frozen=True)
class Subject:
    """The log that a recommendation is for."""

    arms: Sequence[str]
    sigma: float
    binary: bool
    rotting: bool
    currency: str = ""
    path: str | None = None  # of a file with one row per exposure: a bandit can begin with what it says
    differ: bool = True  # arms differ, or wear out, by more than chance


def recommend(subject: Subject, gains: Sequence[Gain], batch: int = 1) -> Recommendation:
    """Return the first policy of the gains if it surely gains something, and "keep what you do" otherwise.

    Without gains (exposures counted per unit), the policy is the one whose assumptions the log supports.
    """
    policies = compared_policies(float(f"{subject.sigma:.3g}"), subject.binary, 1)

    def advise(label: str, policy: Policy, reason: str, played_as: str) -> Recommendation:
        return Recommendation(
            repr(policy), label, reason, _code(policy, subject), _commands(policy, subject), played_as
        )

    rows = [row for row in gains if row.policy not in (KEEP, ORACLE)]
    if not rows:
        label = "FEWA" if subject.rotting else THOMPSON
        reason = "arms wear out" if subject.rotting else "no arm is seen to wear out, so an ordinary bandit will do"
        return advise(label, policies[label], reason, label)
    best = max(rows, key=lambda row: row.gain.point)
    label = THOMPSON if best.policy == thompson_name(subject.binary, batch) else best.policy
    gain = f"{interval_text(best.gain, subject.currency)} per 1000 exposures"
    kept = next(row.reward.point for row in gains if row.policy == KEEP)
    if not subject.differ:
        return advise(KEEP, policies[label], "equal arms differ as much by chance as these do", best.policy)
    if best.gain.low > WORTH_CHANGING * abs(kept):
        reason = f"of all that was tried it gains most, {gain}"
        if best.policy != label:
            reason += f". The gains show {best.policy} in its place: a pull there is the mean of {batch:,} rewards"
        return advise(label, policies[label], reason, best.policy)
    reason = f"the best of what was tried, {label}, might gain {gain}, or lose: this log promises nothing"
    return advise(KEEP, policies[label], reason, best.policy)


def interval_text(value: Estimate, currency: str = "") -> str:
    """Return an estimate to three digits with its interval, in money if it is money.

    >>> interval_text(Estimate(12.345, -3.0, 2500.0), "$")
    '$12.3 (-$3 to $2,500)'
    """
    return value.written(lambda each: money(figures(each, 3), currency))


def figures(value: float, digits: int = 2) -> str:
    """Return a number to a few significant digits, large ones without an exponent.

    >>> figures(1191.0), figures(-0.0123), figures(29.0), figures(1191.0, 3), figures(0.0)
    ('1,200', '-0.012', '29', '1,190', '0')
    """
    short = f"{value:.{digits}g}"
    return f"{float(short):,.0f}" if abs(float(short)) >= 10**digits else short


def _code(policy: Policy, subject: Subject) -> str:
    """Return code that runs the policy on these arms, durably, beginning with what the log knows where it can.

    >>> from rotting.policies import FEWA
    >>> print(_code(FEWA(sigma=0.25), Subject(["red", "blue"], 0.25, True, True)))
    from rotting import FEWA, Bandit
    <BLANKLINE>
    bandit = Bandit.open(
        "sqlite:///bandit.db",
        "my bandit",
        FEWA(alpha=0.06, sigma=0.25, delta0=1.0),
        arms=[
            'red',
            'blue',
        ],
    )
    choice = bandit.decide()  # choice.arm: what to show next
    bandit.reward(choice.id, 1.0)  # what it earned; may come later
    """
    names = "".join(f"        {name!r},\n" for name in subject.arms[:SHOWN_NAMES])
    if len(subject.arms) > SHOWN_NAMES:
        names += f"        # and {len(subject.arms) - SHOWN_NAMES:,} more\n"
    begins = f"    arms=[\n{names}    ],\n"
    if subject.path is not None:
        begins = f"    warm_start={subject.path!r},  # its arms, and what they earned\n"
    imports = ", ".join(sorted(["Bandit", type(policy).__name__], key=lambda name: (not name.isupper(), name)))
    return (
        f"from rotting import {imports}\n\n"
        f'bandit = Bandit.open(\n    "sqlite:///bandit.db",\n    "my bandit",\n    {policy!r},\n{begins})\n'
        "choice = bandit.decide()  # choice.arm: what to show next\n"
        "bandit.reward(choice.id, 1.0)  # what it earned; may come later"
    )


def _commands(policy: Policy, subject: Subject) -> str:
    r"""Return commands that serve the policy over HTTP, durably.

    >>> from rotting.policies import FEWA
    >>> print(_commands(FEWA(sigma=0.25), Subject(["red", "it's"], 0.25, True, True, path="my log.csv")))
    rotting bandit init sqlite:///bandit.db 'my bandit' --policy 'FEWA(alpha=0.06, sigma=0.25, delta0=1.0)' \
      --warm-start 'my log.csv'
    rotting serve sqlite:///bandit.db
    """
    first = f"rotting bandit init sqlite:///bandit.db 'my bandit' --policy {shlex.quote(repr(policy))}"
    begins = [f"--arm {shlex.quote(name)}" for name in subject.arms[:SHOWN_NAMES]]
    if subject.path is not None:
        begins = [f"--warm-start {shlex.quote(subject.path)}"]
    elif len(subject.arms) > SHOWN_NAMES:
        begins.append(f"# --arm ... for {len(subject.arms) - SHOWN_NAMES:,} more")
    return " \\\n  ".join([first, *begins]) + "\nrotting serve sqlite:///bandit.db"


@dataclasses.dataclass(frozen=True)
class Action:
    """What to do with one arm."""

    name: str  # "keep", "rest", "replace" or "retire"
    reason: str


def action_for(worn: bool, chance: float, lost: float, fresh_is_better: bool, differ: bool) -> Action:
    """Return what to do with an arm of which enough is known.

    Parameters
    ----------
    worn
        Whether it is called worn.
    chance
        How likely it is to be worth nearly as much as the best arm, over its next exposures.
    lost
        The share of its first value that it has lost.
    fresh_is_better
        Whether a fresh arm is likely to be worth more.
    differ
        Whether arms differ by more than chance.

    Examples
    --------
    >>> action_for(True, 0.02, 0.6, True, True).name, action_for(False, 0.02, 0.0, False, False).name
    ('replace', 'keep')
    """
    if worn and (chance < CHANCE or (lost >= 0.5 and fresh_is_better)):
        return Action(REPLACE, f"it has lost about {lost:.0%} of what it was worth: put a fresh one in its place")
    if worn:
        return Action(KEEP_IT, "it wears out, but is still worth showing")
    if chance < CHANCE and differ:
        return Action(RETIRE, "it is worth clearly less than the best, and was from the beginning")
    return Action(KEEP_IT, "nothing speaks against it")


def action_per_unit(rotting: bool) -> Action:
    """Return what to do with an arm that users tire of, or do not: it is not worn for those who have not seen it."""
    if rotting:
        return Action(REST, "users tire of it: show each of them something else for a while")
    return Action(KEEP_IT, "nothing speaks against it")


def settled(action: Action, advice: Recommendation | None) -> Action:
    """Return the action that agrees with the advice for all arms together.

    Where no other way of sharing exposures is sure to gain, none is taken from an arm that is only somewhat worse.

    >>> settled(Action(RETIRE, "it is worse"), None).name
    'retire'
    """
    if action.name == RETIRE and advice is not None and advice.label == KEEP:
        reason = "it is worth less than the best, but showing others in its place is not sure to earn more"
        return Action(KEEP_IT, reason)
    return action


def chances(values: np.ndarray) -> np.ndarray:
    """Return how likely each arm is to be worth nearly as much as the best, given values[draw, arm]."""
    best = values.max(axis=1, keepdims=True)
    return np.asarray((values >= np.where(best > 0, WORTH_SHOWING * best, best)).mean(axis=0))


def estimate(draws: np.ndarray) -> Estimate:
    """Return the mean and the 90 % interval of draws."""
    return estimates(draws[:, None])[0]


def estimates(draws: np.ndarray) -> list[Estimate]:
    """Return the mean and the 90 % interval of each column of draws.

    >>> estimates(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))[0].point
    2.0
    """
    rows = np.ascontiguousarray(draws.T)
    low, high = np.quantile(rows, (0.05, 0.95), axis=1)
    points = rows.mean(axis=1)
    return [Estimate(*each) for each in zip(points.tolist(), low.tolist(), high.tolist(), strict=True)]
