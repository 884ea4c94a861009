"""Run a plan: compute the blocks that its folder does not hold yet, and keep each as soon as it is finished."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rotting._core import imported
from rotting.errors import DamagedFile
from rotting.play.cell import Place
from rotting.policies import PolicyLike
from rotting.problems import ProblemLike
from rotting.simulation.fit import check_fit, warn_if_unsuited
from rotting.sweeps.blocks import cut, encode, played_blocks
from rotting.sweeps.cluster import opened
from rotting.sweeps.extending import Earlier
from rotting.sweeps.folder import Folder
from rotting.sweeps.plan import Plan
from rotting.sweeps.progress import Reporter, Tally, reporting
from rotting.sweeps.results import open_results

if TYPE_CHECKING:
    import xarray
    from distributed import Client


def sweep(
    policies: PolicyLike | Iterable[PolicyLike],
    problems: ProblemLike | Iterable[ProblemLike],
    runs: int = 100,
    seed: int = 0,
    *,
    out: str | Path,
    horizon: int | None = None,
    rounds: int | Iterable[int] | None = None,
    cluster: str | Client | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    overwrite: bool = False,
    device: str = "cpu",
    imports: Iterable[str | Path] = (),
    extend: bool = False,
) -> xarray.Dataset:
    """Play every policy on every problem, keeping results on disk: interrupted, it goes on where it was.

    Every run is the one that `rotting.simulate` plays under the same number, whatever the threads, workers and
    interruptions.

    Parameters
    ----------
    policies, problems
        Several of each, or one: policies of the package and problems, or texts such as "FEWA(alpha=0.06)".
    runs, seed, rounds
        As in `rotting.simulate`.
    out
        The folder to keep results in. If it holds a part of this sweep, only the rest is computed.
    horizon
        Rounds per run (default: each problem's own).
    cluster
        None to compute on threads of this process, the address of a Dask scheduler, a `distributed.Client`, or "local".
    threads
        How many threads, or processes of a local cluster (default: one per processor).
    progress
        True for a progress bar, False for none (default: a bar on a terminal, a line per minute elsewhere).
    overwrite
        Whether the results of another plan in the folder may be deleted.
    device
        As in `rotting.simulate`. With a cluster, every worker needs a GPU for "cuda". A folder holds results of one
        kind of device.
    imports
        Files or modules with policies, dynamics, curves and noise of your own; files beside them that they import
        belong to them. They are executed again, sent to workers, and kept in the folder; results of another version of
        them are another plan's.
    extend
        Whether results of an earlier plan in the folder are taken over, if this one has all of its policies and
        problems, as many runs or more, and the same seed, rounds and device. Only what is new is played, and the folder
        ends up as if it had been made at once.

    Returns
    -------
    xarray.Dataset
        What `rotting.open_results` gives.

    Examples
    --------
    >>> import tempfile
    >>> from rotting import FEWA, UCB1, problems
    >>> folder = tempfile.mkdtemp()
    >>> result = sweep([FEWA(), UCB1()], [problems.two_arm(L=1.0, horizon=500), "ten_arm()"], runs=3, out=folder)
    >>> dict(result.sizes)
    {'problem': 2, 'policy': 2, 'run': 3, 'round': 256, 'arm': 10}
    """
    for module in imports:
        imported.load(module)
    plan = Plan.of(policies, problems, runs, seed, rounds, horizon, device)
    for problem in plan.problems:
        for policy in plan.policies:
            check_fit(policy, problem)
    run_plan(plan, out, cluster, threads, progress, overwrite, extend)
    return open_results(out)


def run_plan(
    plan: Plan,
    out: str | Path,
    cluster: str | Client | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    overwrite: bool = False,
    extend: bool = False,
) -> Tally:
    """Compute what is missing in a folder; return what is finished. Parameters as in `sweep`."""
    warn_if_unsuited(plan.policies, plan.problems)
    tally = Tally(plan)
    with opened(plan, cluster, threads) as on, reporting(tally, progress) as report:

        def check(folders: list[Folder]) -> None:
            Earlier(plan, folders, lambda damage: None).check_other_versions(on, report.note)

        with Folder.held(out, plan, overwrite, check if extend else None) as folder:
            _run(folder, on, report)
    return tally


def _run(folder: Folder, on: Place, report: Reporter) -> None:
    """Compute and keep what is missing in a folder that is held."""
    plan, tally = folder.plan, report.tally
    missing = _missing(folder, report)
    earlier = Earlier(plan, folder.earlier(), report.note)
    for block in missing:
        for known in earlier.known(block):
            tally.add(known)
    report.begin()
    # Closed at once if anything goes wrong, such as a full disk: no worker goes on computing.
    with contextlib.closing(played_blocks(plan, missing, on, earlier.gaps, earlier.content, tally.add)) as finished:
        for block, content in finished:
            report.show()
            folder.write(block, encode(content))
    folder.forget_earlier()


def _missing(folder: Folder, report: Reporter) -> list[range]:
    """Return the blocks still to be computed; every block that is there is checked bit by bit."""
    there = set(folder.blocks())
    missing = []
    for block in cut(folder.plan):
        try:
            if block not in there:
                missing.append(block)
                continue
            folder.read(block)
            report.tally.add(block)
            report.show()
        except DamagedFile as damage:
            report.note(f"{folder.file(block)} is damaged ({damage}); it is computed again.")
            missing.append(block)
    return missing
