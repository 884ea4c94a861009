"""Where a sweep is played: in this process, or by the workers of a Dask cluster.

A worker gets texts: of policies, problems and the user's own modules. It sends arrays back.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting import __version__
from rotting._core import imported
from rotting._core.compiling import kernel_digest
from rotting.errors import BadType, MissingExtra
from rotting.play import Cell, Played, place_for, play
from rotting.play.cell import Place, Tell
from rotting.play.players import Player, players_of
from rotting.policies import parse_policy
from rotting.problems import Problem, parse_problem
from rotting.sweeps.errors import NEEDS_DASK, SweepError
from rotting.sweeps.plan import Plan

if TYPE_CHECKING:
    from distributed import Client, Future

# Tasks submitted per thread of a worker: the one that it plays, and a prefetch depth of two.
_IN_FLIGHT_PER_THREAD = 3
# What makes a task worth its way: so many rounds, or fewer if there would be too few tasks for all workers; on a GPU,
# so many runs.
_TASK_ROUNDS, _TASKS, _GPU_TASK_RUNS = 1 << 22, 64, 1 << 17
_TIMEOUT_SECONDS = 30
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[^/\s]+:\d+")


@contextlib.contextmanager
def opened(plan: Plan, cluster: str | Client | None = None, count: int | None = None) -> Iterator[Place]:
    """Yield where to play.

    Parameters
    ----------
    plan
        What is to be played.
    cluster
        None for this process; the address of a Dask scheduler; a `distributed.Client`; or "local" for a cluster of
        processes on this machine, which ends with the sweep.
    count
        How many threads, or processes of a local cluster (default: one per processor).
    """
    here = place_for(plan.device, count)
    if cluster is None:
        yield here
        return
    with _client(cluster, os.cpu_count() or 1 if count is None else count) as client:
        yield dask(client, plan.device, plan.imports)


def dask(client: Client, device: str = "cpu", sources: Sequence[imported.Source] = ()) -> Place:
    """Return the workers of a cluster as a place to play.

    Parameters
    ----------
    client
        The connection to its scheduler.
    device
        What the workers play on.
    sources
        The user's modules that policies and problems come from.
    """
    return partial(_on_cluster, client=client, device=device, sources=tuple(map(tuple, sources)))


# Some cells, as a worker is told of them, all plain values: the version, a digest of the kernels, the device, the
# user's modules, and of each cell the policy, the problem, the horizon, the recorded rounds, the runs and the seed.
_Task = tuple[str, str, str, tuple[tuple[Any, ...], ...], tuple[tuple[str, str, int, tuple[int, ...], range, int], ...]]


def _on_cluster(
    cells: Sequence[Cell], tell: Tell, client: Client, device: str, sources: tuple[tuple[Any, ...], ...]
) -> Generator[Played]:
    from distributed import as_completed

    if not cells:
        return
    _check_workers(client, device)
    left = _tasks(cells, device)
    finished = as_completed(loop=client.loop)
    in_flight: dict[Future[list[Played]], list[int]] = {}

    def submit() -> None:
        # Counted again each time: workers come and go.
        wanted = _IN_FLIGHT_PER_THREAD * max(sum(client.nthreads().values()), 1)
        for _, places in zip(range(wanted - len(in_flight)), left, strict=False):
            written = tuple(
                (
                    repr(cell.player.given),
                    repr(cell.problem),
                    cell.horizon,
                    tuple(cell.rounds.tolist()),
                    cell.runs,
                    cell.seed,
                )
                for cell in map(cells.__getitem__, places)
            )
            task: _Task = *_identity(), device, sources, written
            future = client.submit(play_task, task, key=f"rotting-{os.urandom(8).hex()}")
            in_flight[future] = places
            finished.add(future)

    try:
        submit()
        for future in finished:
            places = in_flight.pop(future)
            pieces = _result(future, cells[places[0]], cells[places[-1]])
            future.release()
            submit()
            for found in pieces:
                piece = found._replace(cell=places[found.cell])
                tell(piece.cell, len(piece.runs) * cells[piece.cell].horizon)
                yield piece
    finally:
        client.cancel(list(in_flight), force=True)


def _tasks(cells: Sequence[Cell], device: str) -> Iterator[list[int]]:
    """Yield the places of all cells, as many together as make a task worth its way."""
    most = min(_TASK_ROUNDS, max(1, sum(cell.work for cell in cells) // _TASKS))
    parts = [len(cell.runs) / _GPU_TASK_RUNS if device == "cuda" else cell.work / most for cell in cells]
    full = np.diff(np.floor(np.cumsum(parts)), prepend=0.0) > 0  # with this cell a task is
    for places in np.split(np.arange(len(cells)), np.flatnonzero(full) + 1):
        if places.size:
            yield places.tolist()


def play_task(task: _Task) -> list[Played]:
    """Play some cells on a worker, which has nothing but their texts; return what they came to."""
    version, kernels, device, sources, written = task
    if (version, kernels) != _identity():  # a worker may have joined after the others were checked
        from distributed import get_worker

        raise SweepError(
            f"worker {get_worker().address} runs {_said(_identity())}, not {_said((version, kernels))}",
            hint="install the same version, Python and numba there",
        )
    cells = []
    for policy, problem, horizon, rounds, runs, seed in written:
        player, played_on = _player(policy, problem, horizon, sources)
        cells.append(Cell(player, played_on, horizon, np.array(rounds, np.int64), runs, seed))
    return list(play(cells, place_for(device, 1)))


@lru_cache(maxsize=256)
def _player(policy: str, problem: str, horizon: int, sources: tuple[tuple[Any, ...], ...]) -> tuple[Player, Problem]:
    # Another thread may be loading another version of a module: what is read here are classes of this one.
    with imported.LOCK:
        imported.load_sources([imported.Source(*source) for source in sources])
        rule, played_on = parse_policy(policy), parse_problem(problem)
    if (repr(rule), repr(played_on)) != (policy, problem):
        raise SweepError("this worker reads the plan differently", hint="install the same version of rotting there")
    (player,) = players_of(rule, played_on, horizon)
    return player, played_on


# Clusters.


@contextlib.contextmanager
def _client(cluster: str | Client, processes: int) -> Iterator[Client]:
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("a cluster needs Dask", hint=NEEDS_DASK) from None
    if isinstance(cluster, Client):
        yield cluster
        return
    if not isinstance(cluster, str):
        raise BadType(
            "is not a cluster",
            name="cluster",
            value=cluster,
            expected='None, "local", a scheduler\'s address or a Client',
        )
    if cluster != "local" and not _ADDRESS.fullmatch(cluster):
        raise SweepError("is not an address", name="cluster", value=cluster, expected="tcp://HOST:PORT, or local")
    local = {"n_workers": processes, "threads_per_worker": 1, "dashboard_address": ":0"}
    target = local if cluster == "local" else {"address": cluster}
    try:
        client = Client(**target, timeout=_TIMEOUT_SECONDS, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        raise SweepError(f"no Dask scheduler answers at {cluster!r}: {error}") from None
    with client:
        yield client


def _result(task: Future[list[Played]], first: Cell, last: Cell) -> list[Played]:
    """Return what a task came to, or say why there is nothing."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        return list(task.result())
    except KilledWorker as error:
        raise SweepError(
            f"runs {first.runs[0]} to {last.runs[-1]} were given up: {error.allowed_failures + 1} workers died over "
            f"them ({first.player.label} on {first.problem}), the last one {error.last_worker.address}",
            hint="look into its log (memory?), then give the same command again",
        ) from None
    except (FutureCancelledError, OSError) as error:
        raise SweepError(
            f"the connection to the Dask scheduler is lost ({type(error).__name__})",
            hint="nothing that was finished is lost: give the same command again",
        ) from None


