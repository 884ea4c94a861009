"""Choosing an arm: arms that rest, limits of exposures, the policy, the exploration floor, an experiment, the holdout.

They come in this order.

A choice is a function of the state, of the number of the decision's event and of what `Counts` holds, so that a replay
chooses the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rotting._core.randomness import stream_key
from rotting.bandit.core.events import NO_ARM, Event
from rotting.bandit.core.experiments import resting, share_of
from rotting.bandit.core.settings import limit_of
from rotting.bandit.core.state import BanditState
from rotting.bandit.errors import NoArms
from rotting.errors import quoted

# What a random stream is for (see `rotting._core.randomness`): the exploration floor, the holdout, an experiment.
EXPLORATION, HOLDOUT, EXPERIMENT = 3, 4, 5


class Pick(NamedTuple):
    """An arm that was chosen, with the reason and its probability (None: not known); `holdout` as in `Event`."""

    arm: int
    why: str
    probability: float | None
    holdout: int | None


# The probabilities of the arms that the policy may choose; None: not known without replays.
Chances = dict[int, float] | None


class Counts(NamedTuple):
    """What a choice depends on besides rewards: exposures in flight, decisions that limits count (by arm), the time."""

    in_flight: list[int]
    limited: list[int]
    at: float


def counts_at(state: BanditState, at: float) -> Counts:
    """Return what a choice at that time depends on besides rewards. The lists are those of the state."""
    period = state.settings.exposure_period
    if period is None:
        return Counts(state.in_flight, state.decided, at)
    limited = state.in_period if int(at // period) == state.period else [0] * len(state.names)
    return Counts(state.in_flight, limited, at)


def pick_again(state: BanditState, event: Event, replays: int = 0) -> Pick:
    """Return what is chosen for a decision of the log, from the state before it."""
    arms = state.available() if event.among is None else json.loads(event.among)
    return pick(state, event.seq, arms, counts_at(state, event.at), replays)


def pick(state: BanditState, seq: int, arms: Sequence[int], counts: Counts, replays: int = 0) -> Pick:
    """Choose among `arms` for the decision that will be event number `seq`.

    A probability that has no closed form is told with `replays` only: the policy's part in it is a share of so many
    draws with other random words and of the actual one, which is counted whether or not its arm was shown. With a floor
    or a holdout that may show any arm, weights made of it have no bias at all.
    """
    epsilon, share, experiment = state.settings.epsilon, state.settings.holdout, state.settings.experiment
    forced: int | None = None
    if rest := resting(experiment, counts.at):
        arms = [arm for arm in arms if state.names[arm] not in rest] or arms
    if state.settings.limits_exposures:
        arms = _below_cap(state, arms, counts.limited)
        forced = _below_minimum(state, arms, counts.limited)
    if forced is None:
        arm, why, chances = _policy_choice(state, seq, arms, counts.in_flight, replays)
    else:
        arm, why, chances = forced, "below its minimum of exposures", {forced: 1.0}
    chosen, held_out, control = arm, None, _control(state, arms)
    if epsilon > 0.0:
        # The floor: with probability epsilon, any arm.
        draw, place = _draws(state, EXPLORATION, seq)
        if draw < epsilon:
            chosen, why = arms[place % len(arms)], f"explored: epsilon={epsilon:g}"
    tried = share_of(experiment, counts.at)
    among = _tried_arms(state, arms) if tried > 0.0 else []
    if among:
        # The experiment: with its share, any of its arms.
        draw, place = _draws(state, EXPERIMENT, seq)
        if draw < tried:
            chosen, why = among[place % len(among)], f"experiment: {tried:g} of decisions"
    if share > 0.0 and control is not None:
        # The holdout: with this share, the control arm, or any arm.
        draw, place = _draws(state, HOLDOUT, seq)
        held_out = int(draw < share)
        if held_out:
            chosen, why = arms[place % len(arms)] if control == NO_ARM else control, f"holdout: {share:g} of decisions"
    if among and tried == 1.0:
        chances = chances or {}  # of no weight
    if chances is None:
        return Pick(chosen, why, None, held_out)
    probability = epsilon / len(arms) + (1.0 - epsilon) * chances.get(chosen, 0.0)
    if among:
        probability = tried * (chosen in among) / len(among) + (1.0 - tried) * probability
    if held_out is not None:
        of_holdout = 1.0 / len(arms) if control == NO_ARM else float(chosen == control)
        probability = share * of_holdout + (1.0 - share) * probability
    return Pick(chosen, why, probability, held_out)


def _draws(state: BanditState, use: int, seq: int) -> tuple[float, int]:
    """Return a number from 0 to 1 and another random number, for a decision."""
    draw, place = (int(stream_key(state.settings.seed, use, seq, which)) for which in (0, 1))
    return (draw >> 11) * 2.0**-53, place


def _tried_arms(state: BanditState, arms: Sequence[int]) -> Sequence[int]:
    """Return the arms that the experiment shows, of those that may be chosen."""
    experiment = state.settings.experiment
    names = None if experiment is None else experiment["arms"]
    return arms if names is None else [arm for arm in arms if state.names[arm] in names]


def _control(state: BanditState, arms: Sequence[int]) -> int | None:
    """Return the arm that the holdout shows; NO_ARM for any, None if it is not to be had now."""
    if state.settings.control is None:
        return NO_ARM
    arm = state.index[state.settings.control]
    return arm if arm in arms else None


def _below_cap(state: BanditState, arms: Sequence[int], decided: Sequence[int]) -> Sequence[int]:
    """Return the arms that have not reached their cap."""
    cap = state.settings.max_exposures
    if cap is None:
        return arms
    limits = [limit_of(cap, state.names[arm]) for arm in arms]
    left = [arm for arm, limit in zip(arms, limits, strict=True) if limit is None or decided[arm] < limit]
    if not left:
        raise NoArms(
            f"every arm of bandit {quoted(state.bandit_name)} that may be chosen has reached its cap",
            hint="raise {max_exposures}, add an arm, or wait for the next {exposure_period}",
        )
    return left


def _below_minimum(state: BanditState, arms: Sequence[int], decided: Sequence[int]) -> int | None:
    """Return the arm with the fewest decisions of those that have fewer than their minimum."""
    minimum = state.settings.min_exposures
    if not minimum:
        return None
    wanting = [arm for arm in arms if decided[arm] < (limit_of(minimum, state.names[arm]) or 0)]
    return min(wanting, key=lambda arm: (decided[arm], arm), default=None)


def _policy_choice(
    state: BanditState, seq: int, arms: Sequence[int], in_flight: Sequence[int], replays: int
) -> tuple[int, str, Chances]:
    """Return what the policy chooses among `arms`, why, and the probabilities.

    Rewards are all it learns from. Exposures in flight count as pulls in two places: an arm whose first reward is
    still awaited is neither new nor filtered out, and of the arms that a filter leaves the one with the fewest
    pulls, in flight or not, is chosen.
    """
    waiting = [] if all(state.received) else [arm for arm in arms if state.received[arm] == 0 and in_flight[arm] > 0]
    ready = tuple(arm for arm in arms if arm not in waiting) if waiting else tuple(arms)
    if not ready:
        arm = _least_exposed(state, waiting, in_flight)
        return arm, "every arm waits for its first reward: the least shown", {arm: 1.0}
    chosen, left = state.select(seq, ready)
    if left is None:
        why = "never tried" if state.received[chosen] == 0 else f"the choice of {type(state.policy).__name__}"
        return chosen, why, state.chances(seq, ready, chosen, replays)
    arm, among = _least_left(state, left, waiting, in_flight)
    why = (
        "the only arm that passes the filter" if among == 1 else f"the least shown of {among} arms that pass the filter"
    )
    if not state.policy.randomised or not replays:
        return arm, why, None if state.policy.randomised else {arm: 1.0}
    again = (state.select(seq, ready, replay)[1] or [] for replay in range(replays))
    shares = Counter([arm, *(_least_left(state, each, waiting, in_flight)[0] for each in again)])
    return arm, why, {each: number / (replays + 1) for each, number in shares.items()}


def _least_left(state: BanditState, left: list[int], waiting: list[int], in_flight: Sequence[int]) -> tuple[int, int]:
    """Return which of the arms that a filter leaves, and of those that wait, is chosen, and how many they are."""
    left = sorted(left + waiting) if waiting else left
    return _least_exposed(state, left, in_flight), len(left)


def _least_exposed(state: BanditState, arms: Sequence[int], in_flight: Sequence[int]) -> int:
    """Return the arm with the fewest exposures, the first of them on ties."""
    exposures = [state.received[arm] + in_flight[arm] for arm in arms]
    return arms[exposures.index(min(exposures))]
