"""Where blocks are computed: on threads of this process, or by the workers of a Dask cluster.

Both yield blocks as they are finished, in any order, and never hold more than a few at a time.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from rotting._core import imported
from rotting._core.threads import on_threads
from rotting._core.validation import whole_number
from rotting.errors import BadType
from rotting.simulation.simulator import checked_device
from rotting.sweeps.blocks import compute, compute_on_gpu, grouped_for_gpu
from rotting.sweeps.errors import MissingDask, SweepError
from rotting.sweeps.plan import Plan

if TYPE_CHECKING:
    from distributed import Client, Future

Finished = Generator[tuple[range, bytes], None, None]
ComputeBlocks = Callable[[Plan, list[range]], Finished]

# Blocks submitted per thread of a worker: the one that it computes, and a prefetch depth of two.
_IN_FLIGHT_PER_THREAD = 3
_TIMEOUT_SECONDS = 30
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[^/\s]+:\d+")


@contextlib.contextmanager
def open_workers(cluster: str | Client | None = None, threads: int | None = None) -> Iterator[ComputeBlocks]:
    """Yield a function that computes blocks.

    Parameters
    ----------
    cluster
        None for threads of this process; the address of a Dask scheduler; a `distributed.Client`; or "local" for a
        cluster of processes on this machine, which ends with the sweep.
    threads
        How many threads, or processes of a local cluster (default: one per processor).
    """
    count = whole_number("threads", os.cpu_count() or 1 if threads is None else threads, minimum=1)
    if cluster is None:
        yield lambda plan, blocks: _on_gpu(plan, blocks) if plan.device == "cuda" else _on_threads(plan, blocks, count)
        return
    with _client(cluster, count) as client:
        yield lambda plan, blocks: _on_cluster(plan, blocks, client)


def _on_threads(plan: Plan, blocks: list[range], threads: int) -> Finished:
    stop = threading.Event()

    def job(block: range) -> tuple[range, bytes]:
        return block, compute(plan, block, stop)

    return on_threads((partial(job, block) for block in blocks), threads, stop=stop, in_flight=threads + 1)


def _on_gpu(plan: Plan, blocks: list[range]) -> Finished:
    checked_device(plan.device)
    stop = threading.Event()

    def job(group: list[range]) -> list[tuple[range, bytes]]:
        return list(zip(group, compute_on_gpu(plan, group, stop), strict=True))

    # One thread at a time plays; meanwhile the other makes files of what it played before, and their reader writes.
    jobs = (partial(job, group) for group in grouped_for_gpu(plan, blocks))
    with contextlib.closing(on_threads(jobs, 2, stop=stop, in_flight=2)) as finished:
        for group in finished:
            yield from group


# Dask.


@contextlib.contextmanager
def _client(cluster: str | Client, processes: int) -> Iterator[Client]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingDask("a cluster") from None
    if isinstance(cluster, Client):
        yield cluster
        return
    if not isinstance(cluster, str):
        raise BadType(
            "is no cluster", name="cluster", value=cluster, expected='None, "local", a scheduler\'s address or a Client'
        )
    if cluster != "local" and not _ADDRESS.fullmatch(cluster):
        raise SweepError("is not an address", name="cluster", value=cluster, expected="tcp://HOST:PORT, or local")
    with contextlib.ExitStack() as opened:
        target: str | LocalCluster = cluster
        if cluster == "local":
            local = LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=":0")
            target = opened.enter_context(local)
        try:
            client = opened.enter_context(Client(target, timeout=_TIMEOUT_SECONDS, set_as_default=False))
        except (OSError, ValueError, ImportError) as error:
            raise SweepError(f"no Dask scheduler answers at {cluster!r}: {error}") from None
        yield client


def _on_cluster(plan: Plan, blocks: list[range], client: Client) -> Finished:
    from distributed import as_completed

    if not blocks:
        return
    _check_workers(client, plan)
    sources = [tuple(source) for source in plan.imports]
    left = grouped_for_gpu(plan, blocks) if plan.device == "cuda" else ([block] for block in blocks)
    finished = as_completed(loop=client.loop)
    in_flight: dict[Future[list[bytes]], list[range]] = {}

    def submit() -> None:
        # Counted again each time: workers come and go.
        wanted = _IN_FLIGHT_PER_THREAD * max(sum(client.nthreads().values()), 1)
        for _, group in zip(range(wanted - len(in_flight)), left, strict=False):
            key = f"rotting-{plan.digest[:16]}-{group[0].start}-{os.urandom(4).hex()}"
            limits = [(block.start, block.stop) for block in group]
            task = client.submit(compute_from_text, plan.text, plan.digest, limits, sources, key=key)
            in_flight[task] = group
            finished.add(task)

    try:
        submit()
        for task in finished:
            group = in_flight.pop(task)
            encoded = _result(task, group)
            task.release()
            submit()
            yield from zip(group, encoded, strict=True)
    finally:
        client.cancel(list(in_flight), force=True)


def _result(task: Future[list[bytes]], group: list[range]) -> list[bytes]:
    """Return blocks from the cluster, or say why there are none."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        return list(task.result())
    except KilledWorker as error:
        raise SweepError(
            f"runs {group[0].start} to {group[-1].stop - 1} were given up: {error.allowed_failures + 1} workers died "
            f"over them, the last one {error.last_worker.address}",
            hint="look into its log (memory?), then give the same command again",
        ) from None
    except (FutureCancelledError, OSError) as error:
        raise SweepError(
            f"the connection to the Dask scheduler is lost ({type(error).__name__})",
            hint="nothing that was finished is lost: give the same command again",
        ) from None