def _check_workers(client: Client, device: str) -> None:
    """Refuse, by address, workers that would not compute the same."""

    # Sent by value, being local: a worker without this package can answer, too.
    def identity() -> tuple[str, str]:
        from rotting import __version__
        from rotting._core.compiling import kernel_digest

        if device == "cuda":  # workers of other versions may not know devices
            from rotting.play.gpu.device import require

            require()
        return __version__, kernel_digest()

    try:
        client.wait_for_workers(1, timeout=_TIMEOUT_SECONDS)
    except TimeoutError:
        raise SweepError("the Dask scheduler has no workers", hint="start some: dask worker ADDRESS") from None
    answers = client.run(identity, on_error="return")
    others = [f"{address} ({_said(answer)})" for address, answer in sorted(answers.items()) if answer != _identity()]
    if others:
        raise SweepError(
            f"{len(others)} of {len(answers)} workers do not run {_said(_identity())} and would compute something "
            f"else: {', '.join(others)}",
            hint="install the same version, Python and numba",
        )


def _identity() -> tuple[str, str]:
    return __version__, kernel_digest()


def _said(answer: tuple[str, str] | BaseException) -> str:
    if isinstance(answer, BaseException):
        return f"{type(answer).__name__}: {answer}"
    return f"rotting {answer[0]} with kernels {answer[1]}"
