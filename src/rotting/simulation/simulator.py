"""Policies against each other on one problem, on common random numbers."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rotting._core.randomness import checked_seed
from rotting._core.threads import on_threads
from rotting._core.validation import whole_number
from rotting._output.progress import progress_bar
from rotting.errors import BadType, BadValue, KernelError
from rotting.problems import OracleResult, Problem
from rotting.simulation.contestants import Contestant, Players, contestants
from rotting.simulation.delays import Delay, as_delay
from rotting.simulation.detail import Detail
from rotting.simulation.loop import Journal, StreamsAhead, new_journal, streams_of_each
from rotting.simulation.traces import Extras, checked_trace

if TYPE_CHECKING:
    import xarray

MOST_ROUNDS = 256
DEVICES = ("cpu", "cuda")
LAST_RUN = 2**62  # runs and rounds are numbered with 64 bits
# What runs came to: what they earned [player, run, round], pulls [player, run, arm], the seconds they took [player].
_Played = tuple[np.ndarray, np.ndarray, np.ndarray]


def simulate(
    policies: Players,
    problem: Problem,
    horizon: int | None = None,
    runs: int = 100,
    seed: int = 0,
    rounds: int | npt.ArrayLike | None = None,
    threads: int | None = None,
    progress: bool | Callable[[int], None] | None = None,
    first_run: int = 0,
    check: bool = False,
    device: str = "cpu",
    trace: str | Iterable[str] = (),
    delay: Delay | int = 0,
) -> xarray.Dataset:
    """Play every policy on a problem, many times, and measure its expected regret against the oracle.

    Every policy faces the same rewards: the noise of arm i's n-th pull in run r is a function of (seed, r, i, n).
    Results are bit-identical for any number of threads.

    Parameters
    ----------
    policies
        A policy or several: a list, or a dictionary from labels to policies. Besides the package's policies, any class
        with `select()` and `update(arm, reward)` will do (it is called as `Class(n_arms)`), though slowly.
    problem
        What to play on.
    horizon
        Rounds per run (default: the problem's own).
    runs
        Independent runs of each policy.
    seed
        A whole number >= 0.
    rounds
        The rounds at which regret is recorded: increasing whole numbers from 1 to the horizon, or how many of them
        (evenly spaced, the last included). Default: at most 256.
    threads
        How many runs are played at once (default: one per processor).
    progress
        Whether to show a progress bar (default: on a terminal); or a function to call now and then with the number of
        runs that have been finished since.
    first_run
        The number of the first run: 100 adds to an earlier result of 100 runs, which were numbers 0 to 99.
    check
        Play compiled policies in plain Python with every index checked: slow, for authors of kernels, who are led to
        the line that breaks the kernel contract. Results are the same, except that Python stops at 1.0 / 0.0 and
        log(0.0), which compiled code takes for infinities.
    device
        "cpu", or "cuda" for an NVIDIA GPU (needs `rotting[cuda]`), which plays compiled policies only: see docs/gpu.md.
    trace
        What to keep besides: "actions" (`actions[policy, run, t]`, the arm of each round), "rewards" (`rewards[policy,
        run, t]`, what its pull paid), "pulls" (`pulls_over_time[policy, run, round, arm]`). The first two take 4 and 8
        bytes per round of each run.
    delay
        How many rounds later than usual a reward is learnt: a whole number, or
        `rotting.simulation.GeometricDelay(mean)` for one that is drawn for each pull, as a function of (seed, run, arm,
        n). A policy decides as if it had been given the rewards that have arrived, and no others; regret is that of the
        pulls, whenever their rewards arrive.

    Returns
    -------
    xarray.Dataset
        `regret[policy, run, round]`, `pulls[policy, run, arm]`, `seconds[policy]` (processor time, or time of the
        GPU, spent playing all runs) and `oracle_reward[round]` (`[run, round]` where each run draws its own arms). Its
        attributes say how it was made, and which oracle regret is measured against.

    Examples
    --------
    >>> import rotting
    >>> policies = [rotting.FEWA(), rotting.Uniform()]
    >>> result = rotting.simulate(policies, rotting.problems.two_arm(L=4, horizon=1000), runs=5)
    >>> result.regret.sizes
    Frozen({'policy': 2, 'run': 5, 'round': 250})
    >>> result.regret.isel(round=-1).mean("run").values.round(1)
    array([ 10.4, 512.4])
    """
    if not isinstance(problem, Problem):
        raise BadType("is not a rotting.Problem", name="problem", value=problem, hint="rotting.problems has named ones")
    horizon = whole_number("horizon", problem.horizon if horizon is None else horizon, minimum=1, maximum=LAST_RUN)
    runs, seed = whole_number("runs", runs, minimum=1, maximum=LAST_RUN), checked_seed(seed)
    threads = whole_number("threads", os.cpu_count() or 1 if threads is None else threads, minimum=1)
    first_run = whole_number("first_run", first_run, minimum=0, maximum=LAST_RUN - runs)
    recorded = recorded_rounds(rounds, horizon)
    players = contestants(policies, problem, horizon, check)
    sizes = len(players), runs, problem.n_arms, horizon, len(recorded)
    extras = Extras(as_delay(delay), checked_trace(trace), *sizes)
    extras.refuse_on(device)

    with _progress(len(players) * runs, progress) as advance:
        if checked_device(device) == "cuda":
            played = _on_gpu(players, problem, horizon, recorded, seed, first_run, runs, advance)
        else:
            played = _on_cpu(players, problem, horizon, recorded, seed, first_run, runs, threads, advance, extras)
    oracle = oracle_of_runs(problem, recorded, seed, range(first_run, first_run + runs))
    result = make_dataset(players, problem, horizon, seed, recorded, oracle, device, *played)
    return extras.added_to(result.assign_coords(run=result["run"] + int(first_run)))


def mean_rewards(policies: Players, problem: Problem, horizon: int, runs: int, seed: int) -> np.ndarray:
    """Return the expected reward of each policy up to the horizon, the mean of its runs: those of `simulate`.

    Without a dataset and its labels, which take longer than some hundred rounds do: for many short simulations.

    >>> import rotting
    >>> mean_rewards([rotting.FEWA()], rotting.problems.two_arm(L=4, horizon=1000), 1000, runs=5, seed=0).shape
    (1,)
    """
    players = contestants(policies, problem, horizon)
    extras = Extras(as_delay(0), checked_trace(()), len(players), runs, problem.n_arms, horizon, 1)
    last, threads = np.array([horizon]), os.cpu_count() or 1
    earned, *_ = _on_cpu(players, problem, horizon, last, seed, 0, runs, threads, lambda _: None, extras)
    return np.asarray(earned[:, :, 0].mean(axis=1))


def _on_cpu(
    players: list[Contestant],
    problem: Problem,
    horizon: int,
    rounds: np.ndarray,
    seed: int,
    first_run: int,
    runs: int,
    threads: int,
    advance: Callable[[int], None],
    extras: Extras,
) -> _Played:
    """Play every run on threads."""
    earned = np.empty((len(players), runs, len(rounds)))
    pulls = np.empty((len(players), runs, problem.n_arms), np.int64)
    seconds = np.zeros((len(players), runs))
    stop = threading.Event()

    def play_some(player: int, some: range) -> int:
        numbers = range(first_run + some.start, first_run + some.stop)
        for run, streams in zip(some, streams_of_each(seed, numbers, problem.n_arms), strict=True):
            journal, number = new_journal(rounds, problem), first_run + run
            detail = extras.detail(seed, number) if extras.wanted else None
            seconds[player, run] = play_run(players[player], problem, streams, number, horizon, journal, stop, detail)
            earned[player, run], pulls[player, run] = journal.earned, journal.pulls
            if detail is not None:
                extras.keep(player, run, detail)
        return len(some)

    for player in players:
        player.prepare(problem, rounds, extras.detail(seed, first_run) if extras.wanted else None)
    jobs = (
        partial(play_some, number, some)
        for number, player in enumerate(players)
        for some in _pieces(runs, min(_runs_at_once(player, horizon), -(-runs // (4 * threads))))
    )
    with closing(on_threads(jobs, threads, stop=stop)) as finished:
        for played in finished:
            advance(played)
    return earned, pulls, seconds.sum(axis=1)


def _on_gpu(
    players: list[Contestant],
    problem: Problem,
    horizon: int,
    rounds: np.ndarray,
    seed: int,
    first_run: int,
    runs: int,
    advance: Callable[[int], None],
) -> _Played:
    """Play every run on a GPU."""
    from rotting.simulation._cuda.batches import Cell
    from rotting.simulation._cuda.playing import played_together, refuse_python

    cells = [Cell(refuse_python(player), problem, horizon, rounds, first_run, runs) for player in players]
    results = played_together(cells, seed, advance)
    earned, pulls, seconds = zip(*results, strict=True)
    return np.stack(earned), np.stack(pulls), np.array(seconds)


def _runs_at_once(player: Contestant, horizon: int) -> int:
    """Return how many runs a thread plays before it reports; to report each short one would cost a tenth of it."""
    return max(1, 8 * player.rounds_at_once // horizon)


def _pieces(runs: int, size: int) -> Iterator[range]:
    """Yield the numbers of all runs, so many at a time."""
    for first in range(0, runs, size):
        yield range(first, min(first + size, runs))


def recorded_rounds(rounds: int | npt.ArrayLike | None, horizon: int) -> np.ndarray:
    """Return the rounds to record as an increasing int64 array.

    >>> recorded_rounds(4, 100)
    array([ 25,  50,  75, 100])
    """
    if rounds is None or np.ndim(rounds) == 0:
        count = MOST_ROUNDS if rounds is None else whole_number("rounds", rounds, minimum=1)
        # An even spacing in whole numbers where there is one, and the last round in any case.
        step = -(-horizon // min(count, horizon))
        chosen = np.arange(horizon, 0, -step, dtype=np.int64)[::-1]
        return np.ascontiguousarray(chosen)
    chosen = np.asarray(rounds)
    whole = chosen.ndim == 1 and chosen.size > 0 and np.issubdtype(chosen.dtype, np.integer)
    if not whole or chosen[0] < 1 or chosen[-1] > horizon or np.any(np.diff(chosen) <= 0):
        expected = f"increasing whole numbers from 1 to the horizon {horizon}"
        raise BadValue(name="rounds", value=rounds, expected=expected)
    return np.ascontiguousarray(chosen, dtype=np.int64)


def checked_device(device: str) -> str:
    """Return the name of a device on which runs can be played; an error says what is missing."""
    if device not in DEVICES:
        raise BadValue(name="device", value=device, expected=" or ".join(map(repr, DEVICES)))
    if device == "cuda":
        from rotting.simulation._cuda.device import require

        require()
    return device


def device_name(device: str) -> str:
    """Return what results say about where they were computed."""
    if device == "cpu":
        return device
    from rotting.simulation._cuda.device import name

    return f"{device}: {name()}"


def play_run(
    player: Contestant,
    problem: Problem,
    streams: StreamsAhead,
    run: int,
    horizon: int,
    journal: Journal,
    stop: threading.Event,
    detail: Detail | None = None,
) -> float:
    """Play one run in pieces, so that it can be stopped between them; return the seconds of processor time it took."""
    turn = player.begin(problem, streams, horizon, detail)
    elapsed = 0.0
    for first in range(1, horizon + 1, player.rounds_at_once):
        if stop.is_set():
            break
        last = min(first + player.rounds_at_once - 1, horizon)
        began = time.thread_time()  # not the clock on the wall, which others slow down
        turn(journal, first, last)
        elapsed += time.thread_time() - began
    if not math.isfinite(journal.total[0]):
        raise KernelError(
            f"the means of the pulls in run {run} add up to {journal.total[0]}",
            owner=f"problem {str(problem)!r}",
            expected="finite means",
            hint="{check}True finds the first that is not",
        )
    return elapsed


def oracle_of_runs(problem: Problem, rounds: np.ndarray, seed: int, runs: range) -> OracleResult:
    """Return the oracle; its reward has one row per run where each run draws its own arms."""
    horizon = int(rounds[-1])
    first = problem.oracle(horizon, rounds, seed=seed, run=runs[0])
    if not problem.dynamics_model.draws:
        return first
    others = [problem.oracle(horizon, rounds, seed=seed, run=run).reward for run in runs[1:]]
    return first._replace(reward=np.stack([first.reward, *others]))


@contextmanager
def _progress(total: int, wanted: bool | Callable[[int], None] | None) -> Iterator[Callable[[int], None]]:
    if callable(wanted):
        yield wanted
        return
    with progress_bar(wanted) as bar:
        bar.stage("runs", total)
        yield bar.advance


def make_dataset(
    players: list[Contestant],
    problem: Problem,
    horizon: int,
    seed: int,
    rounds: np.ndarray,
    oracle: OracleResult,
    device: str,
    earned: np.ndarray,
    pulls: np.ndarray,
    seconds: np.ndarray,
) -> xarray.Dataset:
    """Return results as a labelled dataset that says how they were made."""
    import xarray

    import rotting.simulation.accessor  # noqa: F401 (results have `.rotting`)
    from rotting import __version__
    from rotting._core.compiling import kernel_digest

    runs = earned.shape[1]
    return xarray.Dataset(
        {
            "regret": (
                ("policy", "run", "round"),
                oracle.reward - earned,
                {"long_name": "expected regret against the oracle"},
            ),
            "pulls": (("policy", "run", "arm"), pulls, {"long_name": "pulls of each arm"}),
            "seconds": (("policy",), seconds, {"long_name": "processor time spent playing, all runs", "units": "s"}),
            "oracle_reward": (
                ("run", "round")[-oracle.reward.ndim :],
                oracle.reward,
                {"long_name": "the oracle's cumulative expected reward"},
            ),
        },
        coords={
            "policy": [player.label for player in players],
            "run": np.arange(runs),
            "round": rounds,
            "arm": np.arange(problem.n_arms),
        },
        attrs={
            "problem": problem.name,
            "oracle": str(oracle),
            "policies": "\n".join(player.description for player in players),
            "horizon": horizon,
            "seed": seed,
            "rotting": __version__,
            "numpy": np.__version__,
            "kernels": kernel_digest(),
            "device": device_name(device),
        },
    )
