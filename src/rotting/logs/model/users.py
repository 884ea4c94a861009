"""Exposures counted per user: users who tire, told apart from users who leave and from the novelty of everything.

Users are compared with themselves only. Where those who like an arm less (or more) leave sooner, the users who are left
at the tenth exposure are others than at the first, and the mean over users changes though nobody does. And a user who
is keen on whatever is new becomes less keen with every exposure to anything: the number of exposures to all arms stands
beside that to the arm itself, and arms that a user sees late for the first time tell the two apart.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import duckdb

# Rows that are compared at most; of more, users are sampled. With more arms, one speed is tested for all.
MOST_ROWS, MOST_ARMS = 1_000_000, 40
LEAST_USERS = 30  # with more than one exposure
SEEN = 2.5


@dataclasses.dataclass(frozen=True)
class WithinUsers:
    """Comparisons of users with themselves, in standard errors; positive where rewards fall."""

    tires: np.ndarray  # of each arm: falls with the user's exposures to it
    novelty: float  # falls with the user's exposures to anything
    between: float  # falls with exposures to the arm if users are not compared with themselves

    @property
    def sentence(self) -> str:
        """What the comparison says."""
        if float(np.median(self.tires)) > SEEN:
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
        SELECT hash(unit) AS user, id, reward,
            row_number() OVER (PARTITION BY unit, id ORDER BY time, log.rowid) - 1 AS own,
            row_number() OVER (PARTITION BY unit ORDER BY time, log.rowid) - 1 AS any_arm
        FROM log JOIN arms USING (arm) WHERE hash(unit) % $1 = 0
        """,
        [sample],
    ).fetchnumpy()
    _, user = np.unique(np.ma.getdata(rows["user"]), return_inverse=True)
    arm, reward, own, anything = (np.ma.getdata(rows[name]) for name in ("id", "reward", "own", "any_arm"))
    repeated = np.bincount(user)[user] > 1
    if len(np.unique(user[repeated])) < LEAST_USERS:
        return None
    user, arm, reward = user[repeated], arm[repeated], reward[repeated].astype(float)
    number, age = np.log1p(own[repeated]), np.log1p(anything[repeated])
    columns = np.arange(arms) if arms <= MOST_ARMS else np.zeros(arms, dtype=np.int64)
    z = _within(user, arm, reward, number, age, columns)
    pooled = _z(np.column_stack([number, np.ones(len(number))]), reward, user)[0]
    return WithinUsers(z[columns], float(z[columns.max() + 1]), float(-pooled))


def _within(
    user: np.ndarray, arm: np.ndarray, reward: np.ndarray, number: np.ndarray, age: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Return how far each column's fall is from nothing: the arms' numbers of exposures, then that to all arms."""
    count = int(columns.max()) + 1
    design = np.zeros((len(user), 2 * count))
    rows = np.arange(len(user))
    design[rows, columns[arm]] = number
    design[:, count] = age
    # Levels of arms; the first is the mean of the user, which is taken out.
    several = columns[arm] > 0
    design[rows[several], count + columns[arm][several]] = 1.0
    sizes = np.maximum(np.bincount(user), 1)  # users with one exposure were left out
    for column in range(design.shape[1]):
        design[:, column] -= (np.bincount(user, design[:, column]) / sizes)[user]
    centred = reward - (np.bincount(user, reward) / sizes)[user]
    return -_z(design, centred, user)


def _z(design: np.ndarray, reward: np.ndarray, user: np.ndarray) -> np.ndarray:
    """Return least-squares coefficients over their standard errors, which allow for anything within a user."""
    inverse = np.linalg.pinv(design.T @ design)
    coefficients = inverse @ (design.T @ reward)
    residual = reward - design @ coefficients
    users = int(user.max()) + 1
    scores = np.column_stack(
        [np.bincount(user, design[:, column] * residual, minlength=users) for column in range(design.shape[1])]
    )
    variance = np.diag(inverse @ (scores.T @ scores) @ inverse)
    return np.asarray(coefficients / np.sqrt(np.maximum(variance, 1e-300)))
