"""What other policies would have earned: everything together."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rotting._core.randomness import checked_seed, stream_key
from rotting._output.files import write_json, write_text
from rotting._output.progress import progress_bar
from rotting.errors import BadValue
from rotting.logs import Estimate, LogError, LogSource, ReadOptions
from rotting.logs.arrays import Floats
from rotting.logs.read.options import takes_options
from rotting.value.candidates import Candidate, CandidateLike, candidates_of
from rotting.value.comparing import compare
from rotting.value.database import is_address, read_bandit
from rotting.value.doubting import check_probabilities, why_not, why_not_run
from rotting.value.logged import Logged, read_logged
from rotting.value.logged import since as rows_since
from rotting.value.replaying import CALENDAR, CHOICES, EXPOSURES, Run, run
from rotting.value.weighing import Support, estimators, interval, scatter, support_of

WORLDS = (EXPOSURES, CALENDAR)


@dataclasses.dataclass(frozen=True)
class Valued:
    """What one policy would have earned per decision."""

    policy: str
    draws: int  # that told its probabilities in each row; 0 where they are exact
    next_decision: Estimate | None  # target 1, by the doubly robust estimator; None if it is not told
    refused: str  # why not
    snips: Estimate | None  # the same target by other estimators
    ips: Estimate | None
    gain: Estimate | None  # over what was done; the intervals of all policies hold together
    p_value: float | None  # of the gain, for as many policies as there are
    may_be_best: bool  # no other policy is surely better
    support: Support
    running: tuple[Run, ...]  # target 2, for each kind of world


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What other policies would have earned, by a log with probabilities. Its fields are those of evaluation.json."""

    summary: str
    done: Estimate  # what an exposure of the log earned
    policies: tuple[Valued, ...]  # the best first; those that are not told last
    wears: str | None  # which world was stated: "exposures", "calendar" or None
    log: str
    columns: str
    notes: tuple[str, ...]
    rows: int
    arms: int
    rewards: str  # "0/1" or "numbers"
    clusters: str  # whose rows depend on each other, such as a column of users; "" if rows stand for themselves
    overlap: dict[str, tuple[float, ...]]  # by policy: quantiles of the probabilities that its decisions had in the log
    seed: int

    def of(self, policy: str) -> Valued:
        """Return what is said of one policy, by its label."""
        for each in self.policies:
            if each.policy == policy:
                return each
        expected = f"one of {', '.join(repr(each.policy) for each in self.policies)}"
        raise BadValue("was not evaluated", name="policy", value=policy, expected=expected)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of evaluation.json."""
        return dataclasses.asdict(self)

    def _repr_html_(self) -> str:
        from rotting.value.evaluation_page import evaluation_card

        return evaluation_card(self)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write evaluation.json and evaluation.html into a folder, created if necessary; return their paths."""
        from rotting.value.evaluation_page import evaluation_page

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        data, page = target / "evaluation.json", target / "evaluation.html"
        write_json(data, self.to_dict())
        write_text(page, evaluation_page(self))
        return data, page


@takes_options
def evaluate(
    log: LogSource,
    policies: Sequence[CandidateLike] | Mapping[str, CandidateLike],
    *,
    bandit: str | None = None,
    uniform: bool = False,
    wears: str | None = None,
    since: str | None = None,
    seed: int = 0,
    show_progress: bool | None = None,
    **reading: Any,
) -> Evaluation:
    """Return what other policies would have earned, from a log that has the probability of what it shows.

    Two things are told, and never mixed up: what a policy's *next decision* is worth, given the histories that the log
    has; and what *running* it would have earned, which wears arms otherwise than the log did.

    Parameters
    ----------
    log
        What `rotting.diagnose` reads, with one row per exposure and a column of probabilities; or the address of a
        database with a bandit, such as "sqlite:///fatigue.db".
    policies
        A list of policies, or of texts such as "FEWA(sigma=0.5)"; or a dictionary with labels for them. A dictionary of
        shares by arm stands for showing arms in these shares.
    bandit
        The name of the bandit, if the log is a database of bandits.
    uniform
        Says that every arm of the log was as likely at all times; then no column is needed.
    wears
        What the rewards of an arm depend on, if that is known: "exposures" (its own) or "calendar". Running a policy is
        told for this; by default for both, each with what it assumes.
    since
        Rows from this time on are weighed, such as "2026-01-31"; earlier ones are only learnt.
    seed
        Same log and seed, same numbers.
    show_progress
        Whether to show a progress bar (default: on a terminal).
    reading
        Fields of `rotting.logs.ReadOptions`: which columns are meant (`arm`, `reward`, `time`, `probability`, ...) and
        how values are written. With `unit`, such as a column of users, the rows of one may depend on each other, and
        intervals speak of other users, too.

    Raises
    ------
    LogError
        If the log cannot tell: a ValueError that says why, and what to do.

    Examples
    --------
    >>> import rotting
    >>> log = rotting.logs.make_log(arms=4, exposures=500, effect="none", pace="steady", seed=1)
    >>> found = rotting.evaluate(log, ["Uniform()"], uniform=True)
    >>> [each.policy for each in found.policies], found.of("Uniform()").next_decision is not None
    (['Uniform()'], True)
    """
    seed, options = checked_seed(seed), ReadOptions(**reading)
    if wears not in (None, *WORLDS):
        raise BadValue("is not known", name="wears", value=wears, expected=" or ".join(map(repr, WORLDS)))
    with progress_bar(show_progress) as progress:
        if is_address(log):
            logged = read_bandit(str(log), bandit, progress.stage)
        elif bandit is not None:
            raise LogError("is not in a database", name="bandit", value=bandit, expected="such as sqlite:///file.db")
        else:
            logged = read_logged(log, options, uniform, progress.stage)
        logged = logged if since is None else rows_since(logged, since)
        check_probabilities(logged)
        chosen = candidates_of(policies, logged)
        progress.stage("playing policies", len(chosen))
        weighers = []
        for each in chosen:
            weighers.append(found_of(each, logged, WORLDS if wears is None else (wears,), seed))
            progress.advance()
    return _evaluation(logged, weighers, wears, seed)


