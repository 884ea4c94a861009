"""The diagnosis of a log: everything together."""

from __future__ import annotations

import dataclasses
import math
import os
from pathlib import Path

import numpy as np

from rotting._core.randomness import checked_seed
from rotting._output.files import write_json, write_text
from rotting._output.progress import progress_bar
from rotting.errors import BadValue
from rotting.logs.caveats import find_caveats
from rotting.logs.driver import EXPOSURE, Driver
from rotting.logs.findings import Findings, find_wear_out
from rotting.logs.fitting import Fitted, batch_of, fit_log
from rotting.logs.gain import REFITS, Gain, estimate_gains
from rotting.logs.noise import sigma_of
from rotting.logs.reading import Log, read_log
from rotting.logs.recommending import Recommendation, recommend
from rotting.logs.shapes import with_values
from rotting.logs.sources import LogSource
from rotting.logs.wearout import Band, discoveries, isotonic_band
from rotting.problems.curves import Curve, Drop, Exponential

ROTTING, NOT_ROTTING, CONSTANT_REWARDS = "rotting", "no wear-out found", "rewards never change"
JSON_NAME, PAGE_NAME = "diagnosis.json", "report.html"
LONGEST_HALF_LIFE = 10  # times the exposures of the arm; longer ones are not given


@dataclasses.dataclass(frozen=True)
class ArmDiagnosis:
    """What the log says about one arm."""

    arm: str
    exposures: int
    rotting: bool
    p_value: float
    half_life: float | None  # exposures until half the first value is lost; None if that is not seen
    half_life_beyond_log: bool  # extrapolated: the log has fewer exposures than that
    value_first: float
    value_last: float
    value_lost: float  # value_first - value_last
    rising: bool
    recovering: bool
    drop_at: int | None  # the exposure at which the value drops, if it does so at once
    shape: str  # the fitted curve
    curve: dict[str, list[float]]  # exposure, mean, fit (isotonic), low and high (of its 90 % band)


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """What a log says. Its fields are those of diagnosis.json."""

    verdict: str  # "rotting", "no wear-out found" or "rewards never change"
    summary: str  # the verdict in one sentence
    driver: str  # "exposure", "calendar" or "cannot tell"
    driver_reason: str
    sigma: float
    rewards: str  # "0/1" or "numbers"
    recommended: Recommendation | None  # None with one arm, or rewards that never change
    gain: tuple[Gain, ...]  # empty with one arm, per unit, or where rewards never change
    arms: tuple[ArmDiagnosis, ...]
    log: str
    columns: str
    rows: int
    dropped_rows: int
    dropped: dict[str, int]
    duplicates: int
    backwards: int
    caveats: tuple[str, ...]
    seed: int

    def gain_of(self, policy: str) -> Gain:
        """Return the gain of one policy, such as "FEWA" or "oracle"."""
        gains = {gain.policy: gain for gain in self.gain}
        if policy not in gains:
            expected = f"one of {', '.join(map(repr, gains))}" if gains else "a diagnosis with gains"
            raise BadValue("has no gain here", name="policy", value=policy, expected=expected)
        return gains[policy]

    def as_json(self) -> dict[str, object]:
        """Return the content of diagnosis.json; gains by policy, in rewards per 1000 exposures."""
        content: dict[str, object] = dataclasses.asdict(self)
        rows = [dataclasses.asdict(gain) for gain in self.gain]
        content["gain"] = {row.pop("policy"): row for row in rows}
        return content

    def save(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write diagnosis.json and report.html into a folder, created if necessary; return their paths."""
        from rotting.logs.report import report_page

        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        write_json(target / JSON_NAME, self.as_json())
        write_text(target / PAGE_NAME, report_page(self))
        return target / JSON_NAME, target / PAGE_NAME


def diagnose(
    log: LogSource,
    arm: str | None = None,
    reward: str | None = None,
    time: str | None = None,
    unit: str | None = None,
    seed: int = 0,
    drop_duplicates: bool = False,
    show_progress: bool | None = None,
) -> Diagnosis:
    """Return whether the arms of a log wear out, how fast, what drives it, and what a bandit would gain.

    Parameters
    ----------
    log
        A .csv, .csv.gz or .parquet file, a table in a DuckDB or SQLite file (`file.db::table`), or a frame (pandas, or
        what turns into one: Polars, Arrow): one row per exposure.
    arm, reward, time, unit
        Columns. The first three are guessed from their names where they are not given. With a unit (such as a user),
        exposures are counted per unit.
    seed
        Same log and seed, same diagnosis.
    drop_duplicates
        Whether rows that repeat another in every column are dropped (they are counted in any case).
    show_progress
        Whether to show a progress bar (default: on a terminal).

    Raises
    ------
    LogError
        If the log cannot be diagnosed: a ValueError that says what is wrong with it, and what to do.
    MissingExtra
        Without DuckDB, which `rotting[logs]` installs.

    Examples
    --------
    >>> import rotting
    >>> log = rotting.logs.make_log(arms=2, exposures=400, start=0.4, end=0.05, seed=1)
    >>> diagnosis = rotting.diagnose(log)
    >>> diagnosis.verdict, [arm.rotting for arm in diagnosis.arms]
    ('rotting', [True, True])
    """
    seed = checked_seed(seed)
    generator = np.random.default_rng(seed)
    with progress_bar(show_progress) as progress:
        read = read_log(log, arm, reward, time, unit, drop_duplicates, step=progress.stage)
        progress.stage("fitting wear-out", len(read.arms))
        findings = find_wear_out(read, generator, progress.advance)
        bands = [isotonic_band(each, read, generator) for each in read.arms]
        along_exposures = fit_log(read, EXPOSURE)
        gains: list[Gain] = []
        if len(read.arms) > 1 and not read.per_unit and sigma_of(read) > 0:
            progress.stage("simulating policies", REFITS + 1)
            driver = findings.driver.name
            fitted = along_exposures if driver == EXPOSURE else fit_log(read, driver)
            gains = estimate_gains(fitted, seed, step=progress.advance)
    arms = _diagnose_arms(read, findings, bands, along_exposures)
    return _diagnosis(read, arms, findings.driver, gains, seed)


def _diagnose_arms(log: Log, findings: Findings, bands: list[Band], fitted: Fitted) -> list[ArmDiagnosis]:
    rising = discoveries(findings.p_values.rising)
    recovering = discoveries(findings.p_values.recovering) & findings.rotting
    arms = []
    for index, (arm, band) in enumerate(zip(log.arms, bands, strict=True)):
        last_exposure = fitted.samples[index].x[-1]
        curve = with_values(fitted.curves[index], lambda value: value + log.offset)
        first, last = float(curve(0)), float(curve(int(last_exposure)))
        half = half_life(curve) if findings.rotting[index] else None
        if half is not None and half > LONGEST_HALF_LIFE * (1 + last_exposure):
            half = None
        arms.append(
            ArmDiagnosis(
                arm=arm.name,
                exposures=arm.exposures,
                rotting=bool(findings.rotting[index]),
                p_value=float(findings.p_values.falling[index]),
                half_life=half,
                half_life_beyond_log=half is not None and half > float(last_exposure) + 1,
                value_first=first,
                value_last=last,
                value_lost=first - last,
                rising=bool(rising[index]),
                recovering=bool(recovering[index]),
                drop_at=curve.at if isinstance(curve, Drop) else None,
                shape=str(curve),
                curve={"exposure": band.exposure.tolist()}
                | {field: (getattr(band, field) + log.offset).tolist() for field in ("mean", "fit", "low", "high")},
            )
        )
    return arms


def half_life(curve: Curve) -> float | None:
    """Return the exposures after which half of the first value is lost, or None if that never happens.

    >>> half_life(Exponential(start=1.0, rate=0.01))
    69.3...
    >>> half_life(Drop(before=1.0, after=0.6, at=100)) is None
    True
    """
    if isinstance(curve, Exponential) and curve.start > 0 and curve.floor < curve.start / 2:
        return math.log((curve.start - curve.floor) / (curve.start / 2 - curve.floor)) / curve.rate
    if isinstance(curve, Drop) and curve.before > 0 and curve.after <= curve.before / 2:
        return float(curve.at)
    return None


def _diagnosis(log: Log, arms: list[ArmDiagnosis], driver: Driver, gains: list[Gain], seed: int) -> Diagnosis:
    sigma = sigma_of(log)
    rotting = any(arm.rotting for arm in arms)
    verdict = CONSTANT_REWARDS if sigma == 0 else ROTTING if rotting else NOT_ROTTING
    choice = sigma > 0 and len(arms) > 1
    batch = batch_of(log.exposures) if gains else 1
    advice = recommend(len(arms), sigma, log.binary, rotting, driver.name, batch) if choice else None
    return Diagnosis(
        verdict=verdict,
        summary=_summary(verdict, arms, driver, advice, gains),
        driver=driver.name,
        driver_reason=driver.reason,
        sigma=sigma,
        rewards="0/1" if log.binary else "numbers",
        recommended=advice,
        gain=tuple(gains),
        arms=tuple(arms),
        log=log.name,
        columns=str(log.columns),
        rows=log.rows,
        dropped_rows=sum(log.dropped.values()),
        dropped=log.dropped,
        duplicates=log.duplicates,
        backwards=log.backwards,
        caveats=tuple(find_caveats(log, arms, driver, gains)),
        seed=seed,
    )


def _summary(
    verdict: str, arms: list[ArmDiagnosis], driver: Driver, advice: Recommendation | None, gains: list[Gain]
) -> str:
    """Return the verdict in one sentence."""
    if verdict == CONSTANT_REWARDS:
        return "Rewards hardly ever change from one exposure to the next, so there is nothing to learn from this log."
    rotting = [arm for arm in arms if arm.rotting]
    if not rotting:
        finding = f"None of the {len(arms)} arms is" if len(arms) > 1 else "The only arm is not"
        finding += " seen to wear out"
    else:
        share, their = "The only arm wears out", "its"
        if len(arms) > 1:
            share, their = f"{len(rotting)} of {len(arms)} arms wear out", "their"
        cause = {"exposure": ", driven by exposures", "calendar": ", driven by the calendar rather than by exposures"}
        finding = share + _speed(rotting, their) + cause.get(driver.name, "")
    return f"{finding}{_expected_gain(advice, gains)}."


def _speed(rotting: list[ArmDiagnosis], their: str) -> str:
    half_lives = [arm.half_life for arm in rotting if arm.half_life is not None]
    if not half_lives:
        return ""
    beyond = 2 * sum(arm.half_life_beyond_log for arm in rotting) > len(half_lives)
    speed = f", losing half {their} value in about {_rounded(float(np.median(half_lives)))} exposures"
    return speed + (" (more than the log holds)" if beyond else "")


def _expected_gain(advice: Recommendation | None, gains: list[Gain]) -> str:
    if advice is None or not gains:
        return ""
    gain = next(each for each in gains if each.policy == advice.played_as)
    if gain.pessimistic.low <= 0:
        return f"; whether {advice.label} would have earned more than the logged allocation is uncertain"
    logged = gains[0].reward.point
    least, most = gain.pessimistic.point, gain.held.point
    relative = ""
    if logged > 0 and least > 0.005 * logged:
        relative = f" ({_span(100 * least / logged, 100 * most / logged)} %)"
    return f"; {advice.label} would have earned about {_span(least, most)} more per 1000 exposures{relative}"


def _span(least: float, most: float) -> str:
    """Return two numbers to two digits, as one if they do not differ.

    >>> _span(3.14, 4.6), _span(3.14, 3.12)
    ('3.1 to 4.6', '3.1')
    """
    texts = [f"{number:.2g}" if abs(number) < 10 else _rounded(number) for number in (least, most)]
    return texts[0] if texts[0] == texts[1] else " to ".join(texts)


def _rounded(value: float) -> str:
    """Return a number to two significant digits, which is more than is known."""
    digits = 1 - math.floor(math.log10(max(value, 1.0)))
    return f"{round(value, digits):,.0f}"
