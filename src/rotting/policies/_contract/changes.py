"""What policies that look for changes share: exploration in turn."""

from __future__ import annotations

import math

from rotting._core.compiling import helper


@helper
def turn_of(rounds, period, n_arms):
    """Return the arm that is explored in a round (counted from 1), one after the other every `period` rounds, or -1."""
    if period == 0:
        return -1
    turn = (rounds - 1) % period
    return turn if turn < n_arms else -1


def period_for(share, n_arms):
    """Return after how many rounds all arms are explored again, for a share of explored rounds; 0 for none.

    Not a helper: Python calls it too.
    """
    # On a GPU, the floor of a float is a float.
    return max(n_arms, int(math.floor(min(n_arms / share, 2.0**52)))) if share > 0.0 else 0  # noqa: RUF046
