"""The diagnosis of a log: everything together."""

from __future__ import annotations

import dataclasses
import datetime
import os
from pathlib import Path
from typing import Any

import numpy as np

from rotting._core.randomness import checked_seed
from rotting._output.files import write_json, write_text
from rotting._output.progress import progress_bar
from rotting.errors import BadValue
from rotting.logs.model.cleaning import Burst
from rotting.logs.model.findings import Findings, detectable_loss, find_wear_out
from rotting.logs.model.noise import sigma_of
from rotting.logs.read.clocks import FIRST_DATE, LAST_DATE
from rotting.logs.read.options import ReadOptions, takes_options
from rotting.logs.read.reading import Log, read_log
from rotting.logs.read.sources import LogSource
from rotting.logs.tell.caveats import find_caveats
from rotting.logs.tell.sentences import rivals, summary, verdict_of
from rotting.logs.worth.arms import ArmDiagnosis, diagnose_arms, fresh_value
from rotting.logs.worth.estimates import Estimate
from rotting.logs.worth.gain import Gain, Period, estimate_gains, period_ahead, values_of
from rotting.logs.worth.outlook import Draw
from rotting.logs.worth.periods import Comparison
from rotting.logs.worth.recommending import Recommendation, Subject, recommend

MOST_WARM = 100_000  # rows of a log that a bandit is advised to begin with: each is an event of its own log
MONTH = 30 * 86_400.0
MOST_INDENTED = 100  # arms; the file of more is for programs only


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """What a log says. Its fields are those of diagnosis.json."""

    verdict: str  # one of those of `tell.sentences`
    summary: str  # the verdict in one sentence
    driver: str  # "exposure", "age", "calendar" or "cannot tell"
    driver_reason: str
    driver_probabilities: dict[str, float]
    rivals: tuple[str, ...]  # what else could be the cause of what is called, and how strong it would have to be
    placebos: dict[str, float]  # how often chance gives as much, by what is left to chance
    fewest_rewards: float  # that an arm must have to be called
    sigma: float
    rewards: str  # "0/1" or "numbers"
    currency: str  # of the rewards, such as "$"; empty if they are written without one
    first_date: str | None  # of the log, such as "2024-03-01"; None where times are no dates
    last_date: str | None
    recommended: Recommendation | None  # None with one arm, or rewards that never change
    gain: tuple[Gain, ...]  # from now on; empty with one arm, per unit, or where rewards never change
    gain_exposures: int  # how many exposures from now on
    earned_lately: float | None  # what an exposure earned in the last quarter of the log
    arms: tuple[ArmDiagnosis, ...]
    detectable_loss: float | None  # the share that an arm must lose over the log to be called in about 2 of 3 cases
    fresh_arms_per_month: float | None  # that the observed half-lives ask for
    fresh_value: (
        Estimate | None
    )  # the mean reward of a fresh arm, if it is like those of the log; None if none wears out
    per_unit: bool  # exposures were counted for each user, say
    set_aside: tuple[Burst, ...]
    periods: Comparison | None  # what arms earned before one date and from another on, if asked for
    log: str
    columns: str
    notes: tuple[str, ...]  # every guess about how the log was to be read
    rows: int
    dropped_rows: int
    dropped: dict[str, int]
    duplicates: int
    backwards: int
    caveats: tuple[str, ...]
    seed: int
    beside: Any = None  # what policies would have earned by the log's own probabilities, if any: `rotting.value`

    def gain_of(self, policy: str) -> Gain:
        """Return the gain of one policy, such as "FEWA" or "oracle"."""
        gains = {gain.policy: gain for gain in self.gain}
        if policy not in gains:
            expected = f"one of {', '.join(map(repr, gains))}" if gains else "a diagnosis with gains"
            raise BadValue("has no gain here", name="policy", value=policy, expected=expected)
        return gains[policy]

    def as_json(self) -> dict[str, object]:
        """Return the content of diagnosis.json; gains by policy, in rewards per 1000 exposures."""
        content: dict[str, Any] = _plain(self)
        content["gain"] = {row.pop("policy"): row for row in content["gain"]}
        return content

    def _repr_html_(self) -> str:
        from rotting.logs.tell.report import diagnosis_card

        return diagnosis_card(self)

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write diagnosis.json and report.html into a folder, created if necessary; return their paths."""
        from rotting.logs.tell.report import report_page

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        data, page = target / "diagnosis.json", target / "report.html"
        write_json(data, self.as_json(), 2 if len(self.arms) <= MOST_INDENTED else None)
        write_text(page, report_page(self))
        return data, page


def _plain(value: Any) -> Any:
    """Return a value for JSON; `dataclasses.asdict` would copy every number of every curve."""
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


@takes_options
def diagnose(
    log: LogSource,
    *,
    seed: int = 0,
    reward_delay: str | float | None = None,
    show_progress: bool | None = None,
    **reading: Any,
) -> Diagnosis:
    """Return whether the arms of a log wear out, how fast, what drives it, and what a bandit would gain.

    Parameters
    ----------
    log
        A .csv, .tsv, .jsonl or .json file (also .gz and .zip), .xlsx, .parquet, a folder or pattern of such files, a
        table in a DuckDB or SQLite file (`file.db::table`), or a frame (pandas, or what turns into one: Polars, Arrow):
        one row per exposure, sums with their number of exposures, or impressions and clicks as events.
    seed
        Same log and seed, same diagnosis.
    reward_delay
        How long rewards take to arrive, such as "7d" or "12h": the last stretch of the log, so long, is left out. By
        default it is left out where it looks incomplete.
    show_progress
        Whether to show a progress bar (default: on a terminal).
    reading
        Fields of `rotting.logs.ReadOptions`: which columns are meant (`arm`, `reward`, `time`, `unit`, `impressions`),
        how values are written (`decimal`, `date_format`, ...), and two periods to compare (`before`, `after`).

    Raises
    ------
    LogError
        If the log cannot be diagnosed: a ValueError that says what is wrong with it, and what to do.
    MissingExtra
        Without DuckDB, which `rotting[logs]` installs.

    Examples
    --------
    >>> import rotting
    >>> log = rotting.logs.make_log(arms=4, exposures=800, start=0.4, end=0.05, seed=1)
    >>> diagnosis = rotting.diagnose(log)
    >>> diagnosis.verdict, [arm.rotting for arm in diagnosis.arms]
    ('rotting', [True, True, True, True])
    """
    seed, options = checked_seed(seed), ReadOptions(**reading)
    with progress_bar(show_progress) as progress:
        read = read_log(log, options, progress.stage)
        progress.stage("weighing explanations")
        findings = find_wear_out(read, reward_delay)
        period, sigma = period_ahead(read), sigma_of(read)
        draws = values_of(findings, period, seed)
        gains: list[Gain] = []
        choice = sigma > 0 and len(read.arms) > 1
        if choice and not read.per_unit:
            gains = estimate_gains(draws, period, sigma, read.binary, read.offset, seed, progress, findings.alike)
    advice = None
    if choice:
        names, path = [arm.name for arm in read.arms], _warm_path(log, read, options)
        subject = Subject(names, sigma, read.binary, bool(findings.worn.any()), read.currency, path, not findings.alike)
        advice = recommend(subject, gains, period.batch)
    found = _diagnosis(read, findings, draws, period, gains, advice, seed)
    if "propensity" in [each.role for each in read.covariates]:
        from rotting.value.beside import beside

        return dataclasses.replace(found, beside=beside(log, read, options, seed))
    return found


def _warm_path(source: LogSource, log: Log, options: ReadOptions) -> str | None:
    """Return the path of a log that a bandit can begin with: a file with a row per exposure, not too long."""
    plain = options == ReadOptions(unit=options.unit, before=options.before, after=options.after)
    if not plain or log.columns.aggregated or log.per_unit or log.rows > MOST_WARM:
        return None
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None


def _diagnosis(
    log: Log,
    findings: Findings,
    draws: list[Draw],
    period: Period,
    gains: list[Gain],
    advice: Recommendation | None,
    seed: int,
) -> Diagnosis:
    sigma = sigma_of(log)
    verdict = verdict_of(sigma, findings)
    arms = diagnose_arms(log, findings, draws, advice)
    # Per unit, the panel tests nothing: users are compared with themselves.
    power = None if log.per_unit else detectable_loss(findings)
    return Diagnosis(
        verdict=verdict,
        summary=summary(verdict, arms, findings, advice, gains),
        driver=findings.driver,
        driver_reason=findings.driver_reason,
        driver_probabilities=findings.together.probabilities,
        rivals=tuple(rivals(findings)),
        placebos=_placebos(findings),
        fewest_rewards=findings.within.fewest,
        sigma=sigma,
        rewards="0/1" if log.binary else "numbers",
        currency=log.currency,
        first_date=_date(log.first_time),
        last_date=_date(log.last_time),
        recommended=advice,
        gain=tuple(gains),
        gain_exposures=period.exposures,
        earned_lately=None if period.earned is None else period.earned + log.offset,
        arms=tuple(arms),
        detectable_loss=power,
        fresh_arms_per_month=fresh_arms_per_month(log, arms),
        fresh_value=fresh_value(findings, draws),
        per_unit=log.per_unit,
        set_aside=findings.bursts,
        periods=log.periods,
        log=log.name,
        columns=str(log.columns),
        notes=log.notes,
        rows=log.rows,
        dropped_rows=sum(log.dropped.values()),
        dropped=log.dropped,
        duplicates=log.duplicates,
        backwards=log.backwards,
        caveats=tuple(find_caveats(log, arms, findings, gains, power)),
        seed=seed,
    )


def _placebos(findings: Findings) -> dict[str, float]:
    users, placebos = findings.log.users, findings.placebos
    if findings.log.per_unit:
        return {} if users is None else {"the order of each user's exposures": users.placebo}
    return {
        "the order of each arm's stretches": placebos.order,
        "which arm was launched when": placebos.launches,
        "which arm earned what, if all are equal": placebos.equal,
    }


def _date(time: float | None) -> str | None:
    """Return the day of a time in seconds since 1970, if it is one.

    >>> _date(1_709_290_000.0), _date(12.0)
    ('2024-03-01', None)
    """
    if time is None or not FIRST_DATE <= time <= LAST_DATE:
        return None
    return datetime.datetime.fromtimestamp(time, datetime.UTC).date().isoformat()


def fresh_arms_per_month(log: Log, arms: list[ArmDiagnosis]) -> float | None:
    """Return how many fresh arms a month use up their half-lives at the log's pace; None if that is not known."""
    half_lives = [arm.half_life for arm in arms if arm.half_life is not None]
    seconds = log.seconds
    # Times that are no dates (row numbers, say) have no months.
    if not half_lives or not seconds or _date(log.first_time) is None:
        return None
    worn = sum(arm.exposures for arm in arms if arm.rotting)  # the others use up nothing
    return worn * MONTH / seconds / float(np.median(half_lives))
