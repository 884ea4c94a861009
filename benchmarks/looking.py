"""What a diagnosis says of one log, in a few numbers: the only place where benchmarks read its results."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import rotting


@dataclasses.dataclass(frozen=True)
class Seen:
    """What was said: which arms are called worn, which policies promise a gain whose interval excludes 0."""

    arms: list[str]
    called: list[bool]
    gains: dict[str, tuple[float, float, float]]  # by policy: low, point, high
    seconds: float  # of the processor
    verdict: str = ""
    text: str = ""  # all sentences, in lower case
    error: str = ""  # what the log was refused for

    @property
    def sure(self) -> bool:
        """Whether any gain or loss is promised for sure."""
        return any(low > 1e-9 or high < -1e-9 for low, _, high in self.gains.values())

    @property
    def promise(self) -> float:
        """The largest gain that is promised for sure, per 1000 exposures."""
        return max((low for low, _, _ in self.gains.values()), default=0.0)

    def names(self, words: tuple[str, ...]) -> bool:
        """Return whether one of the words is said."""
        return any(word in self.text for word in words)


def look(log: Any, unit: str | None = None, **options: Any) -> Seen:
    """Return what the diagnosis says of a log; of a log that is refused, why."""
    began = time.process_time()
    try:
        diagnosis = rotting.diagnose(log, unit=unit, **options)
    except rotting.logs.LogError as error:
        return Seen([], [], {}, time.process_time() - began, error=str(error).split("\n")[0])
    arms = [arm.arm for arm in diagnosis.arms]
    called = [bool(arm.rotting) for arm in diagnosis.arms]
    gains = {
        row.policy: (row.gain.low, row.gain.point, row.gain.high) for row in diagnosis.gain if row.gain is not None
    }
    text = " ".join(sentences(diagnosis.as_json())).lower()
    return Seen(arms, called, gains, time.process_time() - began, diagnosis.verdict, text)


def sentences(value: Any) -> Iterator[str]:
    """Yield every text of a diagnosis that has more than two words: names of arms are shorter."""
    if isinstance(value, str):
        if value.count(" ") > 2:
            yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from sentences(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from sentences(each)
