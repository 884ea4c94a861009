"""The explanation that nothing falls: arms have levels, all share changes over time, and none wears out.

The tests of arms do not need it: they ask how far a fall is from nothing. What arms are worth does: without it every
draw of the values of equal arms would have arms that differ, and something to gain by choosing.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from rotting.logs.model.hypotheses import HATS, SHARED_SPREADS, hats
from rotting.logs.model.panel import Panel
from rotting.logs.model.solving import Design, Solution, solve

# Prior probabilities: that nothing falls, and of how much the logarithms of levels differ. The least means "alike".
NOTHING_FALLS = 0.5
LEVEL_SPREADS = {0.0003: 0.25, 0.03: 0.15, 0.1: 0.2, 0.3: 0.2, 1.0: 0.2}
KNOWN, UNKNOWN = 1e8, 1e-4  # precisions of what is known to be 0, and of what is not known at all


@dataclasses.dataclass(frozen=True)
class Steady:
    """Levels without falls, fitted on the grid of their spreads and of what arms share over time."""

    level_spread: np.ndarray  # of each member of the grid
    shared_spread: np.ndarray
    logs: np.ndarray  # of evidence times prior
    solution: Solution

    @property
    def log_evidence(self) -> float:
        """The logarithm of the evidence of all members together."""
        return float(np.logaddexp.reduce(self.logs))

    @property
    def log_evidence_without_time(self) -> float:
        """The same for members in which time changes next to nothing."""
        return float(np.logaddexp.reduce(self.logs[self.shared_spread == self.shared_spread.min()]))

    def draw(self, generator: np.random.Generator) -> np.ndarray:
        """Return levels of the arms; exactly alike if they are drawn from those that are."""
        member = int(generator.choice(len(self.logs), p=np.exp(self.logs - self.log_evidence)))
        common, own = self.solution.draw(member, generator)
        alike = self.level_spread[member] == min(LEVEL_SPREADS)
        return np.asarray(common[0] + (0.0 if alike else 1.0) * own[:, 0])


def fit_steady(panel: Panel) -> Steady:
    """Fit levels and shared changes over time to a panel."""
    members = list(itertools.product(LEVEL_SPREADS, SHARED_SPREADS))
    level, shared = np.array(members).T
    ones = np.ones((len(panel.mean), 1))
    design = Design(
        common=np.column_stack([ones, hats(panel.time)]),
        own=np.column_stack([ones, 0.0 * ones]),
        penalty=np.column_stack([np.full(len(members), UNKNOWN), np.repeat(shared[:, None] ** -2, HATS, axis=1)]),
        own_penalty=np.stack([level**-2, np.full(len(members), KNOWN)], axis=1),
        prior=np.array([LEVEL_SPREADS[one] * SHARED_SPREADS[other] for one, other in members]),
    )
    solution = solve(panel, design)
    return Steady(level, shared, solution.evidence + np.log(design.prior), solution)
