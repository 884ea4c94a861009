"""Logs in which arms wear out, with what is known of each: which arms, their half-lives, what any arm is worth when.

Each takes a random generator. `World`s also tell what an arm is worth at any of its exposures, so that true gains can
be played.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import log_generators
import numpy as np
import pandas
from log_generators import FIRST_DAY, clicks, finished, levels, shown, worth

from rotting.logs import make_log

LOST = 0.6


def one_of_five(rng: np.random.Generator, exposures: int = 10_000) -> tuple[pandas.DataFrame, dict[str, bool]]:
    """Five arms at 10 %, all on offer for four weeks in random shares of equal size; one loses 60 % exponentially."""
    frame = pandas.DataFrame({"arm": rng.integers(0, 5, exposures), "share": np.sort(rng.random(exposures))})
    frame["timestamp"] = FIRST_DAY + pandas.to_timedelta(frame["share"] * 28, unit="D")
    before = frame.groupby("arm").cumcount().to_numpy() / (exposures / 5)
    worn = int(rng.integers(5))
    rate = 0.1 * np.where(frame["arm"] == worn, (1 - LOST) ** before, 1.0)
    return finished(frame, clicks(rng, rate)), {f"creative {arm + 1}": arm == worn for arm in range(5)}


def all_of(generate: Callable[[np.random.Generator], pandas.DataFrame]) -> Callable[[np.random.Generator], tuple]:
    """Return the generator of a log all of whose arms wear out."""

    @functools.wraps(generate)
    def both(rng: np.random.Generator) -> tuple[pandas.DataFrame, dict[str, bool]]:
        frame = generate(rng)
        return frame, dict.fromkeys(frame["creative"].unique(), True)

    return both


def campaign(rng: np.random.Generator) -> pandas.DataFrame:
    """`make_log`: five arms of 2000 exposures, launched in the first half, busy days and idle ones; 10 % to 4 %."""
    return make_log(seed=int(rng.integers(1e9)), arms=5, exposures=2000, start=0.10, end=0.04)


def staggered(rng: np.random.Generator) -> pandas.DataFrame:
    """Twelve arms of 5000 exposures, launched one after the other, lose 60 % exponentially; levels differ by 20 %."""
    return log_generators.wearing(rng, arms=12, exposures=5000)


def staggered_eight(rng: np.random.Generator) -> pandas.DataFrame:
    """The same with eight arms of 2000 exposures."""
    return log_generators.wearing(rng, arms=8, exposures=2000)


def per_user(rng: np.random.Generator) -> pandas.DataFrame:
    """`make_log`: the click rate of each user falls from 10 % to 4 % over his own ten exposures to an arm."""
    return make_log(arms=3, exposures=4000, effect="per-user", start=0.2, end=0.05, seed=int(rng.integers(1e9)))


def thompson_on_worn_arms(rng: np.random.Generator) -> pandas.DataFrame:
    """Thompson sampling on six arms that lose 60 % in 4000 exposures: it leaves each as it falls."""
    return thompson_worn(rng).frame


@dataclasses.dataclass(frozen=True)
class World:
    """A log and what its arms are worth: `value(arm, exposures before)`, with arms numbered as in "creative 1"."""

    frame: pandas.DataFrame
    value: Callable[[int, np.ndarray], np.ndarray]


Curve = Callable[[np.ndarray], np.ndarray]  # of exposures, as a share of those that an arm has in the log
CURVES: dict[str, Curve] = {
    **log_generators.CURVES,
    "sigmoid": lambda x: 0.3 + 0.7 / (1 + np.exp((x - 0.8) / 0.12)),
    "power law": lambda x: (1 + 10 * x) ** -0.4,
}


def curved(curve: str, rng: np.random.Generator, arms: int = 8, exposures: int = 2000, shares: str = "equal") -> World:
    """Arms that follow a curve, each at its own level and speed, launched one after the other."""
    if shares == "equal":
        return World(*log_generators.curved(rng, CURVES[curve], arms, exposures))
    counts = rng.multinomial(arms * exposures, rng.dirichlet(np.full(arms, 2.0)))
    pieces = [shown(rng, arms=arms, exposures=int(counts.max()))]
    frame = pandas.concat(pieces)
    keep = rng.random(len(frame)) < (counts / counts.max())[frame["arm"]]
    frame = frame[keep].reset_index(drop=True)
    frame["before"] = frame.groupby("arm").cumcount()
    value = worth(rng, CURVES[curve], arms, exposures)
    return World(finished(frame, clicks(rng, rates(frame, value))), value)


def rates(frame: pandas.DataFrame, value: Callable[[int, np.ndarray], np.ndarray]) -> np.ndarray:
    """Return what each row's arm is worth at that exposure."""
    rate = np.empty(len(frame))
    for arm, own in frame.groupby("arm").indices.items():
        rate[own] = value(int(arm), frame["before"].to_numpy()[own])
    return rate


