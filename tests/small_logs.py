"""A plain log, and what it adds up to, for the tests of reading."""

import numpy as np
import pandas


def small(**columns):
    """Return a plain log of two arms with 60 rows, some of its columns replaced."""
    rows = np.arange(60)
    return pandas.DataFrame(
        {"arm": np.where(rows % 2, "a", "b"), "reward": (rows % 3 == 0) * 1.0, "time": rows.astype(float), **columns}
    )


def sums_of(log):
    """Return the exposures of each arm, and the sums of its rewards and of their squares."""
    return {arm.name: (arm.exposures, float(arm.cells.total.sum()), float(arm.cells.squares.sum())) for arm in log.arms}
