"""What speaks against an answer: probabilities that are not those of the arms, support that ends, arms that recover."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from rotting.errors import quoted
from rotting.logs import LogError
from rotting.logs.arrays import Floats
from rotting.value.logged import Logged
from rotting.value.weighing import Estimators, Support, effective

# A finding that chance gives in less than one of so many logs counts.
ODDS = 10_000
# Effective rows below which nothing is told. A studentised mean of weights like these leaves its 5 % on one side by at
# most 0.11 x skewness (Edgeworth's first term), and skewness is at most 1 / sqrt(effective rows): 1.6 points.
FEWEST_EFFECTIVE = 50
# The same for amounts, whose own skewness counts: 4 points. Rates have intervals that follow their skewness.
MOST_SKEWED = 0.36
# The share of a policy's decisions that may fall where the log could show nothing else.
MOST_CLOSED = 0.001


def check_probabilities(logged: Logged) -> None:
    """Refuse probabilities that cannot be those with which these arms were shown.

    Of the rows on which an arm was on offer, the sum of 1 / p over those that showed it is the number, but for chance.
    So no arm can have more than there are rows.
    """
    if (logged.probability > 1 - 1e-9).all():
        problem = "every arm was shown with probability 1: the log cannot tell what another would have earned"
        raise LogError(problem, owner=logged.name, hint="show a share at random, such as a bandit's epsilon or holdout")
    counts = np.bincount(logged.arm, 1 / logged.probability, len(logged.arms))
    spread = np.bincount(logged.arm, (1 - logged.probability) / logged.probability**2, len(logged.arms))
    heavy = np.bincount(logged.arm, 1 / logged.probability**2, len(logged.arms))
    # Few rows tell neither.
    told = counts**2 >= FEWEST_EFFECTIVE * heavy
    excess = np.where(told, (counts - logged.rows) / np.sqrt(np.maximum(spread, 1e-300)), 0.0)
    worst = int(np.argmax(excess))
    if len(logged.arms) > 1 and excess[worst] > -float(ndtri(1 / ODDS / len(logged.arms))):
        problem = (
            f"does not hold the probabilities of the arms that were shown: {quoted(logged.arms[worst])} was shown "
            f"{int((logged.arm == worst).sum()):,} times, with probabilities for {_expected(logged, worst):,.0f}"
        )
        hint = "the column must have the probability of the row's own arm when it was chosen; {probability} names it"
        raise LogError(problem, owner=logged.name, hint=hint)


def _expected(logged: Logged, arm: int) -> float:
    """Return how often an arm would be shown with the mean probability that it has where it is shown."""
    own = logged.probability[logged.arm == arm]
    return logged.rows * len(own) / float((1 / own).sum())


def why_not(support: Support, found: Estimators, binary: bool) -> str:
    """Return why the value of a policy's next decision is not told; nothing if it is."""
    if support.closed > MOST_CLOSED:
        return f"{support.closed:.1%} of its decisions fall where the log could only show another arm"
    if support.effective < FEWEST_EFFECTIVE:
        return f"the log has {support.effective:.0f} effective rows for it, less than {FEWEST_EFFECTIVE}"
    away = (support.mean_weight - 1) / max(support.mean_weight_error, 1e-12)
    if abs(away) > -float(ndtri(0.5 / ODDS)):
        cause = "it wants arms that were not always on offer" if away < 0 else "the probabilities are too small"
        return f"its weights have mean {support.mean_weight:.2f} and not 1: {cause}"
    if not binary and abs(found.skewness) > MOST_SKEWED:
        return f"a few rewards decide (skewness {found.skewness:.2f}, more than {MOST_SKEWED})"
    return ""


def why_not_run(logged: Logged, guess: Floats) -> str:
    """Return why running a policy is not told for this log; nothing if it is.

    Where rewards depend on an arm's own exposures or on the calendar alone, how long it has just rested does not
    matter. That is looked at: residuals against the logarithm of the rest.
    """
    if not logged.whole:
        return "the log has rewards that belong to none of its rows"
    order = np.argsort(logged.arm, kind="stable")
    gaps = np.diff(order, prepend=-1).astype(float)
    same = np.diff(logged.arm[order], prepend=-1) == 0
    rests = np.zeros(logged.rows)
    rests[order[same]] = np.log(gaps[same])
    counts = np.bincount(logged.arm[order[same]], minlength=len(logged.arms))
    means = np.bincount(logged.arm[order[same]], rests[order[same]], len(logged.arms)) / np.maximum(counts, 1)
    rests[order[same]] -= means[logged.arm[order[same]]]
    terms = rests * (logged.reward - guess)
    size = math.sqrt(float(terms @ terms))
    if effective(np.abs(terms)) >= FEWEST_EFFECTIVE and abs(float(terms.sum())) > -float(ndtri(0.5 / ODDS)) * size:
        change = "more" if terms.sum() > 0 else "less"
        return f"arms earn {change} after a rest: neither their exposures nor the calendar decide alone"
    return ""
