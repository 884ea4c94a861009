"""Where blocks are computed: on threads of this process, or by the workers of a Dask cluster.

Both yield blocks as they are finished, in any order, and never hold more than a few at a time.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rotting.simulation.simulator import whole_number
from rotting.sweeps.blocks import compute
from rotting.sweeps.errors import SweepError
from rotting.sweeps.plan import Plan

if TYPE_CHECKING:
    from distributed import Client

Finished = Generator[tuple[range, bytes], None, None]
Crew = Callable[[Plan, list[range]], Finished]

# For each thread of a worker: one block under way, and others on its desk so that it need not wait for the next.
_PER_THREAD = 3
_PATIENCE_SECONDS = 30
_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[^/\s]+:\d+")


@contextlib.contextmanager
def crew(cluster: Any = None, threads: int | None = None) -> Iterator[Crew]:
    """Yield what computes blocks.

    Parameters
    ----------
    cluster
        None for threads of this process; the address of a Dask scheduler; a `distributed.Client`; or "local" for a
        cluster of processes on this machine, which ends with the sweep.
    threads
        How many threads, or processes of a local cluster (default: one per processor).
    """
    count = whole_number("threads", os.cpu_count() or 1 if threads is None else threads)
    if cluster is None:
        yield lambda plan, blocks: _on_threads(plan, blocks, count)
        return
    with _client(cluster, count) as client:
        yield lambda plan, blocks: _on_cluster(plan, blocks, client)


def _on_threads(plan: Plan, blocks: list[range], threads: int) -> Finished:
    stop = threading.Event()
    with ThreadPoolExecutor(threads) as pool:
        under_way: dict[Future[bytes], range] = {}
        left = iter(blocks)
        try:
            while True:
                for block in left:
                    under_way[pool.submit(compute, plan, block, stop)] = block
                    if len(under_way) > threads:
                        break
                if not under_way:
                    return
                # Woken now and then, to notice Ctrl-C.
                done, _ = wait(under_way, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    yield under_way.pop(future), future.result()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)


# Dask.


@contextlib.contextmanager
def _client(cluster: Any, processes: int) -> Iterator[Client]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise SweepError('a cluster needs Dask: pip install "rotting[dask]"') from None
    if isinstance(cluster, Client):
        yield cluster
        return
    if not isinstance(cluster, str):
        raise TypeError(f'cluster={cluster!r}: expected None, "local", the address of a scheduler or a Client')
    if cluster != "local" and not _ADDRESS.fullmatch(cluster):
        raise SweepError(f"cluster {cluster!r} is not an address; expected tcp://HOST:PORT, or local")
    with contextlib.ExitStack() as opened:
        if cluster == "local":
            made = LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=":0")
            cluster = opened.enter_context(made)
        try:
            client = opened.enter_context(Client(cluster, timeout=_PATIENCE_SECONDS, set_as_default=False))
        except (OSError, ValueError, ImportError) as error:
            raise SweepError(f"no Dask scheduler answers at {cluster!r}: {error}") from None
        yield client


def _on_cluster(plan: Plan, blocks: list[range], client: Client) -> Finished:
    from distributed import as_completed

    if not blocks:
        return
    _check_workers(client, plan)
    left = iter(blocks)
    finished = as_completed(loop=client.loop)
    under_way: dict[Any, range] = {}

    def submit() -> None:
        # Asked anew each time: workers come and go.
        wanted = _PER_THREAD * max(sum(client.nthreads().values()), 1)
        for _, block in zip(range(wanted - len(under_way)), left, strict=False):
            key = f"rotting-{plan.digest[:16]}-{block.start}-{os.urandom(4).hex()}"
            task = client.submit(compute_from_text, plan.text, plan.digest, block.start, block.stop, key=key)
            under_way[task] = block
            finished.add(task)

    try:
        submit()
        for task in finished:
            block = under_way.pop(task)
            sealed = _result(task, block)
            task.release()
            submit()
            yield block, sealed
    finally:
        client.cancel(list(under_way), force=True)


def _result(task: Any, block: range) -> bytes:
    """Return a block from the cluster, or say why it cannot be had."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    try:
        return task.result()
    except KilledWorker as error:
        raise SweepError(
            f"runs {block.start} to {block.stop - 1} were given up: {error.allowed_failures + 1} workers died over "
            f"them, the last one {error.last_worker.address}; look into its log (memory?), then give "
            "the same command again"
        ) from None
    except (FutureCancelledError, OSError) as error:
        raise SweepError(
            f"the connection to the Dask scheduler is lost ({type(error).__name__}); nothing that was finished is "
            "lost: give the same command again"
        ) from None


def _check_workers(client: Client, plan: Plan) -> None:
    """Refuse, by name, workers that would not compute the same."""

    # Sent by value, being local: a worker without this package can answer, too.
    def identity() -> tuple[str, str]:
        from rotting import __version__
        from rotting._core.compiling import kernel_digest

        return __version__, kernel_digest()

    try:
        client.wait_for_workers(1, timeout=_PATIENCE_SECONDS)
    except TimeoutError:
        raise SweepError("the Dask scheduler has no workers; start some: dask worker ADDRESS") from None
    answers = client.run(identity, on_error="return")
    strangers = [
        f"{address} ({_said(answer)})"
        for address, answer in sorted(answers.items())
        if answer != (plan.version, plan.kernels)
    ]
    if strangers:
        raise SweepError(
            f"{len(strangers)} of {len(answers)} workers do not run rotting {plan.version} with kernels {plan.kernels} "
            f"and would compute something else: {', '.join(strangers)}; install the same version, Python and numba"
        )


def _said(answer: Any) -> str:
    if isinstance(answer, BaseException):
        return f"{type(answer).__name__}: {answer}"
    return f"rotting {answer[0]} with kernels {answer[1]}"


def compute_from_text(text: str, digest: str, start: int, stop: int) -> bytes:
    """Compute a block on a worker, which has nothing but the text of the plan."""
    plan = _plan_of(text)
    _check_self(plan)
    if plan.digest != digest:
        raise SweepError("this worker reads the plan differently: it runs another version of rotting")
    return compute(plan, range(start, stop))


@lru_cache(maxsize=4)
def _plan_of(text: str) -> Plan:
    return Plan.from_text(text)


def _check_self(plan: Plan) -> None:
    """Refuse to compute for another version: a worker may have joined after the others were asked."""
    from rotting import __version__
    from rotting._core.compiling import kernel_digest

    if (plan.version, plan.kernels) != (__version__, kernel_digest()):
        from distributed import get_worker

        raise SweepError(
            f"worker {get_worker().address} runs rotting {__version__} with kernels {kernel_digest()}, not "
            f"{plan.version} with {plan.kernels}; install the same version, Python and numba there"
        )
