"""The whole of the paper: play what is missing, draw, judge, and write the report."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
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


@dataclass(frozen=True, eq=False)
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
    wanted = {experiment.source for experiment in _shown(settings)} | {claim.experiment for claim in _asked(settings)}
    return [
        Job(experiment.name, block, block.runs or settings.runs or experiment.runs)
        for experiment in EXPERIMENTS
        if experiment.name in wanted
        for block in experiment.blocks
    ]


def _shown(settings: Settings) -> list[Experiment]:
    return [experiment for experiment in EXPERIMENTS if experiment.name in settings.only]


def _asked(settings: Settings) -> list[Claim]:
    """Return the claims to judge: the paper's if they are asked for, those beyond it if their experiment is."""
    asked = set(settings.only)
    return [claim for claim in CLAIMS if (claim.experiment if claim.experiment in BEYOND else CLAIMS_NAME) in asked]


def reproduce(out: Path, settings: Settings, watch: Watcher) -> Reproduction:
    """Play what is not in `out` yet; return the results with their tables, figures and verdicts."""
    results = _played(out / "data", settings, watch)
    tables: Tables = {}
    figures: dict[str, Figure] = {}
    for experiment in _shown(settings):
        tables |= experiment.tables(results[experiment.source])
        figures[experiment.name] = experiment.figure(results[experiment.source])
    return Reproduction(settings, results, tables, figures, judge(results, _asked(settings)), _versions())


def _played(folder: Path, settings: Settings, watch: Watcher) -> dict[str, Results]:
    """Return the results of every job, those that are kept and those that are played now."""
    from rotting.play import gpu_and_threads, place_for
    from rotting.simulation.simulator import Game, finished

    asked = jobs(settings)
    found: dict[Job, xarray.Dataset] = {}
    missing: dict[Game, tuple[Job, Path, str]] = {}
    for job in asked:
        block = job.block
        path = store.file_of(folder, job.experiment, block)
        digest = store.settings_of(block, job.runs, settings.seed, settings.device)
        if (kept := store.load(path, digest)) is not None:
            found[job] = kept
            watch(job, job.work)
            continue
        game = Game(dict(block.policies), block.problem, runs=job.runs, seed=settings.seed, rounds=block.rounds)
        missing[game] = job, path, digest
    place = gpu_and_threads if settings.device == "cuda" else partial(place_for, settings.device)
    on = place(settings.threads)
    with closing(finished(list(missing), on, lambda game, rounds: watch(missing[game][0], rounds))) as played:
        for game in played:
            job, path, digest = missing[game]
            found[job] = game.dataset(settings.device)
            store.save(path, found[job], digest)
    return {
        name: {job.block.key: found[job] for job in asked if job.experiment == name}
        for name in dict.fromkeys(job.experiment for job in asked)
    }


def write(out: Path, reproduction: Reproduction) -> list[Path]:
    """Write all files; return their names. Those in CSV are the same for the same seed, byte for byte."""
    written: list[Path] = []

    def file(name: str) -> Path:
        written.append(out / name)
        return written[-1]

    for name, content in reproduction.tables.items():
        if isinstance(content, list):
            write_csv(file(f"{name}.csv"), content)
        else:
            write_json(file(f"{name}.json"), content)
    pictures = {}
    for name, figure in reproduction.figures.items():
        path = file(f"{name}.png")
        write_figure(path, figure)
        pictures[name] = path.read_bytes()
        figure.set_layout_engine("none")  # it is laid out now, which takes as long as drawing
        write_figure(file(f"{name}.pdf"), figure)
    if reproduction.judgements:
        settings, claims = reproduction.settings, [asdict(judgement) for judgement in reproduction.judgements]
        made = {"seed": settings.seed, "runs": settings.runs or "as in the paper", "versions": reproduction.versions}
        write_json(file("claims.json"), {"settings": made, "claims": claims})
        write_csv(file("claims.csv"), [claim for claim in claims if not claim["clock"]])
    write_text(file("report.html"), report(reproduction, pictures))
    return written


def _versions() -> dict[str, str]:
    from rotting import __version__
    from rotting._core.compiling import kernel_digest

    versions = {"rotting": __version__, "kernels": kernel_digest(), "Python": platform.python_version()}
    return versions | {name: version(name) for name in ("numpy", "numba", "xarray")}
