"""The whole of the paper: play what is missing, draw, judge, and write the report."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rotting._output.files import write_csv, write_figure, write_json, write_text
from rotting.paper import BEYOND, CLAIMS_NAME, NAMES, store
from rotting.paper.claims import CLAIMS, Claim, Judgement, judge
from rotting.paper.experiment import Block, Experiment, Results, Tables, experiments
from rotting.paper.report import report

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

EXPERIMENTS = experiments()


@dataclass(frozen=True)
class Settings:
    """What to reproduce, and how."""

    only: tuple[str, ...] = NAMES
    runs: int | None = None  # None: as many as in the paper
    seed: int = 0
    threads: int | None = None
    device: str = "cpu"


@dataclass(frozen=True)
class Job:
    """A block that belongs to an experiment."""

    experiment: str
    block: Block
    runs: int

    @property
    def name(self) -> tuple[str, str]:
        """The experiment and the key of the block: no other job has both."""
        return self.experiment, self.block.key

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
    tables: Tables
    figures: dict[str, Figure]  # by experiment
    judgements: list[Judgement]
    versions: dict[str, str]

    @property
    def whole(self) -> bool:
        """Whether nothing of the paper was left out."""
        return set(self.settings.only) >= set(NAMES)


def jobs(settings: Settings) -> list[Job]:
    """Return what has to be played, each block once."""
    wanted = {experiment.source for experiment in EXPERIMENTS if experiment.name in settings.only}
    wanted |= {need for claim in _asked(settings) for need in claim.needs}
    return [
        Job(experiment.name, block, block.runs or settings.runs or experiment.runs)
        for experiment in EXPERIMENTS
        if experiment.name in wanted
        for block in experiment.blocks
    ]


def _asked(settings: Settings) -> list[Claim]:
    """Return the claims to judge: the paper's if they are asked for, those beyond it if their experiment is."""
    return [
        claim
        for claim in CLAIMS
        if (set(claim.needs) <= set(settings.only) if set(claim.needs) & set(BEYOND) else CLAIMS_NAME in settings.only)
    ]


def reproduce(out: Path, settings: Settings, watch: Watcher) -> Reproduction:
    """Play what is not in `out` yet; return the results with their tables, figures and verdicts."""
    results, seconds = _played(out / "data", settings, watch)
    tables: Tables = {}
    figures: dict[str, Figure] = {}
    for experiment in _shown(settings):
        tables |= experiment.tables(results[experiment.source])
        figures[experiment.name] = experiment.figure(results[experiment.source])
    judgements = judge(results, _asked(settings))
    return Reproduction(settings, dict(results), seconds, tables, figures, judgements, _versions())


def _shown(settings: Settings) -> list[Experiment]:
    return [experiment for experiment in EXPERIMENTS if experiment.name in settings.only]


def _played(
    folder: Path, settings: Settings, watch: Watcher
) -> tuple[dict[str, dict[str, xarray.Dataset]], dict[str, float]]:
    """Return the results of every job, those that are kept and those that are played now; and the seconds it took."""
    from rotting.play import place_for
    from rotting.simulation.simulator import Game, finished

    began, on = time.perf_counter(), place_for(settings.device, settings.threads)
    found: dict[tuple[str, str], xarray.Dataset] = {}
    missing: dict[Game, tuple[Job, Path, str]] = {}
    for job in jobs(settings):
        path = store.file_of(folder, job.experiment, job.block)
        digest = store.settings_of(job.block, job.runs, settings.seed, settings.device)
        if (dataset := store.load(path, digest)) is not None:
            found[job.name] = dataset
            watch(job, job.work)
            continue
        block = job.block
        game = Game(dict(block.policies), block.problem, runs=job.runs, seed=settings.seed, rounds=block.rounds)
        missing[game] = job, path, digest
    busy: dict[str, float] = {}
    with closing(finished(list(missing), on, lambda game, rounds: watch(missing[game][0], rounds))) as played:
        for game in played:
            job, path, digest = missing[game]
            found[job.name] = game.dataset(settings.device)
            busy[job.experiment] = busy.get(job.experiment, 0.0) + float(game.seconds.sum())
            store.save(path, found[job.name], digest)
    # Experiments are played side by side: each has its share of the time.
    spent = (time.perf_counter() - began) / max(sum(busy.values()), 1e-9)
    results: dict[str, dict[str, xarray.Dataset]] = {}
    for job in jobs(settings):
        results.setdefault(job.experiment, {})[job.block.key] = found[job.name]
    return results, {name: spent * busy.get(name, 0.0) for name in results}


def write(out: Path, reproduction: Reproduction) -> list[Path]:
    """Write all files; return their names. Those in CSV are the same for the same seed, byte for byte."""
    written: list[Path] = []

    def file(name: str) -> Path:
        written.append(out / name)
        return written[-1]

    for name, rows in reproduction.tables.items():
        write_csv(file(f"{name}.csv"), rows)
    for name, figure in reproduction.figures.items():
        for suffix in ("png", "pdf"):
            write_figure(file(f"{name}.{suffix}"), figure)
    if reproduction.judgements:
        claims = [asdict(judgement) for judgement in reproduction.judgements]
        write_json(file("claims.json"), {"settings": _described(reproduction), "claims": claims})
        write_csv(file("claims.csv"), [claim for claim in claims if not claim["clock"]])
    for experiment in _shown(reproduction.settings):
        for name, content in experiment.timings(reproduction.results[experiment.source]).items():
            write_json(file(f"{name}.json"), content)
    write_text(file("report.html"), report(reproduction))
    return written


def _described(reproduction: Reproduction) -> dict[str, object]:
    settings = reproduction.settings
    return {"seed": settings.seed, "runs": settings.runs or "as in the paper", "versions": reproduction.versions}


def _versions() -> dict[str, str]:
    from rotting import __version__
    from rotting._core.compiling import kernel_digest

    versions = {"rotting": __version__, "kernels": kernel_digest(), "Python": platform.python_version()}
    return versions | {name: version(name) for name in ("numpy", "numba", "xarray")}
