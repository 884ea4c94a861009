"""Named problems of the settings around the paper: arms that recover, bore, rise, change, or are too many."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rotting._core.validation import LARGEST_WHOLE, finite_number, whole_number
from rotting.errors import BadValue
from rotting.problems.boredom import Boredom
from rotting.problems.candy_cane import CandyCane
from rotting.problems.curve import Curve
from rotting.problems.curves import Constant, Drops, Exponential, Growth, Sigmoid, Table
from rotting.problems.levels import PIECEWISE, PUSH_LIFTS, PUSH_SHARES, YAHOO, Levels
from rotting.problems.many_arms import ManyArms
from rotting.problems.noise import Noise
from rotting.problems.polynomial import Polynomial
from rotting.problems.problem import Problem
from rotting.problems.push import Push
from rotting.problems.recovering import Recovering
from rotting.problems.rising import Rising
from rotting.problems.skewed_noise import Binomial
from rotting.problems.trigger_graph import TriggerGraph


def candy_cane(rule: str = "kaggle", n_arms: int = 100, horizon: int = 2000) -> Problem:
    """Santa's vending machines (Kaggle, 2020): each run draws their levels, each pull takes 3 % of one.

    With Kaggle's rule the oracle collects about 916 candy canes in 2000 rounds; pulling all in turn 762 in expectation,
    and pulling at random 754.
    `rotting.problems.CandyCaneContest` is the contest of two players.

    >>> candy_cane().n_arms
    100
    """
    arms, rounds = _whole("candy_cane", n_arms=n_arms, horizon=horizon)
    call = _call("candy_cane", {"rule": (rule, "kaggle"), "n_arms": (arms, 100), "horizon": (rounds, 2000)})
    curves = (Constant(0.0),) * arms
    return Problem(curves, noise="bernoulli", dynamics=CandyCane(rule), name=call, horizon=rounds)


_GENRES = (  # Action, Comedy, Thriller and a bad one, as in the paper; m = 3
    (3.4, *(3 * c for c in (0.08, -0.40, 0.40, -0.15, 0.01))),
    (3.6, *(3 * c for c in (0.22, -1.16, 1.20, -0.45, 0.05))),
    (3.8, *(3 * c for c in (0.20, -0.95, 1.04, -0.54, 0.10))),
    (2.9, -0.1, -0.1, -0.01, -0.01, -0.01),
)
_BOREDOM = {
    1: (8, ((1.0, -0.3), (2 / 3, -0.4))),
    2: (8, ((1.0, -2.0), (0.5, -0.01))),
    3: (5, _GENRES),
}


def boredom(instance: int = 3, sigma: float = 0.1, horizon: int = 20_000) -> Problem:
    """Warlop, Lazaric, Mary (2018): two arms that bore (1), one that bores and one that does not (2), four genres (3).

    >>> round(boredom(3).cycle().value, 6), round(boredom(3).cycle("greedy").value, 6)
    (3.57214, 3.499025)
    """
    number, rounds = _whole("boredom", instance=instance, horizon=horizon)
    if number not in _BOREDOM:
        raise BadValue(owner="boredom", name="instance", value=instance, expected="1, 2 or 3")
    window, coefficients = _BOREDOM[number]
    scale = finite_number("sigma", sigma, minimum=0, owner="boredom")
    call = _call("boredom", {"instance": (number, None), "sigma": (scale, 0.1), "horizon": (rounds, 20_000)})
    curves = tuple(map(Polynomial, coefficients))
    return Problem(curves, sigma=scale, dynamics=Boredom(window), name=call, horizon=rounds)


def recovering_logistic(sigma: float = 0.1, horizon: int = 1000) -> Problem:
    """Ten arms that recover along theta_0 / (1 + exp(-theta_1 (z - theta_2))), as in Pike-Burke, Grunewalder (2019).

    There the thetas are drawn; here they are fixed: heights from 0.5 to 0.95, some quick to recover and some slow.
    """
    (rounds,) = _whole("recovering_logistic", horizon=horizon)
    scale = finite_number("sigma", sigma, minimum=0, owner="recovering_logistic")
    heights = [0.5 + 0.05 * arm for arm in range(10)]
    rates = [(0.8, 0.4, 0.2)[arm % 3] for arm in range(10)]
    middles = [float((4 * arm) % 15 + 2) for arm in range(10)]
    curves = tuple(map(Sigmoid, heights, rates, middles))
    call = _call("recovering_logistic", {"sigma": (scale, 0.1), "horizon": (rounds, 1000)})
    return Problem(curves, sigma=scale, dynamics=Recovering(z_max=30), name=call, horizon=rounds)


def pike_burke(means: str = "logistic", sigma: float = 0.1, horizon: int = 1000) -> Problem:
    """Pike-Burke, Grunewalder (2019): ten arms that recover, as their program draws them; they begin at z = 0.

    "logistic": theta_0 / (1 + exp(-theta_1 (z - theta_2))), theta from (0.1, 1), (0.1, 1), (0.1, 30). "gamma": best
    after a while, x^theta_0 exp(-theta_1 x) with x = 31 - z, scaled such that its maximum is theta_2.

    >>> pike_burke("gamma").curves[0](np.array([0, 10, 20, 30])).round(3)
    array([0.027, 0.146, 0.464, 0.039])
    """
    if means not in ("logistic", "gamma"):
        raise BadValue(owner="pike_burke", name="means", value=means, expected="'logistic' or 'gamma'")
    (rounds,) = _whole("pike_burke", horizon=horizon)
    scale = finite_number("sigma", sigma, minimum=0, owner="pike_burke")
    call = _call("pike_burke", {"means": (means, "logistic"), "sigma": (scale, 0.1), "horizon": (rounds, 1000)})
    curves = _logistic_arms() if means == "logistic" else _gamma_arms()
    return Problem(curves, sigma=scale, dynamics=Recovering(z_max=30, start=0), name=call, horizon=rounds)


def _logistic_arms() -> tuple[Curve, ...]:
    draw = np.random.RandomState(2374).uniform  # the authors' seeds, and the generator that they had
    heights, rates, middles = draw(0.1, 1, 10), draw(0.1, 1, 10), draw(0.1, 30, 10)
    return tuple(Sigmoid(*numbers) for numbers in zip(heights.tolist(), rates.tolist(), middles.tolist(), strict=True))


def _gamma_arms() -> tuple[Curve, ...]:
    draw, x = np.random.RandomState(6592).uniform, 31.0 - np.arange(31.0)
    rates = draw(0.1, 0.8, 10)
    powers, heights = draw(2 * rates, 20 * rates), draw(0.1, 1, 10)
    return tuple(
        Table(height * x**power * np.exp(-rate * x) / ((power / rate) ** power * math.exp(-power)))
        for power, rate, height in zip(powers, rates, heights, strict=True)
    )


def push(users: int = 1000, horizon: int = 1_000_000) -> Problem:
    """Notifications of ten templates, one a day for each user, with effects of the size that Duolingo published.

    Some 13 % of users come back. Templates change that by 2 % of it at most; one seen on the day before costs 1.6 %.
    Active users, who come back more often, are suited by other templates than the rest, two of them for nobody else: so
    the templates after which most users come back are not those that make them.

    >>> push(horizon=10).oracle(horizon=10).reward > 0
    array([ True])
    """
    number, rounds = _whole("push", users=users, horizon=horizon)
    call = _call("push", {"users": (number, 1000), "horizon": (rounds, 1_000_000)})
    dynamics = Push(users=number, shares=PUSH_SHARES[0], shares_active=PUSH_SHARES[1])
    return Problem(PUSH_LIFTS, noise="bernoulli", allow_increasing=True, dynamics=dynamics, name=call, horizon=rounds)


def yahoo(articles: int = 6, horizon: int = 20_000) -> Problem:
    """Click rates of 5 or 6 articles on Yahoo's front page, which change over the day; rewards are shares of 10 visits.

    >>> yahoo().means(0)
    array([0.071, 0.041, 0.032, 0.03 , 0.02 , 0.011])
    """
    number, rounds = _whole("yahoo", articles=articles, horizon=horizon)
    if number not in YAHOO:
        raise BadValue(owner="yahoo", name="articles", value=articles, expected="5 or 6")
    call = _call("yahoo", {"articles": (number, None), "horizon": (rounds, 20_000)})
    return _changing(call, YAHOO[number], rounds, Binomial(10))


def piecewise(number: int = 1, horizon: int = 20_000) -> Problem:
    """Problems PB1 to PB4 of Besson, Kaufmann, Maillard, Seznec (2022): levels that change some times, 0/1 rewards.

    With another horizon than 20 000 the changes are moved in proportion.

    >>> piecewise(1).means([0, 19_999])
    array([[0.9, 0.1],
           [0.5, 0.7],
           [0.3, 0.5]])
    """
    chosen, rounds = _whole("piecewise", number=number, horizon=horizon)
    if chosen not in PIECEWISE:
        raise BadValue(owner="piecewise", name="number", value=number, expected="1, 2, 3 or 4")
    call = _call("piecewise", {"number": (chosen, None), "horizon": (rounds, 20_000)})
    return _changing(call, PIECEWISE[chosen], rounds, "bernoulli")


def many_arms(
    n_arms: int = 1000, rho: float = 0.01, beta: float = 1.0, falling: bool = False, horizon: int = 10_000
) -> Problem:
    """Kim, Vojnovic, Yun (2022): more arms than can be tried, drawn in each run; a pull costs its arm rho (or rho / t).

    There the arms are infinitely many: take as many as a policy may try, at most the horizon.
    """
    arms, rounds = _whole("many_arms", n_arms=n_arms, horizon=horizon)
    dynamics = ManyArms(beta, rho, falling)
    shown = {
        "n_arms": (arms, 1000),
        "rho": (dynamics.rho, 0.01),
        "beta": (dynamics.beta, 1.0),
        "falling": (dynamics.falling, False),
        "horizon": (rounds, 10_000),
    }
    return Problem((Constant(0.0),) * arms, dynamics=dynamics, name=_call("many_arms", shown), horizon=rounds)


def rising(sigma: float = 0.1, horizon: int = 10_000) -> Problem:
    """Four arms that improve: the quicker, the lower they end. Which one is best depends on the horizon.

    >>> [int(rising().oracle(horizon).pulls.argmax()) for horizon in (10, 100, 1000, 10_000)]
    [0, 1, 2, 3]
    """
    (rounds,) = _whole("rising", horizon=horizon)
    scale = finite_number("sigma", sigma, minimum=0, owner="rising")
    curves = (Growth(0.0, 1.0, 0.3), Growth(0.0, 0.05, 0.5), Growth(0.0, 0.006, 0.7), Growth(0.0, 0.0008, 0.9))
    call = _call("rising", {"sigma": (scale, 0.1), "horizon": (rounds, 10_000)})
    return Problem(curves, sigma=scale, dynamics=Rising(), name=call, horizon=rounds)


def creatives(horizon: int = 20_000) -> Problem:
    """Six advertisements of two campaigns, which wear out together within a campaign, and a plain one."""
    (rounds,) = _whole("creatives", horizon=horizon)
    starts = (0.10, 0.09, 0.08, 0.07, 0.065, 0.06)
    curves = tuple(Exponential(start, rate=1 / 3000, floor=start / 5) for start in starts)
    graph = TriggerGraph.groups("AABBAB-")
    call = _call("creatives", {"horizon": (rounds, 20_000)})
    return Problem((*curves, Constant(0.03)), noise="bernoulli", dynamics=graph, name=call, horizon=rounds)


def exact(number: float) -> str:
    """Return a short text that reads back as the same number.

    >>> exact(0.233), exact(1e6), exact(1 / 3)
    ('0.233', '1e+06', '0.3333333333333333')
    """
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def _whole(owner: str, **numbers: object) -> list[int]:
    return [whole_number(name, value, 1, LARGEST_WHOLE, owner=owner) for name, value in numbers.items()]


def _call(function: str, arguments: Mapping[str, tuple[object, object]]) -> str:
    """Return the text that makes a problem, given (value, default) of each argument: defaults are left out."""
    shown = [
        f"{name}={exact(value) if isinstance(value, float) else repr(value)}"
        for name, (value, default) in arguments.items()
        if value != default
    ]
    return f"{function}({', '.join(shown)})"


def _changing(call: str, levels: Levels, horizon: int, noise: str | Noise) -> Problem:
    """Return restless arms with these levels."""
    pieces = len(levels.means)
    places = [horizon * piece // pieces for piece in range(pieces)]
    if levels.at is not None:
        places = [at * horizon // 20_000 for at in levels.at]
    curves = [_steps([means[arm] for means in levels.means], places) for arm in range(len(levels.means[0]))]
    return Problem(curves, noise=noise, restless=True, allow_increasing=True, name=call, horizon=horizon)


def _steps(values: Sequence[float], places: Sequence[int]) -> Curve:
    """Return the curve that has each value from its place on; places that coincide keep the last value."""
    last = dict(zip(places, values, strict=True))
    at = [place for place in last if place > 0]
    return Drops(list(last.values()), at)