@dataclasses.dataclass(frozen=True)
class Found:
    """What is found of one policy, and what it is compared with others by."""

    valued: Valued
    terms: Floats
    variance: float
    overlap: tuple[float, ...]


def found_of(candidate: Candidate, logged: Logged, worlds: Sequence[str], seed: int) -> Found:
    """Return what a log says of a candidate: the next decision, and running it in worlds of these kinds."""
    weighed = candidate.weigh(logged, stream_key(seed, CHOICES))
    weights = weighed.chance / logged.probability
    found = estimators(weighed, weights, logged.reward, logged.binary, logged.cluster)
    support = support_of(weights, weighed.chance, logged.probability, logged.cluster)
    refused = why_not(support, found, logged.binary)
    doubt = why_not_run(logged, weighed.guess)
    runs = [Run(each, 0, None, doubt) if doubt else run(candidate, logged, each, seed) for each in worlds]
    told = None if refused else found
    valued = Valued(
        policy=candidate.label,
        draws=candidate.draws(logged),
        next_decision=told.dr if told else None,
        refused=refused,
        snips=told.snips if told else None,
        ips=told.ips if told else None,
        gain=None,
        p_value=None,
        may_be_best=False,
        support=support,
        running=tuple(runs),
    )
    return Found(valued, found.terms, found.variance, _overlap(weighed.chance, logged.probability))


def _overlap(chances: Floats, probability: Floats) -> tuple[float, ...]:
    """Return the probabilities in the log of the policy's decisions: quantiles 0, 1 %, 2 %, ... 100 %."""
    order = np.argsort(probability)
    # A row stands for chance / probability decisions of the policy.
    weight = np.cumsum((chances / probability)[order])
    if not weight[-1] > 0:
        return ()
    places = np.searchsorted(weight, np.linspace(0, weight[-1], 101)[:-1], side="right")
    places = np.minimum(np.append(places, len(order) - 1), len(order) - 1)
    return tuple(probability[order][places].tolist())


def _evaluation(logged: Logged, found: list[Found], wears: str | None, seed: int) -> Evaluation:
    from rotting.value.telling import summary

    told = [each for each in found if each.valued.next_decision is not None]
    ranked = []
    if told:
        compared = compare(
            [each.terms for each in told], [each.variance for each in told], logged.reward, logged.cluster, seed
        )
        for each, gain, p_value, best in zip(told, compared.gains, compared.p_values, compared.best, strict=True):
            ranked.append(dataclasses.replace(each.valued, gain=gain, p_value=p_value, may_be_best=bool(best)))
    ranked.sort(key=lambda each: -each.gain.point if each.gain else 0.0)
    policies = (*ranked, *(each.valued for each in found if each.valued.next_decision is None))
    mean = float(logged.reward.mean())
    variance, freedom, _ = scatter(logged.reward, logged.cluster)
    evaluation = Evaluation(
        summary="",
        done=interval(mean, variance, freedom, logged.binary, float(logged.rows)),
        policies=policies,
        wears=wears,
        log=logged.name,
        columns=logged.columns,
        notes=logged.notes,
        rows=logged.rows,
        arms=len(logged.arms),
        rewards="0/1" if logged.binary else "numbers",
        clusters=logged.cluster_name,
        overlap={each.valued.policy: each.overlap for each in found},
        seed=seed,
    )
    return dataclasses.replace(evaluation, summary=summary(evaluation))
