"""Logs of a few cells, and panels of them, for the tests of the diagnosis: what is so is known, chance is seeded."""

import dataclasses
import functools

import numpy as np

from rotting.logs.model.panel import make_panel
from rotting.logs.read.counting import Arm, Cells
from rotting.logs.read.reading import read_log
from small_logs import small

SLICES = 16


@functools.cache
def _plain():
    return read_log(small())


def log_of(shown, earned, time=None, squares=None, noise=1.0):
    """Return a log with a cell for each arm and time, where it was shown; rewards are clicks unless squares are given.

    `noise` is the variance of a reward that is no click.
    """
    shown, earned = np.asarray(shown, dtype=float), np.asarray(earned, dtype=float)
    slices = shown.shape[1]
    time = (np.arange(slices) + 0.5) / slices if time is None else np.asarray(time)
    clicks = squares is None
    squares = earned if clicks else np.asarray(squares, dtype=float)
    arms = []
    for arm, count in enumerate(shown):
        there = count > 0
        own = count[there]
        total, places = earned[arm, there], np.cumsum(own) - (own + 1) / 2
        cells = Cells(places, time[there], own, total, squares[arm, there], total, np.zeros(len(own), np.int64))
        arms.append(Arm(f"arm {arm}", int(own.sum()), cells, noise))
    return dataclasses.replace(_plain(), arms=tuple(arms), binary=clicks)


def clicks(rate, shown, seed):
    """Return how many clicks there are in each cell."""
    return np.random.default_rng(seed).binomial(np.asarray(shown).astype(int), np.clip(rate, 0, 1))


def drawn(rate, shown, seed):
    """Return a panel of clicks drawn at a rate for each cell."""
    rate, shown = np.broadcast_arrays(rate, shown)
    return make_panel(log_of(shown, clicks(rate, shown, seed)))


def staggered(arms=6, slices=SLICES, each=150):
    """Return exposures of arms launched one after the other, over the first half of the log."""
    launch = np.arange(arms) * slices // (2 * arms)
    return each * (np.arange(slices) >= launch[:, None])


def before(shown):
    """Return exposures before the middle of each cell."""
    return np.cumsum(shown, axis=1) - 0.5 * shown