def _check_workers(client: Client, plan: Plan) -> None:
    """Refuse, by address, workers that would not compute the same."""
    device = plan.device

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
    others = [
        f"{address} ({_description(answer)})"
        for address, answer in sorted(answers.items())
        if answer != (plan.version, plan.kernels)
    ]
    if others:
        raise SweepError(
            f"{len(others)} of {len(answers)} workers do not run rotting {plan.version} with kernels {plan.kernels} "
            f"and would compute something else: {', '.join(others)}",
            hint="install the same version, Python and numba",
        )


def _description(answer: tuple[str, str] | BaseException) -> str:
    if isinstance(answer, BaseException):
        return f"{type(answer).__name__}: {answer}"
    return f"rotting {answer[0]} with kernels {answer[1]}"


def compute_from_text(
    text: str, digest: str, limits: list[tuple[int, int]], sources: Sequence[tuple[str, str, str, bool]] = ()
) -> list[bytes]:
    """Compute blocks on a worker, which has nothing but the texts of the plan and of the user's modules."""
    plan = _plan_of(text, tuple(map(tuple, sources)))
    _check_self(plan)
    if plan.digest != digest:
        raise SweepError("this worker reads the plan differently", hint="install the same version of rotting there")
    blocks = [range(start, stop) for start, stop in limits]
    if plan.device == "cuda":
        return compute_on_gpu(plan, blocks)
    return [compute(plan, block) for block in blocks]


@lru_cache(maxsize=4)
def _plan_of(text: str, sources: tuple[tuple[str, str, str, bool], ...]) -> Plan:
    # Another thread may be loading another version of a module: what is read here are classes of this one.
    with imported.LOCK:
        imported.load_sources([imported.Source(*source) for source in sources])
        return Plan.from_text(text)


def _check_self(plan: Plan) -> None:
    """Refuse to compute for another version: a worker may have joined after the others were checked."""
    from rotting import __version__
    from rotting._core.compiling import kernel_digest

    if (plan.version, plan.kernels) != (__version__, kernel_digest()):
        from distributed import get_worker

        raise SweepError(
            f"worker {get_worker().address} runs rotting {__version__} with kernels {kernel_digest()}, not "
            f"{plan.version} with {plan.kernels}",
            hint="install the same version, Python and numba there",
        )
