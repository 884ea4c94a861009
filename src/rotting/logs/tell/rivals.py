"""What else could be the cause of what is called wear-out, and how strong it would have to be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rotting.logs.model.findings import LAUNCHES, OWN, Findings
from rotting.logs.read.reading import Log
from rotting.logs.worth.estimates import NINETY

# What may change along with an arm's exposures, in words, by the roles of columns that would tell.
CAUSES = (
    (("position", "slate"), "their place on the page"),
    (("spend", "reach", "frequency", "segment"), "their budget or audience"),
    ((), "the creatives behind their names"),
)


def other_causes(log: Log) -> str:
    """Return the causes that no column of the log settles, as a list in words; empty where users are compared."""
    if log.per_unit:
        return ""
    settled = {each.role for each in log.covariates if each.can_be_stratum or not each.varies}
    left = [words for roles, words in CAUSES if not settled.intersection(roles)]
    return f"{', '.join(left[:-1])} or {left[-1]}" if len(left) > 1 else "".join(left)


def rivals(findings: Findings) -> Iterator[str]:
    """Yield what would undo the calls, one sentence for each kind of evidence."""
    causes = other_causes(findings.log)
    own = [arm for arm, evidence in enumerate(findings.evidence) if evidence == OWN]
    if own and causes:
        within = findings.within
        lost = np.clip(-within.lost[own], 0.0, None)
        least = np.clip(lost - NINETY * within.error[own], 0.0, None)
        yield (
            "Evidence of their own: arms are compared with others that share the calendar. A change of "
            f"{causes} that grows with an arm's exposures looks the same: it would have to take away "
            f"{_share(float(np.median(lost)))} of its rewards (at least {_share(float(np.median(least)))}) from its "
            "first exposure to its last."
        )
    if LAUNCHES in findings.evidence:
        yield from _of_launches(findings)


def _of_launches(findings: Findings) -> Iterator[str]:
    together, panel = findings.together, findings.panel
    if not together.staggered:
        yield (
            "Evidence of paces: arms were launched together, and those shown more fall more. Arms that were shown more "
            "because they did well at first, by luck, look the same; so do arms whose audience changed as they were "
            "shown more. A randomised experiment, or resting an arm for a week, would tell."
        )
        return
    ages = float(panel.launch.max() - panel.launch.min()) / panel.typical_age
    better, least = (np.expm1(max(-together.slope - errors * together.error, 0.0) * ages) for errors in (0.0, NINETY))
    yield (
        "Evidence of launches: late arms start as high as early ones did, and fall from there. That takes newer arms "
        "that are as good at first as older ones were (exchangeable launches). If, from the first launch to the "
        f"last, newer arms had become better by {better:.0%} (at least {least:.0%}) while everything fell, nothing "
        "would wear out; levels of the arms of this log differ by about "
        f"{np.expm1(together.level_spread):.0%}, whenever they were launched. A randomised experiment, or resting an "
        "arm for a week, would tell."
    )


def _share(logarithm: float) -> str:
    return f"{-np.expm1(-logarithm):.0%}"
