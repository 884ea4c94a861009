"""What to do: which policy to use and the code to paste, and what to do with each arm."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rotting.logs.arrays import Floats
from rotting.logs.worth.estimates import interval_text
from rotting.logs.worth.gain import GAUSSIAN_THOMPSON, KEEP, ORACLE, THOMPSON, Gain, compared_policies

if TYPE_CHECKING:
    from rotting.policies import Policy

SHOWN_NAMES = 20  # names of arms in the code to paste
# An arm is worth showing if it has a chance of this much to be worth this share of what exposures earn lately.
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
    best = max((row for row in gains if row.policy not in (KEEP, ORACLE)), key=lambda row: row.gain.point, default=None)
    if best is None:
        name = label = played_as = "FEWA" if subject.rotting else THOMPSON
        reason = "arms wear out" if subject.rotting else "no arm is seen to wear out, so an ordinary bandit will do"
    else:
        label, played_as = KEEP, best.policy
        name = THOMPSON if played_as == GAUSSIAN_THOMPSON else played_as
        gain = f"{interval_text(best.gain, subject.currency)} per 1000 exposures"
        kept = next(row.reward.point for row in gains if row.policy == KEEP)
        reason = f"the best of what was tried, {name}, might gain {gain}, or lose: this log promises nothing"
        if not subject.differ:
            reason = "equal arms differ as much by chance as these do"
        elif best.gain.low > WORTH_CHANGING * abs(kept):
            label, reason = name, f"of all that was tried it gains most, {gain}"
            if played_as != name:
                reason += f". The gains show {played_as} in its place: a pull there is the mean of {batch:,} rewards"
    policy = policies[name]
    return Recommendation(repr(policy), label, reason, _code(policy, subject), _commands(policy, subject), played_as)


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


def action_for(
    worn: bool, chance: float, lost: float, fresh_is_better: bool, differ: bool, going_on: bool = False
) -> Action:
    """Return what to do with an arm of which enough is known.

    Parameters
    ----------
    worn
        Whether it is called worn.
    chance
        How likely its next exposures are to be worth nearly as much as exposures are lately.
    lost
        The share of its first value that it has lost.
    fresh_is_better
        Whether a fresh arm is likely to be worth more.
    differ
        Whether arms differ by more than chance.
    going_on
        Whether the advice for all arms is to go on: then none is taken from an arm that is only somewhat worse.

    Examples
    --------
    >>> action_for(True, 0.02, 0.6, True, True).name, action_for(False, 0.02, 0.0, False, False).name
    ('replace', 'keep')
    """
    if worn and (chance < CHANCE or (lost >= 0.5 and fresh_is_better)):
        return Action(REPLACE, f"it has lost about {lost:.0%} of what it was worth: put a fresh one in its place")
    if worn:
        return Action(KEEP_IT, "it wears out, but is still worth showing")
    if chance >= CHANCE or not differ:
        return Action(KEEP_IT, "nothing speaks against it")
    if going_on:
        return Action(KEEP_IT, "it is worth less than others, but showing those instead is not sure to earn more")
    return Action(RETIRE, "it is worth clearly less than the others, and was from the beginning")


def chances(values: Floats, shown: Floats) -> Floats:
    """Return how likely each arm is to be worth nearly as much as exposures are, given values[draw, arm].

    Where nothing is shown lately, exposures are worth the mean of all arms.
    """
    mean = np.average(values, axis=1, weights=shown if shown.any() else None)[:, None]
    return (values >= np.where(mean > 0, WORTH_SHOWING * mean, mean)).mean(axis=0)
