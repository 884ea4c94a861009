"""Logs with probabilities whose truth is known."""

import numpy as np
import pandas


def uniform_log(rows=2000, rates=(0.3, 0.2, 0.1), seed=1):
    """Arms shown with equal probability, each with a rate of its own."""
    random = np.random.default_rng(seed)
    arm = random.integers(0, len(rates), rows)
    return pandas.DataFrame(
        {
            "time": pandas.date_range("2026-01-01", periods=rows, freq="min"),
            "arm": np.array([f"arm {each}" for each in range(len(rates))])[arm],
            "propensity": 1 / len(rates),
            "click": (random.random(rows) < np.array(rates)[arm]).astype(int),
        }
    )
