"""The problems of the literature, by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from rotting._core.parsing import parse_call
from rotting._core.validation import LARGEST_WHOLE, finite_number, whole_number
from rotting.errors import BadType
from rotting.problems import field
from rotting.problems.curves import Constant, Curve, Drop, Power
from rotting.problems.drawn import Drawn
from rotting.problems.dynamics import Dynamics
from rotting.problems.field import exact
from rotting.problems.noise import Noise
from rotting.problems.problem import Problem

LEVINE_CURVES = tuple(Power(theta=theta, step=100) for theta in (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4))
"""The set Theta of Levine et al. (2017): the decays that their arms may follow."""

ProblemLike: TypeAlias = Problem | str
"""A problem, or a text that describes one: see `parse_problem`."""


def two_arm(L: float = 0.233, horizon: int = 10_000, sigma: float = 1.0) -> Problem:
    """Figure 1 of the paper: 0 against L/2, which falls to -L/2 after a quarter of the horizon.

    >>> two_arm(L=2.0, horizon=8).means(range(4))
    array([[ 0.,  0.,  0.,  0.],
           [ 1.,  1., -1., -1.]])
    """
    L = finite_number("L", L, minimum=0, owner="two_arm")
    horizon = whole_number("horizon", horizon, minimum=1, maximum=LARGEST_WHOLE, owner="two_arm")
    # "n < T / 4" of the paper, for any T.
    drop = Drop(before=L / 2, after=-L / 2, at=-(-horizon // 4))
    return _named(f"two_arm(L={exact(L)}, horizon={horizon}", (Constant(0.0), drop), sigma, 1.0, horizon)


def ten_arm(sigma: float = 1.0) -> Problem:
    """Figure 2 of the paper: one arm at 0, nine that fall from +Delta_i to -Delta_i after 1000 pulls.

    Delta_i = 0.001 * sqrt(10)^i for i = 0..8, from 0.001 to 10.
    """
    gaps = [0.001 * 10 ** (i / 2) for i in range(9)]
    falling = (Drop(before=gap, after=-gap, at=1000) for gap in gaps)
    return _named("ten_arm(", (Constant(0.0), *falling), sigma, 1.0, 25_000)


def stationary(means: Sequence[float] = (0.0, 0.14), sigma: float = 1.0) -> Problem:
    """Arms that never change (the paper's appendix: two arms, gap 0.14 or 1, T = 5000)."""
    if isinstance(means, str) or not isinstance(means, Iterable):
        raise BadType("is not a sequence of numbers, one per arm", owner="stationary", name="means", value=means)
    values = [finite_number("means", mean, owner="stationary") for mean in means]
    shown = ", ".join(map(exact, values))
    return _named(f"stationary([{shown}]", tuple(map(Constant, values)), sigma, 1.0, 5000)


def levine_two_arm(sigma: float = 0.2) -> Problem:
    """Levine et al. (2017), non-parametric: 0.5 against 1, which falls to 0.4 after 7500 pulls; T = 30 000."""
    curves = (Constant(0.5), Drop(before=1.0, after=0.4, at=7500))
    return _named("levine_two_arm(", curves, sigma, 0.2, 30_000)


def levine_ten_arm(sigma: float = 0.2) -> Problem:
    """Levine et al. (2017), parametric: ten arms (floor(n / 100) + 1)^-theta, T = 30 000.

    There theta is drawn from {0.1, 0.15, ..., 0.4} for each arm; here the ten are fixed, spread over that set.
    """
    thetas = (0.1, 0.1, 0.15, 0.2, 0.2, 0.25, 0.3, 0.3, 0.35, 0.4)
    curves = tuple(Power(theta=theta, step=100) for theta in thetas)
    return _named("levine_ten_arm(", curves, sigma, 0.2, 30_000)


def levine_drawn(largest: float = 0.0, sigma: float = math.sqrt(0.2)) -> Problem:
    """Levine et al. (2017), parametric, as they play it: each run draws theta from {0.1, 0.15, ..., 0.4} for each arm.

    Ten arms (floor(n / 100) + 1)^-theta, T = 30 000. With `largest` = 0.5 each run adds a constant from [0, 0.5] to
    each arm (their "asymptotically non-vanishing" case). The paper counts pulls from 1, so that its arms fall one pull
    earlier.
    """
    largest = finite_number("largest", largest, minimum=0, owner="levine_drawn")
    call = f"levine_drawn(largest={exact(largest)}" if largest else "levine_drawn("
    drawn = Drawn(LEVINE_CURVES, largest)
    return _named(call, (Constant(0.0),) * 10, sigma, math.sqrt(0.2), 30_000, drawn)


def _named(
    call: str,
    curves: tuple[Curve, ...],
    sigma: float,
    usual_sigma: float,
    horizon: int,
    dynamics: Dynamics | None = None,
) -> Problem:
    """Return the problem under the text that makes it; `call` is that text up to sigma."""
    problem = Problem(curves, sigma=sigma, horizon=horizon, dynamics=dynamics)
    if problem.sigma != usual_sigma:
        call += f"{'' if call.endswith('(') else ', '}sigma={exact(problem.sigma)}"
    return dataclasses.replace(problem, name=call + ")")


NAMED: dict[str, Callable[..., Problem]] = {
    function.__name__: function
    for function in (
        two_arm,
        ten_arm,
        stationary,
        levine_two_arm,
        levine_ten_arm,
        levine_drawn,
        field.candy_cane,
        field.boredom,
        field.recovering_logistic,
        field.pike_burke,
        field.push,
        field.yahoo,
        field.piecewise,
        field.many_arms,
        field.rising,
        field.creatives,
    )
}


def parse_problem(text: str) -> Problem:
    """Return the problem that a text describes: a named one, or any other as `repr(problem)` writes it.

    >>> parse_problem("two_arm(L=0.5, horizon=1000)").horizon
    1000
    >>> parse_problem("Problem([0.5, Drop(1, 0, 100)], sigma=0.1)").n_arms
    2
    """
    problem: Problem = parse_call(
        text, {**NAMED, "Problem": Problem}, "problem", {**Curve.known, **Dynamics.known, **Noise.known}
    )
    return problem


def as_problem(given: object) -> Problem:
    """Return the problem that was given, or that a text describes."""
    if isinstance(given, str):
        return parse_problem(given)
    if isinstance(given, Problem):
        return given
    hint = "rotting.problems has named ones"
    raise BadType("is not a rotting.Problem", name="problem", value=given, hint=hint)
