"""The whole of the paper: play what is missing, draw, judge, and write the report."""

from __future__ import annotations

import csv
import json
import math
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rotting._core.files import replacing
from rotting.paper import everyone, running_time, stationary, store, ten_arm, theory, two_arm
from rotting.paper.claims import CLAIMS, Judgement, judge
from rotting.paper.experiment import Block, Experiment, Results, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# In the order in which they are played and reported. A new figure is a file like these and a line here.
EXPERIMENTS: tuple[Experiment, ...] = (
    two_arm.EXPERIMENT,
    ten_arm.EXPERIMENT,
    running_time.EXPERIMENT,
    stationary.EXPERIMENT,
    everyone.EXPERIMENT,
    theory.EXPERIMENT,
)
CLAIMS_NAME = "claims"
NAMES = (*(experiment.name for experiment in EXPERIMENTS), CLAIMS_NAME)
# Table 1 is about the same runs as figure 2: they are played once.
SAME_RUNS = {running_time.EXPERIMENT.name: ten_arm.EXPERIMENT.name}


@dataclass(frozen=True)
class Settings:
    """What to reproduce, and how."""

    only: tuple[str, ...] = NAMES
    runs: int | None = None  # None: as many as in the paper
    seed: int = 0
    threads: int | None = None


@dataclass(frozen=True)
class Job:
    """A block that belongs to an experiment."""

    experiment: str
    block: Block
    runs: int

    @property
    def work(self) -> int:
        """How many rounds are played."""
        return self.runs * len(self.block.policies) * self.block.problem.horizon


# Called with a job and the number of rounds played since; a job that was kept is announced with all of its rounds.
Watcher = Callable[[Job, int], None]


@dataclass
class Reproduction:
    """What came out: everything the report shows."""

    settings: Settings
    results: dict[str, Results]  # by experiment
    seconds: dict[str, float]  # spent playing, by experiment
    tables: dict[str, list[Row]]
    figures: dict[str, Figure]
    judgements: list[Judgement]
    versions: dict[str, str]

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return set(self.settings.only) == set(NAMES)


def jobs(settings: Settings) -> list[Job]:
    """Return what has to be played, each block once."""
    wanted = set(settings.only)
    if CLAIMS_NAME in wanted:
        wanted |= {need for claim in CLAIMS for need in claim.needs}
    wanted |= {SAME_RUNS.get(name, name) for name in wanted}
    return [
        Job(experiment.name, block, block.runs or settings.runs or experiment.runs)
        for experiment in EXPERIMENTS
        if experiment.name in wanted and experiment.name not in SAME_RUNS
        for block in experiment.blocks
    ]


def reproduce(out: Path, settings: Settings, watch: Watcher) -> Reproduction:
    """Play what is not in `out` yet; return the results with their tables, figures and verdicts."""
    results: dict[str, dict[str, Any]] = {}
    seconds: dict[str, float] = {}
    for job in jobs(settings):
        began = time.perf_counter()
        results.setdefault(job.experiment, {})[job.block.key] = _played(out / "data", job, settings, watch)
        seconds[job.experiment] = seconds.get(job.experiment, 0.0) + time.perf_counter() - began
    for name, source in SAME_RUNS.items():
        if source in results:
            results[name] = results[source]
    tables: dict[str, list[Row]] = {}
    figures: dict[str, Figure] = {}
    for experiment in EXPERIMENTS:
        if experiment.name in settings.only:
            tables |= experiment.tables(results[experiment.name])
            figures |= experiment.figures(results[experiment.name])
    judgements = judge(results) if CLAIMS_NAME in settings.only else []
    return Reproduction(settings, dict(results), seconds, tables, figures, judgements, _versions())


def _played(folder: Path, job: Job, settings: Settings, watch: Watcher) -> Any:
    """Return a block's results: those that are kept, or else by playing it."""
    from rotting.simulation import simulate

    path = store.file_of(folder, job.experiment, job.block)
    digest = store.settings_of(job.block, job.runs, settings.seed)
    dataset = store.load(path, digest)
    if dataset is not None:
        watch(job, job.work)
        return dataset
    horizon = job.block.problem.horizon
    dataset = simulate(
        dict(job.block.policies),
        job.block.problem,
        runs=job.runs,
        seed=settings.seed,
        rounds=job.block.rounds,
        threads=settings.threads,
        progress=lambda runs: watch(job, runs * horizon),
    )
    store.save(path, dataset, digest)
    return dataset


def write(out: Path, reproduction: Reproduction) -> list[Path]:
    """Write all files; return their names. Those in CSV are the same for the same seed, byte for byte."""
    from rotting.paper.report import report

    written = []
    for name, rows in reproduction.tables.items():
        written.append(out / f"{name}.csv")
        _write_csv(written[-1], rows)
    for name, figure in reproduction.figures.items():
        for suffix in ("png", "pdf"):
            written.append(out / f"{name}.{suffix}")
            with replacing(written[-1]) as temporary:
                figure.savefig(temporary, format=suffix)
    if reproduction.judgements:
        written.append(out / "claims.json")
        claims = [asdict(judgement) for judgement in reproduction.judgements]
        _write_json(written[-1], {"settings": _described(reproduction), "claims": claims})
        written.append(out / "claims.csv")
        _write_csv(written[-1], [asdict(judgement) for judgement in reproduction.judgements if not judgement.clock])
    if "table1" in reproduction.figures:
        times = running_time.seconds_per_run(reproduction.results["table1"])
        written.append(out / "times.json")
        _write_json(written[-1], {"seconds_per_run": times, "published": running_time.PUBLISHED})
    written.append(out / "report.html")
    with replacing(written[-1]) as temporary:
        temporary.write_text(report(reproduction), encoding="utf-8")
    return written


def _described(reproduction: Reproduction) -> dict[str, Any]:
    settings = reproduction.settings
    return {"seed": settings.seed, "runs": settings.runs or "as in the paper", "versions": reproduction.versions}


def _write_csv(path: Path, rows: Sequence[Row]) -> None:
    def shown(value: Any) -> Any:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        return f"{value:.8g}" if isinstance(value, float) else value

    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: shown(value) for name, value in row.items()} for row in rows)


def _write_json(path: Path, content: Any) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _versions() -> dict[str, str]:
    from rotting import __version__
    from rotting._core.compiling import kernel_digest

    versions = {"rotting": __version__, "kernels": kernel_digest(), "Python": platform.python_version()}
    return versions | {name: version(name) for name in ("numpy", "numba", "xarray")}
