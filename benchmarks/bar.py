"""A claim about speed."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bar:
    """A measured ratio and what it must not exceed (or fall below)."""

    name: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        """Say whether the measured ratio is good enough."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        sign, word = (">=" if self.at_least else "<="), ("met" if self.holds else "MISSED")
        return f"{word:6}  {self.value:10,.4g}  {sign} {self.limit:<8,g}  {self.name}"
