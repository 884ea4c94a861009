"""A log with probabilities as arrays: what was shown, how likely it was, what it earned, and what was known when."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from rotting._core.noise import variance_from_differences
from rotting.errors import quoted
from rotting.logs import LogError, LogSource, ReadOptions
from rotting.logs.arrays import Floats, Whole
from rotting.logs.read.clocks import FIRST_DATE
from rotting.logs.read.reading import Staged, read
from rotting.logs.read.sources import ONE_ROW_PER_EXPOSURE, open_source
from rotting.logs.read.staging import reward_wait
from rotting.logs.worth.periods import moment_of
from rotting.policies._contract.agent import LARGEST_REWARD
from rotting.value.along import Learnt

_WITHOUT = (
    "name it with {probability}; say {uniform} if every arm was as likely at all times; otherwise the log cannot tell "
    "what another policy would have earned: show a share of exposures at random (a bandit's epsilon or holdout does), "
    "or see what `rotting diagnose` makes of it"
)


@dataclasses.dataclass(frozen=True)
class Logged:
    """The rows that can be weighed, in order of time, and all rewards in the order in which they were learnt."""

    name: str
    arms: tuple[str, ...]
    arm: Whole
    reward: Floats
    probability: Floats  # of the row's arm when it was chosen
    known: Whole  # how many rewards had been learnt when the row was decided
    learnt: Learnt
    times: Floats  # of the rows, in the log's clock
    cluster: Whole | None = None  # the number of each row's user, say: rows of one are not independent
    cluster_name: str = ""
    columns: str = ""
    notes: tuple[str, ...] = ()
    whole: bool = True  # whether all that was learnt stands in the rows, so that policies can be run on them

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.arm)

    @property
    def binary(self) -> bool:
        """Whether every reward is 0 or 1."""
        return bool(np.isin(self.reward, (0.0, 1.0)).all())

    @property
    def noise(self) -> float:
        """The scale of the noise of a reward: from differences between successive rewards of an arm."""
        order = np.argsort(self.arm, kind="stable")
        steps = np.diff(self.reward[order])[np.diff(self.arm[order]) == 0]
        return float(np.sqrt(variance_from_differences(float((steps**2).sum()), float(len(steps)))))

    @property
    def lag(self) -> int:
        """After how many further decisions a reward is usually known."""
        return int(np.median(np.arange(self.rows) - self.known)) if self.whole and self.rows else 0


def read_logged(log: LogSource, options: ReadOptions, uniform: bool, step: Callable[[str], None]) -> Logged:
    """Return the rows of any table with a column of probabilities, or of one whose arms were all as likely."""
    with open_source(log, options.encoding) as source:
        staged = read(source, options, step)
        rows, columns = staged.rows, staged.columns
        if columns.aggregated:
            problem = "each row stands for many exposures, whose own probabilities are not known"
            raise LogError(problem, owner=source.name, expected=ONE_ROW_PER_EXPOSURE)
        step("weighing rows")
        wait = reward_wait(rows, options.reward_time)
        names = [name for [name] in rows.find("SELECT DISTINCT arm FROM log ORDER BY arm")]
        chance = f"1.0 / {len(names)}" if uniform else _probability(staged, options)
        users = "NULL::BIGINT" if columns.unit is None else "dense_rank() OVER (ORDER BY unit) - 1"
        arrived = "time" if options.reward_time is None else f"coalesce(reward_time, time + {wait})"
        numbered = "SELECT dense_rank() OVER (ORDER BY arm) - 1 AS number, " + (
            f"{users} AS cluster, {chance} AS chance, {arrived} AS arrived, time, reward, place FROM log"
        )
        found = rows.select(numbered).arrays("SELECT * FROM log ORDER BY time, place")
        clusters = None if columns.unit is None else found["cluster"].astype(np.int64)
        times = np.arange(float(len(found["place"]))) if columns.time is None else found["time"].astype(float)
        said = f"{columns}, probability: {'one of ' + str(len(names)) if uniform else _named(staged)}"
        logged = Logged(
            name=rows.name,
            arms=tuple(names),
            arm=found["number"].astype(np.int64),
            reward=found["reward"].astype(float),
            probability=found["chance"].astype(float),
            known=np.zeros(len(times), np.int64),
            learnt=Learnt(np.zeros(0, np.int64), np.zeros(0)),
            times=times,
            cluster=clusters,
            cluster_name=columns.unit or "",
            columns=said,
            notes=rows.notes,
        )
        late = found["arrived"].astype(float) if options.reward_time is not None else None
    return _in_order(refuse_empty(logged), late, wait)


def _named(staged: Staged) -> str:
    return next(each.name for each in staged.covariates if each.role == "propensity")


def _probability(staged: Staged, options: ReadOptions) -> str:
    """Return the column that holds probabilities; refuse those that are missing or none."""
    found = [each for each in staged.covariates if each.role == "propensity"]
    if not found:
        if options.probability is not None:
            raise LogError("holds no numbers", name="probability", value=options.probability)
        problem = "has no column with the probability of the arm that was shown"
        raise LogError(problem, owner=staged.rows.name, hint=_WITHOUT)
    place, owner = found[0].place, f"probability column {found[0].name!r}"
    wrong = f"{place} IS NULL OR NOT ({place} > 0 AND {place} <= 1)"
    number = staged.rows.count(wrong)
    for row, value in staged.rows.find(f"SELECT place + 1, {place} FROM log WHERE {wrong} ORDER BY place LIMIT 1"):
        problem = "is empty, or no number" if value is None else f"{value:g} is not the probability of a shown arm"
        others = f" (and {number - 1:,} rows more)" if number > 1 else ""
        hint = "a row without one cannot be weighed: correct the log, or leave out the time that such rows are from"
        raise LogError(
            f"{problem}{others}", owner=f"{owner}, row {row}", value=value, expected="above 0 and at most 1", hint=hint
        )
    return place


def _in_order(logged: Logged, late: Floats | None, wait: float | None) -> Logged:
    """Return the log with what was known when: rewards of earlier times, or those that had arrived."""
    times = logged.times
    if late is None or wait is None:
        # Rows of one time are decided before any of them is learnt: their order in the log may say how they ended.
        known = np.searchsorted(times, times)
        return dataclasses.replace(logged, known=known, learnt=Learnt(logged.arm, logged.reward))
    order = np.argsort(late, kind="stable")
    known = np.searchsorted(late[order], times)
    complete = times <= times[-1] - wait
    note = f"The last {int((~complete).sum()):,} rows were left out: not all of their rewards have arrived."
    learnt = Learnt(logged.arm[order], logged.reward[order])
    return kept(dataclasses.replace(logged, known=known, learnt=learnt), complete, note)


def kept(logged: Logged, chosen: np.ndarray, *notes: str) -> Logged:
    """Return some of the rows, with a note why; all rewards are learnt."""
    names = ("arm", "reward", "probability", "known", "times", "cluster")
    cut = {name: value[chosen] for name in names if (value := getattr(logged, name)) is not None}
    return refuse_empty(dataclasses.replace(logged, **cut, notes=(*logged.notes, *notes)))


def since(logged: Logged, moment: str) -> Logged:
    """Return the rows from a moment on; what was before is learnt, and not weighed."""
    begin = moment_of(moment, "since", bool(logged.times[0] >= FIRST_DATE))
    chosen = logged.times >= begin
    note = f"The {int((~chosen).sum()):,} rows before {moment} are learnt, and not weighed."
    return dataclasses.replace(kept(logged, chosen, note), whole=bool(chosen.all()))


def refuse_empty(logged: Logged) -> Logged:
    """Return a log that has rows, with rewards that policies take."""
    if not logged.rows:
        raise LogError("has no row that can be weighed", owner=logged.name, hint="; ".join(logged.notes) or None)
    if (largest := float(np.abs(logged.reward).max())) > LARGEST_REWARD:
        raise LogError("is too large", owner=logged.name, name="reward", value=largest, hint="rescale the rewards")
    return logged


def arm_number(logged: Logged, name: str) -> int:
    """Return the number of an arm, or say that the log has none of this name."""
    if name not in logged.arms:
        listed = ", ".join(map(quoted, logged.arms[:8]))
        raise LogError("is not an arm of the log", name="arm", value=name, expected=f"one of {listed}")
    return logged.arms.index(name)