def half_wear(rng: np.random.Generator) -> World:
    """Eight arms launched one after the other; half of them lose 60 % exponentially, the others are constant."""
    level, before = levels(rng, 8), shown(rng, arms=8)

    def value(arm: int, number: np.ndarray) -> np.ndarray:
        return level[arm] * np.where(arm % 2 == 0, (1 - LOST) ** (np.asarray(number) / 2000), 1.0)

    return World(finished(before, clicks(rng, rates(before, value))), value)


def equal_arms(rng: np.random.Generator, arms: int = 5, exposures: int = 2000) -> World:
    """Equal constant arms, launched together: nobody can gain anything."""
    frame = shown(rng, arms=arms, exposures=exposures, launches="together")
    return World(finished(frame, clicks(rng, np.full(len(frame), 0.1))), _ten_per_cent)


def many_equal_arms(rng: np.random.Generator) -> World:
    """200 equal arms of 100 exposures, launched one after the other."""
    frame = shown(rng, arms=200, exposures=100)
    return World(finished(frame, clicks(rng, np.full(len(frame), 0.1))), _ten_per_cent)


def _ten_per_cent(arm: int, number: np.ndarray) -> np.ndarray:
    return np.full(np.shape(number), 0.1)


def thompson_equal(rng: np.random.Generator) -> World:
    """Thompson sampling on five equal arms."""
    return adaptive(rng, _ten_per_cent, 5)


def thompson_unequal(rng: np.random.Generator) -> World:
    """Thompson sampling on six constant arms whose levels differ by 20 %."""
    level = levels(rng, 6)
    return adaptive(rng, lambda arm, number: np.full(np.shape(number), level[arm]), 6)


def greedy_unequal(rng: np.random.Generator) -> World:
    """Epsilon-greedy (10 %) on six constant arms whose levels differ by 20 %."""
    level = levels(rng, 6)
    return adaptive(rng, lambda arm, number: np.full(np.shape(number), level[arm]), 6, greedy=True)


def thompson_worn(rng: np.random.Generator) -> World:
    """Thompson sampling on six arms that lose 60 % in 4000 exposures."""
    level = levels(rng, 6, 0.12)
    return adaptive(rng, lambda arm, number: level[arm] * (1 - LOST) ** (np.asarray(number) / 4000), 6)


def adaptive(
    rng: np.random.Generator, value: Callable[[int, np.ndarray], np.ndarray], arms: int, total: int = 12_000,
    greedy: bool = False,
) -> World:  # fmt: skip
    """Return a log that a policy collected from all arms at once, on arms of known worth."""
    table = np.array([value(arm, np.arange(total)) for arm in range(arms)])
    ones, shows = np.zeros(arms), np.zeros(arms, int)
    arm, reward = np.empty(total, int), np.empty(total, int)
    uniform, explores = rng.random(total), rng.random(total) < 0.1
    for row in range(total):
        if greedy:
            choice = int(rng.integers(arms)) if explores[row] else int(np.argmax((ones + 1) / (shows + 1)))
        else:
            choice = int(np.argmax(rng.beta(1 + ones, 1 + shows - ones)))
        arm[row], reward[row] = choice, uniform[row] < table[choice, shows[choice]]
        ones[choice] += reward[row]
        shows[choice] += 1
    frame = pandas.DataFrame({"arm": arm, "share": np.arange(total) / total})
    frame["timestamp"] = FIRST_DAY + pandas.to_timedelta(frame["share"] * 28, unit="D")
    return World(finished(frame, reward), value)


WORLDS: dict[str, Callable[[np.random.Generator], World]] = {
    **{name: functools.partial(curved, name) for name in CURVES},
    "unequal shares": functools.partial(curved, "exponential", shares="unequal"),
    "half of the arms": half_wear,
    "equal arms": equal_arms,
    "200 equal arms": many_equal_arms,
    "Thompson, equal arms": thompson_equal,
    "Thompson, unequal arms": thompson_unequal,
    "epsilon-greedy, unequal arms": greedy_unequal,
    "Thompson, worn arms": thompson_worn,
}
EQUAL = ("equal arms", "200 equal arms", "Thompson, equal arms")  # anybody gains nothing there
