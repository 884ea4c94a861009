"""What a log says about its arms, before any fit: which wear out, and what drives it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from rotting.logs.driver import Driver, find_driver
from rotting.logs.reading import Log
from rotting.logs.wearout import PValues, discoveries, permutation_tests


@dataclasses.dataclass(frozen=True)
class Findings:
    """The tests of all arms, which of them are called rotting, and what their values follow."""

    p_values: PValues
    rotting: np.ndarray  # bool, one per arm
    driver: Driver


def find_wear_out(log: Log, generator: np.random.Generator, step: Callable[[], None] = lambda: None) -> Findings:
    """Test the arms of a log at the nominal false-discovery rate, and compare exposures with the calendar."""
    p_values = permutation_tests(log, generator, step)
    rotting = discoveries(p_values.falling)
    return Findings(p_values, rotting, find_driver(log, rotting.tolist()))
