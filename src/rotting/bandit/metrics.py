"""Measurements of transactions, for whoever watches a bandit. There is no dependency: they are given to a callback."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable

_LOGGER = logging.getLogger("rotting.bandit")


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What one transaction of decisions, exposures and rewards was like."""

    bandit: str
    seconds: float  # from its begin until it was durable, or failed
    lock_wait: float  # of them: until it was its turn to write
    requests: int  # that it carried out, ...
    refused: int  # ... those of them that were refused, ...
    calls: int  # ... and how many calls they came from
    events: int  # that it wrote, ...
    expired: int  # ... and those that settled what was overdue
    conflicts: int  # attempts that came too late, because another process was quicker
    caught_up: int  # events of other processes that it took in
    pending: int  # decisions that wait for a reward afterwards
    error: str | None  # the class of the error if it failed


Observer = Callable[[Measurement], None]


def notify(observers: list[Observer], measurement: Measurement) -> None:
    """Tell observers; what goes wrong in one of them does not concern the bandit."""
    for observer in observers:
        try:
            observer(measurement)
        except Exception:
            _LOGGER.exception("an observer of bandit %r failed", measurement.bandit)
