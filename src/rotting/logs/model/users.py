"""Exposures counted per user: users who tire, told apart from users who leave and from the novelty of everything.

Users are compared with themselves only, at one number of exposures to anything, in one stretch of time. So users who
are keen on whatever is new, tastes that fade with the days, and audiences that change are no evidence. Whether an
exposure was a user's last may depend on its reward (a buyer leaves), so the last one of each user is left out.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from rotting.logs.arrays import Flags, Floats, Whole

if TYPE_CHECKING:
    from rotting.logs.read.tables import Source

# Rows that are compared at most; of more, users are sampled. With more arms, one speed is tested for all.
MOST_ROWS, MOST_ARMS = 300_000, 40
LEAST_USERS = 30  # with more than one exposure
LEAST_REPEATS = 10  # rewards at an arm's repeated exposures, to say anything of it
STRETCHES = 10  # of time that are compared within
NUMBERS = (0, 1, 2, 3, 4, 6, 9, 14, 22)  # exposures to anything from which on users are compared with each other
PLACEBOS, MOST_SHUFFLED, SEED = 199, 60_000, 1
SEEN = 2.5


@dataclasses.dataclass(frozen=True)
class WithinUsers:
    """Comparisons of users with themselves, in standard errors; positive where rewards fall."""

    tires: Floats  # of each arm: falls with the user's exposures to it; 0 where that is not known
    known: Flags  # enough rewards at repeated exposures
    pooled: bool  # one speed was tested for all arms: which ones users tire of is not known
    placebo: float  # how often shuffling each user's exposures falls as much, for the arm that falls most
    novelty: float  # falls with the user's exposures to anything
    between: float  # falls with exposures to the arm if users are not compared with themselves

    @property
    def sentence(self) -> str:
        """What the comparison says."""
        if self.known.any() and float(np.median(self.tires[self.known])) > SEEN:
            return "users tire of an arm: the same user responds less to it every time"
        if self.novelty > SEEN:
            return "users are keen on anything at first, whichever arm is shown: a novelty effect, not wear-out of arms"
        if self.between > SEEN:
            return "users who respond leave sooner, so later exposures meet others: no user is seen to tire"
        return "no user is seen to tire"


def within_users(rows: Source, arms: int) -> WithinUsers | None:
    """Compare users with themselves, or return None where too few have more than one exposure."""
    columns = rows.arrays(
        """
        SELECT hash(unit) AS user, id, reward, ntile($2) OVER (ORDER BY time, place) AS stretch,
            row_number() OVER (PARTITION BY unit, id ORDER BY time, place) - 1 AS own,
            row_number() OVER (PARTITION BY unit ORDER BY time, place) - 1 AS any_arm
        FROM log WHERE hash(unit) % $1 = 0
        QUALIFY count(*) OVER (PARTITION BY unit) > greatest(any_arm + 1, 2)
        ORDER BY time DESC, place DESC
        """,
        -(-rows.count() // MOST_ROWS),
        STRETCHES,
    )
    users, user = np.unique(columns["user"], return_inverse=True)
    return _compared(user, columns, arms) if len(users) >= LEAST_USERS else None


def _compared(user: Whole, rows: dict[str, np.ndarray], arms: int) -> WithinUsers:
    arm, reward = rows["id"], rows["reward"].astype(float)
    number, novelty = np.log1p(rows["own"]), np.log1p(rows["any_arm"])
    pooled = arms > MOST_ARMS
    group = np.zeros(arms, dtype=np.int64) if pooled else np.arange(arms)
    count = int(group.max()) + 1
    own = np.zeros((len(user), count))
    own[np.arange(len(user)), group[arm]] = number
    beside = np.hstack([
        _indicators(group[arm]),
        _indicators(np.searchsorted(NUMBERS, rows["any_arm"], side="right")),
        _indicators(rows["stretch"]),
    ])  # fmt: skip
    centred = _within(np.hstack([own, beside, reward[:, None]]), user)
    own, beside, centred_reward = centred[:, :count], centred[:, count:-1], centred[:, -1]
    own = own - beside @ np.linalg.lstsq(beside, own, rcond=None)[0]
    rest = centred_reward - beside @ np.linalg.lstsq(beside, centred_reward, rcond=None)[0]
    tires = -_z(own, rest, user)
    again = np.bincount(arm, reward * (rows["own"] > 0), minlength=arms)
    known = again >= LEAST_REPEATS
    trend = _within(np.column_stack([novelty, number]), user)
    plain = number - number.mean()
    return WithinUsers(
        tires=np.where(known, tires[group], 0.0),
        known=known,
        pooled=pooled,
        placebo=_placebo(own[:, np.unique(group[known])], rest, user) if known.any() else 1.0,
        novelty=float(-_z(trend, centred_reward, user)[0]),
        between=float(-_z(plain[:, None], reward - reward.mean(), user)[0]),
    )


def _indicators(group: Whole) -> Floats:
    """Return a column of 0 and 1 for each group but the first."""
    found, place = np.unique(group, return_inverse=True)
    return (place[:, None] == np.arange(1, len(found))).astype(float)


def _within(columns: Floats, user: Whole) -> Floats:
    """Return columns less their mean of each user."""
    sizes = np.bincount(user)
    means = np.array([np.bincount(user, column) / sizes for column in columns.T])
    return columns - means.T[user]


def _z(design: Floats, reward: Floats, user: Whole) -> Floats:
    """Return least-squares coefficients over their standard errors, which allow for anything within a user."""
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = inverse @ (design.T @ reward)
    residual = reward - design @ coefficients
    scores = np.array([np.bincount(user, column * residual) for column in design.T])
    variance = np.diag(inverse @ (scores @ scores.T) @ inverse)
    return coefficients / np.sqrt(np.maximum(variance, 1e-300))


def _placebo(own: Floats, rest: Floats, user: Whole) -> float:
    """Return how often the largest fall is as large where each user's exposures are shuffled."""
    most = np.searchsorted(np.cumsum(np.bincount(user)), MOST_SHUFFLED, side="right")
    some = np.argsort(user, kind="stable")[: np.count_nonzero(user <= most)]
    own, rest, user = own[some], rest[some], user[some]
    generator = np.random.default_rng(SEED)
    own = own / np.sqrt(np.maximum((own**2).sum(axis=0), 1e-300))
    largest = (own.T @ rest).min()
    as_large = 1  # the log itself is one of them
    for _ in range(PLACEBOS):
        shuffled = rest[np.lexsort((generator.random(len(user)), user))]
        as_large += bool((own.T @ shuffled).min() <= largest)
    return as_large / (1 + PLACEBOS)
