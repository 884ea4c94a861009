"""Whether a policy is made for what it is played on: its rewards, their noise, and its kind of arms.

What a policy is made for stands in its class line (`rewards`, `noise`, `made_for`). A policy that does not say is
suited to everything; so is a problem whose noise does not say what it pays.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from rotting.errors import BadValue, PolicyMismatch
from rotting.problems.blocking import Blocking
from rotting.problems.candy_cane import CandyCane
from rotting.problems.push import Push
from rotting.problems.recovering import Recovering
from rotting.problems.restless import Restless
from rotting.problems.rewards import share_outside
from rotting.problems.satiation import Satiation
from rotting.problems.tally import Tally
from rotting.problems.trigger_graph import TriggerGraph

if TYPE_CHECKING:
    from rotting.policies._contract.policy import Policy
    from rotting.problems import Problem

# A share of rewards outside the range that is worth a word; means hardly move by fewer.
_FEW = 1e-3
# How far sigma may be from the scale of the noise. Confidence bounds hold with a probability whose exponent goes with
# its square. Below the first, less than half of the exponent is left. Too large a sigma loses no guarantee: windows
# must be longer with its square, 16 times as long at the second. The classic index of UCB1, sigma=1 on 0/1 rewards, is
# at 2.
_TOO_SMALL, _TOO_LARGE = 1 / 1.5, 4.0
# A range bounds the scale of the noise by its half, and often from far: users who gave a sigma may know better.
_SMALL_FOR_RANGE = 1 / 10


class Mismatch(NamedTuple):
    """One thing that a policy is not made for."""

    text: str
    parameters: tuple[str, ...]  # by which it is put right


def mismatches(policy: Policy, problem: Problem, horizon: int | None = None) -> list[Mismatch]:
    """Return what a policy is not made for on a problem, played for a horizon (default: the problem's own).

    >>> from rotting import FEWA, problems
    >>> [found.text for found in mismatches(FEWA(sigma=0.25), problems.ten_arm())]
    ['the noise of ten_arm() has scale 1; FEWA(alpha=0.06, sigma=0.25) takes it for 1/4 of that; give sigma=1, or ...']
    """
    found = [_rewards(policy, problem), _noise(policy, problem), _arms(policy, problem, horizon or problem.horizon)]
    return [each for each in found if each is not None]


def range_mismatches(policy: Policy, low: float, high: float) -> list[Mismatch]:
    """Return what a policy is not made for if all that is known of rewards is that they lie between two numbers."""
    found = []
    limits = policy.reward_limits()
    if limits is not None and not limits[0] <= low <= high <= limits[1]:
        text = f"{policy} takes rewards in [{limits[0]:g}, {limits[1]:g}]; they are from {low:g} to {high:g}"
        found.append(Mismatch(f"{text}; {_advice(policy, low, high)}", _ends(policy)))
    name, scale = _scale_taken(policy)
    most = (high - low) / 2
    if most > 0 and scale is not None and not _SMALL_FOR_RANGE <= scale / most <= _TOO_LARGE:  # 0: a single reward
        text = f"{policy} takes noise of scale {scale:g}; rewards from {low:g} to {high:g} have {most:g} at most; "
        found.append(Mismatch(f"{text}give {name}={most / _unit(policy):g}, or less", (name,)))
    return found


def warn(found: Iterable[Mismatch | UserWarning]) -> None:
    """Warn at the line, outside of the package, that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "rotting":
        frame, level = frame.f_back, level + 1
    for each in found:
        warnings.warn(PolicyMismatch(each.text) if isinstance(each, Mismatch) else each, stacklevel=level)


def told_scale(policy: Policy, problem: Problem) -> float:
    """Return the scale of a problem's noise for a policy that asks for it."""
    scale = problem.noise_scale
    if not math.isfinite(scale):
        text = f"cannot be told the scale of the noise of {problem}: {problem.noise_model} has none"
        raise BadValue(text, owner=str(policy), hint=f"give {policy.noise_parameter}")
    return scale / _unit(policy)


def _unit(policy: Policy) -> float:
    """Return the length of what the policy sees as 1."""
    limits = policy.reward_limits() if policy.maps_rewards else None
    return 1.0 if limits is None else limits[1] - limits[0]


def _scale_taken(policy: Policy) -> tuple[str, float | None]:
    """Return the parameter for the scale of the noise, and the scale that it amounts to; None if it is not given."""
    name = policy.noise_parameter or ""
    sigma = getattr(policy, name, None)
    return name, None if sigma is None else sigma * _unit(policy)


def _ends(policy: Policy) -> tuple[str, ...]:
    return tuple(end for end in policy.takes_rewards or () if isinstance(end, str))


def _advice(policy: Policy, low: float, high: float) -> str:
    ends = [f"{name}={_short(value)}" for name, value in zip(_ends(policy), (low, high), strict=False)]
    return f"give {' and '.join(ends)}" if ends else "map rewards to that range"


def _short(number: float) -> str:
    return f"{float(f'{number:.2g}'):g}"


def _rewards(policy: Policy, problem: Problem) -> Mismatch | None:
    limits = policy.reward_limits()
    share = 0.0 if limits is None else share_outside(problem, *limits)
    if limits is None or not share > _FEW or problem.reward_range is None:
        return None
    low, high = problem.reward_range
    return Mismatch(
        f"{policy} takes rewards in [{limits[0]:g}, {limits[1]:g}]; {problem} pays from about {_short(low)} to "
        f"{_short(high)}, and up to {_short(100 * share)} % of an arm's rewards lie outside; "
        f"{_advice(policy, low, high)}",
        _ends(policy),
    )


def _noise(policy: Policy, problem: Problem) -> Mismatch | None:
    scale, (name, taken) = problem.noise_scale, _scale_taken(policy)
    if taken is None or not 0 < scale < math.inf or _TOO_SMALL <= (ratio := taken / scale) <= _TOO_LARGE:
        return None
    how = "no noise" if ratio == 0 else f"1/{1 / ratio:.3g} of that" if ratio < 1 else f"{ratio:.3g} times that"
    return Mismatch(
        f"the noise of {problem} has scale {scale:g}; {policy} takes it for {how}; give "
        f"{name}={scale / _unit(policy):g}, or {name}=None to be told",
        (name,),
    )


def _arms(policy: Policy, problem: Problem, horizon: int) -> Mismatch | None:
    why = None if policy.made_for is None else KINDS[policy.made_for](problem, horizon)
    if why is None:
        return None
    return Mismatch(f"{policy} is made for {policy.made_for}; {problem} {why}", ())


def _not_rising(problem: Problem, horizon: int) -> str | None:
    if not problem.dynamics_model.rested:
        return f"has {type(problem.dynamics_model).__name__} dynamics"
    return _falling(problem)


def _not_rising_by_themselves(problem: Problem, horizon: int) -> str | None:
    return _without(Restless)(problem, horizon) or _falling(problem)


def _falling(problem: Problem) -> str | None:
    falling = [arm for arm, curve in enumerate(problem.curves) if not curve.is_nondecreasing()]
    return f"has arms that fall, such as arm {falling[0]}" if falling else None


def _not_many(problem: Problem, horizon: int) -> str | None:
    few = problem.n_arms**2 < horizon
    return f"has {problem.n_arms} for {horizon} rounds, less than the square root" if few else None


def _without(*kinds: type) -> Callable[[Any, int], str | None]:
    """Return the test for problems with dynamics of some kinds."""

    def missing(problem: Problem, horizon: int) -> str | None:
        dynamics = problem.dynamics_model
        return None if isinstance(dynamics, kinds) else f"has {type(dynamics).__name__} dynamics"

    return missing


# The kinds of problems that a rule can be made for alone: what a problem lacks of each (None: nothing). Only what a
# rule is blind without belongs here: a policy that merely has no guarantee elsewhere is a baseline there.
KINDS: dict[str, Callable[[Any, int], str | None]] = {
    "arms that rise": _not_rising,
    "many arms": _not_many,
    "arms that empty": _without(CandyCane),
    "arms that recover": _without(Recovering, Push),
    "arms that are blocked": _without(Blocking),
    "arms that satiate": _without(Satiation),
    "arms with a tally": _without(Tally),
    "arms that rise by themselves": _not_rising_by_themselves,
    "arms with a trigger graph": _without(TriggerGraph),
}
