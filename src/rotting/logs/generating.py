"""Logs with a known truth: campaigns in which creatives wear out, wear in, drift with the calendar, or do nothing."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from rotting._core.randomness import checked_seed
from rotting._core.validation import finite_number, whole_number
from rotting.errors import BadValue
from rotting.problems.curves import Constant, Curve, Exponential, as_curve

if TYPE_CHECKING:
    import pandas

OWNER = "make_log"
EFFECTS = ("wear-out", "wear-in", "calendar", "per-user", "none")
PACES = ("bursty", "steady")
FIRST_DAY = "2024-03-01"
EXPOSURES_PER_USER = 12
# The curve over a user's own exposures has fallen to `end` after this many.
EXPOSURES_TO_END = 10


@dataclasses.dataclass(frozen=True)
class Truth:
    """What a generated log was made from.

    `curves[i]` is arm i's value as a function of its exposures (the user's own for "per-user"); for "calendar" the
    argument is the number of exposures that an arm would have had at a steady pace.
    """

    effect: str
    arms: tuple[str, ...]
    curves: tuple[Curve, ...]


def make_log(
    arms: int = 8,
    exposures: int = 2000,
    effect: str = "wear-out",
    start: float = 0.10,
    end: float = 0.04,
    spread: float = 0.0,
    pace: str = "bursty",
    sigma: float | None = None,
    days: float = 28.0,
    seed: int = 0,
) -> pandas.DataFrame:
    """Return a log of a campaign: one row per exposure, with columns timestamp, creative, user_id and click (or value).

    Parameters
    ----------
    arms, exposures
        The number of creatives, and how often each is shown.
    effect
        "wear-out": a creative's value falls exponentially with its exposures, from `start` to `end` at the last.
        "wear-in": it rises from `end` to `start` instead. "calendar": all fall with time, shown or not. "per-user": it
        falls with the exposures of one user to one creative. "none": it stays at `start`.
    start, end
        Values (click rates) of the first and the last exposure.
    spread
        How much creatives differ: starts and speeds are multiplied by exp(spread x a normal number).
    pace
        "bursty": creatives are launched one after the other and shown more on some days than on others. "steady":
        exposures are proportional to time, so that exposures and the calendar cannot be told apart.
    sigma
        None for clicks (0 or 1); otherwise rewards are values with Gaussian noise of this standard deviation.
    days
        The length of the campaign.
    seed
        Same seed, same log.

    Returns
    -------
    pandas.DataFrame
        Its `attrs["truth"]` is the `Truth` that it was made from.

    Examples
    --------
    >>> log = make_log(arms=3, exposures=500, seed=1)
    >>> list(log.columns), len(log), sorted(log.creative.unique())
    (['timestamp', 'creative', 'user_id', 'click'], 1500, ['creative 1', 'creative 2', 'creative 3'])
    >>> log.attrs["truth"].curves[0]
    Exponential(start=0.1, rate=0.0018..., floor=0.0)
    """
    import pandas

    for name, value, choices in (("effect", effect, EFFECTS), ("pace", pace, PACES)):
        if value not in choices:
            expected = f"one of {', '.join(map(repr, choices))}"
            raise BadValue("is not known", owner=OWNER, name=name, value=value, expected=expected)
    whole_number("arms", arms, minimum=1, owner=OWNER)
    whole_number("exposures", exposures, minimum=1, owner=OWNER)
    finite_number("start", start, above=0, owner=OWNER)
    finite_number("end", end, above=0, maximum=start, owner=OWNER)
    finite_number("spread", spread, minimum=0, below=10, owner=OWNER)
    if sigma is not None:
        finite_number("sigma", sigma, minimum=0, owner=OWNER)
    elif start > 1:
        raise BadValue("is not a click rate", owner=OWNER, name="start", value=start, expected="at most 1, or a sigma")
    generator = np.random.default_rng(checked_seed(seed))
    span = EXPOSURES_TO_END if effect == "per-user" else exposures
    levels, speeds = np.exp(spread * generator.standard_normal((arms, 2))).T
    if sigma is None:
        levels = np.minimum(levels, 1 / start)
    curves = tuple(_curve(effect, start, end, span, *each) for each in zip(levels, speeds, strict=True))
    names = tuple(f"creative {index + 1}" for index in range(arms))
    own = [pandas.DataFrame({"time": _times(exposures, pace, generator), "creative": name}) for name in names]
    shown = pandas.concat(own).sort_values("time", kind="stable", ignore_index=True)
    shown["user_id"] = generator.integers(0, max(len(shown) // EXPOSURES_PER_USER, 1), len(shown))
    number = shown.groupby(["creative", "user_id"] if effect == "per-user" else "creative").cumcount()
    if effect == "calendar":
        number = (shown.time * exposures).astype(np.int64)
    mean = np.empty(len(shown))
    for name, curve in zip(names, curves, strict=True):
        mean[shown.creative == name] = curve(number[shown.creative == name].to_numpy())
    shown.insert(
        0, "timestamp", pandas.Timestamp(FIRST_DAY) + pandas.to_timedelta((shown.time * days * 86_400) // 1, unit="s")
    )
    if sigma is None:
        shown["click"] = (generator.random(len(mean)) < mean).astype(np.int64)
    else:
        shown["value"] = mean + sigma * generator.standard_normal(len(mean))
    frame = shown.drop(columns="time")
    frame.attrs["truth"] = Truth(effect, names, curves)
    return frame


def _curve(effect: str, start: float, end: float, exposures: int, level: float, speed: float) -> Curve:
    """Return one arm's curve, at a level and speed of its own."""
    if effect == "none":
        return Constant(start * level)
    rate = math.log(start / end) / exposures * speed
    if effect == "wear-in":
        return as_curve(level * (start - (start - end) * np.exp(-4 * speed * np.arange(exposures) / exposures)))
    return Exponential(start=start * level, rate=rate)


def _times(exposures: int, pace: str, generator: np.random.Generator) -> np.ndarray:
    """Return when an arm was shown, increasing, as shares of the campaign."""
    if pace == "steady":
        return np.sort(generator.random(exposures))
    # A launch within the first half; then days on which it is shown often and days on which it hardly is.
    launch = 0.5 * generator.random()
    intensity = generator.gamma(0.5, size=14) + 0.02
    edges = np.linspace(launch, 1.0, len(intensity) + 1)
    share = np.concatenate([[0.0], np.cumsum(intensity)]) / intensity.sum()
    return np.interp(np.sort(generator.random(exposures)), share, edges)
