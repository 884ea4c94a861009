"""How large a holdout must be, for how long, to tell a policy from what shows any arm, each as likely."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from rotting._core.randomness import checked_seed
from rotting._core.validation import finite_number
from rotting.errors import BadValue
from rotting.logs.model.noise import sigma_of
from rotting.logs.read.columns import LogError
from rotting.logs.read.options import ReadOptions, takes_options
from rotting.logs.read.reading import read_log
from rotting.logs.read.sources import LogSource

SURE = 1.959963984540054  # standard errors of the 95 % interval of a bandit's report on its holdout
LARGEST, SIMULATIONS = 0.5, 2000
_DAY = 86_400.0


@dataclasses.dataclass(frozen=True)
class HoldoutDesign:
    """A holdout: which share of decisions shows any arm, and for how long."""

    share: float
    days: int
    gap: float  # by how much the policy earns more, as a share
    power: float  # in simulations of that gap
    price: float  # rewards given up, if the gap is so large
    uniform_days: int  # in which all decisions show any arm, for the same power
    uniform_price: float

    def __str__(self) -> str:
        return (
            f"Let {self.share:.1%} of decisions show any arm, for {self.days} days (holdout={self.share:.3g}).\n"
            f"Power: {self.power:.0%}, if the policy earns {self.gap:.1%} more than showing any arm does.\n"
            f"Price: {self.price:,.0f} rewards. With all decisions uniform, {self.uniform_days} days and "
            f"{self.uniform_price:,.0f} rewards, for an estimate of the same precision from the rows that agree."
        )


@takes_options
def holdout(
    log: LogSource, *, gap: float = 0.05, within: int = 28, power: float = 0.9, seed: int = 0, **reading: object
) -> HoldoutDesign:
    """Return the cheapest holdout that tells, within so many days, that a policy earns more than showing any arm.

    The smaller the share, the cheaper it is and the longer it takes. A `Bandit` with this `holdout` reports the lift.

    Parameters
    ----------
    log
        What `rotting.diagnose` takes: it says how many exposures there are in a day, and how rewards vary.
    gap
        The least gain worth knowing, as a share of what showing any arm earns.
    within
        The days it may take.
    power
        How often the 95 % interval of the lift shall lie above 0, if the gain is that large.
    seed
        Of the simulations.
    reading
        Fields of `ReadOptions`.
    """
    for name, value, most in (("gap", gap, math.inf), ("power", power, 1.0)):
        finite_number(name, value, above=0.0, below=most, owner="holdout")
    read = read_log(log, ReadOptions(**reading))  # type: ignore[arg-type]
    if not read.seconds:
        raise LogError("has no times, so nobody can say how many exposures a day has", hint="name the column of {time}")
    counts, totals = (np.array([getattr(arm.cells, kind).sum() for arm in read.arms]) for kind in ("count", "total"))
    shown, earned = float(counts.sum()), float(totals.sum())
    mean, daily = earned / shown + read.offset, shown * _DAY / read.seconds
    # Whoever is shown any arm is paid by arms that differ: that is a part of the variance, too.
    between = float(counts @ (totals / counts - earned / shown) ** 2) / shown
    sigma = math.sqrt(sigma_of(read) ** 2 + between)
    if not mean > 0.0:
        raise LogError(f"earns {mean:.3g} per exposure, of which no share is a gain", hint="give rewards above 0")
    needed = ((SURE + float(ndtri(power))) * sigma / (gap * mean)) ** 2
    product = needed / (daily * within)  # = share (1 - share), for the last day
    if product > LARGEST * (1.0 - LARGEST):
        least = math.ceil(4.0 * needed / daily)
        raise BadValue("is not enough", owner="holdout", name="within", value=within, expected=f"{least} days or more")
    share = 0.5 - math.sqrt(0.25 - product)
    price = share * daily * within * gap * mean
    uniform = math.ceil(len(read.arms) * needed * (1.0 + (mean / sigma) ** 2) / daily)
    groups = [round(part * daily * within) for part in (1.0 - share, share)]
    random = np.random.default_rng(checked_seed(seed))
    told = _power(groups, (mean * (1.0 + gap), mean), sigma, read.binary, random)
    return HoldoutDesign(share, within, gap, told, price, uniform, uniform * daily * gap * mean)


def _power(
    groups: list[int], means: tuple[float, float], sigma: float, binary: bool, random: np.random.Generator
) -> float:
    """Return how often the interval of the lift lies above 0."""
    draw: Callable[[int, float], np.ndarray] = (
        (lambda number, mean: random.binomial(number, min(mean, 1.0), SIMULATIONS) / number)
        if binary
        else (lambda number, mean: random.normal(mean, sigma / math.sqrt(number), SIMULATIONS))
    )
    policy, held = (draw(number, mean) for number, mean in zip(groups, means, strict=True))
    error = sigma * math.sqrt(sum(1.0 / number for number in groups))
    return float((policy - held > SURE * error).mean())
