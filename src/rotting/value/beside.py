"""What a diagnosis tells of policies where its log has probabilities: measured, beside what its model makes of them."""

from __future__ import annotations

import dataclasses
from html import escape

from rotting._output.pages import table
from rotting.logs import LogError, LogSource, ReadOptions
from rotting.logs.model.noise import sigma_of
from rotting.logs.read.reading import Log
from rotting.logs.worth.gain import ORACLE, compared_policies
from rotting.value.evaluation import Evaluation, evaluate
from rotting.value.telling import NEXT_COLUMNS, NEXT_NUMBERS, NEXT_TARGET, next_rows


@dataclasses.dataclass(frozen=True)
class Beside:
    """What stands beside the gains of a diagnosis."""

    evaluation: Evaluation | None
    refused: str = ""  # why the probabilities tell nothing

    def section(self) -> str:
        """Return it as a part of a page."""
        if self.evaluation is None:
            return f"<p>The log has a column of probabilities, but it tells nothing: {escape(self.refused)}</p>"
        places = {NEXT_COLUMNS.index(name) for name in NEXT_NUMBERS}
        found = table(NEXT_COLUMNS, next_rows(self.evaluation), numbers=places)
        after = (
            "What follows is a simulation, which rests on the model of the arms alone: where both differ, this counts."
        )
        return (
            f"<p>By the log's own probabilities, without a model, per 1000 exposures: {escape(self.evaluation.summary)}"
            f"</p>{found}<p>{escape(NEXT_TARGET)} <code>rotting evaluate</code> tells both. {after}</p>"
        )


def beside(source: LogSource, log: Log, reading: ReadOptions, seed: int) -> Beside | None:
    """Return what the compared policies would have earned, if the log has probabilities."""
    if log.columns.aggregated or len(log.arms) == 1 or not any(each.role == "propensity" for each in log.covariates):
        return None
    policies = compared_policies(sigma_of(log), log.binary, 1)
    del policies[ORACLE]
    try:
        found = evaluate(source, policies, seed=seed, show_progress=False, **dataclasses.asdict(reading))
    except LogError as error:
        return Beside(None, str(error))
    return Beside(found)
