"""Policies against each other on one problem, on common random numbers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rotting._core.randomness import checked_seed
from rotting._core.threads import on_threads
from rotting._core.validation import whole_number
from rotting._output.progress import progress_bar
from rotting.errors import BadType, BadValue
from rotting.problems import Problem
from rotting.simulation.contestants import Contestant, Players, contestants
from rotting.simulation.loop import Journal, new_journal, streams_of

if TYPE_CHECKING:
    import xarray

MOST_ROUNDS = 256
LAST_RUN = 2**62  # runs and rounds are numbered with 64 bits


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

    Returns
    -------
    xarray.Dataset
        `regret[policy, run, round]`, `pulls[policy, run, arm]`, `seconds[policy]` (processor time spent playing, over
        all runs) and `oracle_reward[round]`. Its attributes say how it was made.

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

    earned = np.empty((len(players), runs, len(recorded)))
    pulls = np.empty((len(players), runs, problem.n_arms), np.int64)
    seconds = np.zeros((len(players), runs))
    stop = threading.Event()

    def play_some(player: int, some: range) -> int:
        for run in some:
            journal = new_journal(recorded, problem.n_arms)
            seconds[player, run] = play_run(players[player], problem, seed, first_run + run, horizon, journal, stop)
            earned[player, run], pulls[player, run] = journal.earned, journal.pulls
        return len(some)

    for player in players:
        player.prepare(problem, recorded)
    jobs = (
        partial(play_some, number, some)
        for number, player in enumerate(players)
        for some in _pieces(runs, min(_runs_at_once(player, horizon), -(-runs // (4 * threads))))
    )
    with (
        _progress(len(players) * runs, progress) as advance,
        closing(on_threads(jobs, threads, stop=stop)) as finished,
    ):
        for played in finished:
            advance(played)
    oracle = problem.oracle(int(recorded[-1]), recorded).reward
    result = _dataset(players, problem, horizon, seed, recorded, oracle, earned, pulls, seconds.sum(axis=1))
    return result.assign_coords(run=result["run"] + int(first_run))


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


def play_run(
    player: Contestant,
    problem: Problem,
    seed: int,
    run: int,
    horizon: int,
    journal: Journal,
    stop: threading.Event,
) -> float:
    """Play one run in pieces, so that it can be stopped between them; return the seconds of processor time it took."""
    streams = streams_of(seed, run, problem.n_arms)
    turn = player.begin(problem, streams, horizon)
    elapsed = 0.0
    for first in range(1, horizon + 1, player.rounds_at_once):
        if stop.is_set():
            break
        last = min(first + player.rounds_at_once - 1, horizon)
        began = time.thread_time()  # not the clock on the wall, which others slow down
        turn(journal, first, last)
        elapsed += time.thread_time() - began
    return elapsed


@contextmanager
def _progress(total: int, wanted: bool | Callable[[int], None] | None) -> Iterator[Callable[[int], None]]:
    if callable(wanted):
        yield wanted
        return
    with progress_bar(wanted) as bar:
        bar.stage("runs", total)
        yield bar.advance


def _dataset(
    players: list[Contestant],
    problem: Problem,
    horizon: int,
    seed: int,
    rounds: np.ndarray,
    oracle: np.ndarray,
    earned: np.ndarray,
    pulls: np.ndarray,
    seconds: np.ndarray,
) -> xarray.Dataset:
    import xarray

    from rotting import __version__
    from rotting._core.compiling import kernel_digest

    runs = earned.shape[1]
    return xarray.Dataset(
        {
            "regret": (
                ("policy", "run", "round"),
                oracle - earned,
                {"long_name": "expected regret against the oracle"},
            ),
            "pulls": (("policy", "run", "arm"), pulls, {"long_name": "pulls of each arm"}),
            "seconds": (("policy",), seconds, {"long_name": "processor time spent playing, all runs", "units": "s"}),
            "oracle_reward": (("round",), oracle, {"long_name": "the oracle's cumulative expected reward"}),
        },
        coords={
            "policy": [player.label for player in players],
            "run": np.arange(runs),
            "round": rounds,
            "arm": np.arange(problem.n_arms),
        },
        attrs={
            "problem": problem.name,
            "policies": "\n".join(player.description for player in players),
            "horizon": horizon,
            "seed": seed,
            "rotting": __version__,
            "numpy": np.__version__,
            "kernels": kernel_digest(),
        },
    )
