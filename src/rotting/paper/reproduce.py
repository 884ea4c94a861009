"""The whole of the paper: play what is missing, draw, judge, and write the report."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rotting._core.processes import processes
from rotting._output.files import write_csv, write_figure, write_json, write_text
from rotting.paper import BEYOND, CLAIMS_NAME, NAMES, store
from rotting.paper.claims import Claim, Judgement
from rotting.paper.experiment import Block, Experiment, Results, experiments
from rotting.paper.report import report

if TYPE_CHECKING:
    import xarray

EXPERIMENTS = experiments()
MOST_WORKERS = 2  # more are not faster: what is left to draw in the end are two experiments
CLAIMS = [claim for experiment in EXPERIMENTS for claim in experiment.claims]


@dataclass(frozen=True)
class Settings:
    """What to reproduce, and how."""

    only: tuple[str, ...] = NAMES
    runs: int | None = None  # None: as many as in the paper
    seed: int = 0
    threads: int | None = None
    device: str = "cpu"

    def shown(self) -> list[Experiment]:
        """Return the experiments to show."""
        return [experiment for experiment in EXPERIMENTS if experiment.name in self.only]

    def claims(self) -> list[Claim]:
        """Return the claims to judge: the paper's if they are asked for, those beyond it if their experiment is."""
        return [
            claim for claim in CLAIMS if (claim.experiment if claim.experiment in BEYOND else CLAIMS_NAME) in self.only
        ]


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
    files: list[Path]  # that were written
    judgements: list[Judgement]
    versions: dict[str, str]

    @property
    def whole(self) -> bool:
        """Whether nothing of the paper was left out."""
        return set(self.settings.only) >= set(NAMES)


def jobs(settings: Settings) -> list[Job]:
    """Return what has to be played, each block once."""
    wanted = {experiment.source for experiment in settings.shown()} | {claim.experiment for claim in settings.claims()}
    return [
        Job(experiment.name, block, block.runs or settings.runs or experiment.runs)
        for experiment in EXPERIMENTS
        if experiment.name in wanted
        for block in experiment.blocks
    ]


def reproduce(out: Path, settings: Settings, watch: Watcher) -> Reproduction:
    """Play what is not in `out` yet; write tables, figures, verdicts and the report. CSV files are the same for a seed.

    An experiment is shown and judged as soon as all of it is played, by other processes if there are processors to
    spare, while others are still playing.
    """
    asked, found = jobs(settings), dict[Job, "xarray.Dataset"]()
    results: dict[str, Results] = {}
    shown: list[Future[list[Path]]] = []
    judged: list[Future[list[Judgement]]] = []
    workers = min(MOST_WORKERS, (settings.threads or os.cpu_count() or 1) // 4)
    aside = processes(workers)
    try:
        for _ in range(workers):  # they import this module while runs are played
            aside.submit(Settings)
        with closing(_datasets(out / "data", settings, asked, watch)) as datasets:
            for job, dataset in datasets:
                found[job] = dataset
                together = [each for each in asked if each.experiment == job.experiment]
                if any(each not in found for each in together):
                    continue
                whole = results[job.experiment] = {each.block.key: found[each] for each in together}
                ours = (each.name for each in settings.shown() if each.source == job.experiment)
                shown += [aside.submit(_show, out, name, whole) for name in ours]
                judged.append(aside.submit(_judge, settings, job.experiment, whole))
        files = [path for each in shown for path in each.result()]
        verdicts = {judgement.name: judgement for each in judged for judgement in each.result()}
        judgements = [verdicts[claim.name] for claim in settings.claims()]
    finally:
        aside.shutdown(cancel_futures=True)
    made = Reproduction(settings, results, files, judgements, _versions())
    _tell(out, made)
    return made


def _datasets(
    folder: Path, settings: Settings, asked: list[Job], watch: Watcher
) -> Generator[tuple[Job, xarray.Dataset]]:
    """Yield what jobs came to: first those that are kept, then the others, as they are played."""
    from rotting.play import gpu_and_threads, place_for
    from rotting.simulation.simulator import Game, finished

    missing: dict[Game, tuple[Job, Path, str]] = {}
    for job in asked:
        block = job.block
        path = store.file_of(folder, job.experiment, block)
        digest = store.settings_of(block, job.runs, settings.seed, settings.device)
        if (kept := store.load(path, digest)) is not None:
            watch(job, job.work)
            yield job, kept
            continue
        game = Game(
            dict(block.policies),
            block.problem,
            runs=job.runs,
            seed=settings.seed,
            rounds=block.rounds,
            trace=block.trace,
        )
        missing[game] = job, path, digest
    place = gpu_and_threads if settings.device == "cuda" else partial(place_for, settings.device)
    on = place(settings.threads)
    with closing(finished(list(missing), on, lambda game, rounds: watch(missing[game][0], rounds))) as played:
        for game in played:
            job, path, digest = missing[game]
            dataset = game.dataset(settings.device)
            store.save(path, dataset, digest)
            yield job, dataset


# Experiments and claims are given to other processes by name: they hold functions, which cannot be pickled.


def _show(out: Path, name: str, results: Results) -> list[Path]:
    """Write the figure and the tables of an experiment; return the files."""
    (experiment,) = (each for each in EXPERIMENTS if each.name == name)
    files = [out / f"{name}{suffix}" for suffix in (".png", ".pdf")]
    figure = experiment.figure(results)
    for path in files:
        write_figure(path, figure)
        figure.set_layout_engine("none")  # it is laid out now, which takes as long as drawing
    for title, table in experiment.tables.items():
        content = table(results)
        if isinstance(content, list):
            files.append(out / f"{title}.csv")
            write_csv(files[-1], content)
        else:
            files.append(out / f"{title}.json")
            write_json(files[-1], content)
    return files


def _judge(settings: Settings, name: str, results: Results) -> list[Judgement]:
    """Return the verdicts on the claims about the runs of an experiment."""
    return [claim.judge(results) for claim in settings.claims() if claim.experiment == name]


def _tell(out: Path, made: Reproduction) -> None:
    """Write the verdicts and the report."""
    made.files.append(out / "report.html")
    if made.judgements:
        settings, claims = made.settings, [asdict(judgement) for judgement in made.judgements]
        how = {"seed": settings.seed, "runs": settings.runs or "as in the paper", "versions": made.versions}
        write_json(out / "claims.json", {"settings": how, "claims": claims})
        write_csv(out / "claims.csv", [claim for claim in claims if not claim["clock"]])
        made.files += [out / "claims.json", out / "claims.csv"]
    pictures = {each.name: (out / f"{each.name}.png").read_bytes() for each in made.settings.shown()}
    write_text(out / "report.html", report(made, pictures))


def _versions() -> dict[str, str]:
    from rotting import __version__
    from rotting._core.compiling import kernel_digest

    versions = {"rotting": __version__, "kernels": kernel_digest(), "Python": platform.python_version()}
    return versions | {name: version(name) for name in ("numpy", "numba", "xarray")}
