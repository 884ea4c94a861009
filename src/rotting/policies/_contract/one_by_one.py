"""Policies that stay with one arm until they leave it for a new one: where they are.

`here` holds the number of the arm; `numbers` the number of each arm there is, so that a choice among some of the arms
knows which they are. After the last arm the first comes again, as if it were new.
"""

from __future__ import annotations

import numpy as np

from rotting._core.compiling import helper
from rotting.errors import DamagedFile


@helper
def place_of_current(numbers, here):
    """Return the place of the current arm; where it is missing, of the next one."""
    current = here[0]
    if current < len(numbers) and numbers[current] == current:
        return current
    for place in range(len(numbers)):
        if numbers[place] >= current:
            return place
    return 0


@helper
def move_on(numbers, here):
    """Go to the next arm."""
    here[0] = (here[0] + 1) % len(numbers)


def check_place(numbers: np.ndarray, here: np.ndarray) -> None:
    """Refuse places (from a file) where no arm is."""
    if not np.array_equal(numbers, np.arange(len(numbers))) or not 0 <= here[0] < len(numbers):
        raise DamagedFile("it is at an arm that does not exist")
