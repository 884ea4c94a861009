"""Numbers with intervals."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number and its 90 % interval."""

    point: float
    low: float
    high: float

    def shifted(self, by: float) -> Estimate:
        """Return the estimate of the number plus a known one."""
        return Estimate(self.point + by, self.low + by, self.high + by)
