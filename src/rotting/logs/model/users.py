"""Exposures counted per user: users who tire, told apart from users who leave and from the novelty of everything.

Users are compared with themselves only, at one number of exposures to anything, in one stretch of time. So users who
are keen on whatever is new, tastes that fade with the days, and audiences that change are no evidence. Whether an
exposure was a user's last may depend on its reward (a buyer leaves), so the last one of each user is left out.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import duckdb

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

    tires: np.ndarray  # of each arm: falls with the user's exposures to it; 0 where that is not known
    known: np.ndarray  # bool: enough rewards at repeated exposures
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


def within_users(database: duckdb.DuckDBPyConnection, arms: int) -> WithinUsers | None:
    """Compare users with themselves, or return None where too few have more than one exposure."""
    found = database.execute("SELECT count(*) FROM log JOIN arms USING (arm)").fetchone()
    sample = max(-(-int(found[0] if found else 0) // MOST_ROWS), 1)
    rows = database.execute(
        """
        SELECT hash(unit) AS user, id, reward, ntile($2) OVER (ORDER BY time, log.rowid) AS stretch,
            row_number() OVER (PARTITION BY unit, id ORDER BY time, log.rowid) - 1 AS own,
            row_number() OVER (PARTITION BY unit ORDER BY time, log.rowid) - 1 AS any_arm,
            row_number() OVER (PARTITION BY unit ORDER BY time DESC, log.rowid DESC) = 1 AS is_last
        FROM log JOIN arms USING (arm) WHERE hash(unit) % $1 = 0
        """,
        [sample, STRETCHES],
    ).fetchnumpy()
    columns = {name: np.ma.getdata(values) for name, values in rows.items()}
    kept = {name: values[~columns["is_last"]] for name, values in columns.items()}
    _, user = np.unique(kept["user"], return_inverse=True)
    repeated = np.bincount(user)[user] > 1 if len(user) else np.zeros(0, bool)
    if len(np.unique(user[repeated])) < LEAST_USERS:
        return None
    _, user = np.unique(user[repeated], return_inverse=True)
    return _compared(user, {name: values[repeated] for name, values in kept.items()}, arms)


def _compared(user: np.ndarray, rows: dict[str, np.ndarray], arms: int) -> WithinUsers:
    arm, reward = rows["id"], rows["reward"].astype(float)
    number, novelty = np.log1p(rows["own"]), np.log1p(rows["any_arm"])
    pooled = arms > MOST_ARMS
    group = np.zeros(arms, dtype=np.int64) if pooled else np.arange(arms)
    count = int(group.max()) + 1
    own = np.zeros((len(user), count))
    own[np.arange(len(user)), group[arm]] = number
    beside = np.hstack([
        _indicators(np.zeros(len(arm), int) if pooled else arm),
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


def _indicators(group: np.ndarray) -> np.ndarray:
    """Return a column of 0 and 1 for each group but the first."""
    found, place = np.unique(group, return_inverse=True)
    return np.asarray((place[:, None] == np.arange(1, len(found))).astype(float))


def _within(columns: np.ndarray, user: np.ndarray) -> np.ndarray:
    """Return columns less their mean of each user."""
    sizes = np.bincount(user)
    means = [np.bincount(user, column) / sizes for column in columns.T]
    return np.asarray(columns - np.stack(means, axis=1)[user])


def _z(design: np.ndarray, reward: np.ndarray, user: np.ndarray) -> np.ndarray:
    """Return least-squares coefficients over their standard errors, which allow for anything within a user."""
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = inverse @ (design.T @ reward)
    residual = reward - design @ coefficients
    scores = np.column_stack([np.bincount(user, column * residual) for column in design.T])
    variance = np.diag(inverse @ (scores.T @ scores) @ inverse)
    return np.asarray(coefficients / np.sqrt(np.maximum(variance, 1e-300)))


def _placebo(own: np.ndarray, rest: np.ndarray, user: np.ndarray) -> float:
    """Return how often the largest fall is as large where each user's exposures are shuffled."""
    some = np.flatnonzero(user < np.searchsorted(np.cumsum(np.bincount(user)), MOST_SHUFFLED, side="right") + 1)
    own, rest, user = own[some], rest[some], user[some]
    generator = np.random.default_rng(SEED)
    scale = np.sqrt(np.maximum((own**2).sum(axis=0), 1e-300))
    largest = float((-(own.T @ rest) / scale).max())
    in_order = np.argsort(user, kind="stable")
    own, rest, user = own[in_order], rest[in_order], user[in_order]
    as_large = 0
    for _ in range(PLACEBOS):
        shuffled = rest[np.lexsort((generator.random(len(user)), user))]
        as_large += bool((-(own.T @ shuffled) / scale).max() >= largest)
    return (1 + as_large) / (1 + PLACEBOS)
