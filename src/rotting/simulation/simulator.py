"""Policies against each other on one problem, on common random numbers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rotting._core.compiling import kernel_digest
from rotting._core.randomness import checked_seed
from rotting._core.validation import whole_number, whole_numbers
from rotting._output.progress import progress_bar
from rotting.errors import BadValue
from rotting.play import Cell, Played, place_for, play
from rotting.play.cell import ON_TIME, Place
from rotting.play.delays import Delay, as_delay
from rotting.play.late import TRACES
from rotting.play.places import device_name
from rotting.play.players import Policies, players_of
from rotting.problems import OracleResult, Problem, ProblemLike
from rotting.problems.named import as_problem
from rotting.simulation.fit import warn_if_unsuited
from rotting.simulation.traces import checked_trace

if TYPE_CHECKING:
    import xarray

MOST_ROUNDS = 256
LAST_RUN = 2**62  # runs and rounds are numbered with 64 bits


def simulate(
    policies: Policies,
    problem: ProblemLike,
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
        A policy or several: a list, or a dictionary from labels to policies. Besides the package's policies, and texts
        such as "FEWA(alpha=0.1)", any class with `select()` and `update(arm, reward)` will do (it is called as
        `Class(n_arms)`), though slowly. A policy that is not made for the problem is warned about
        (`rotting.errors.PolicyMismatch`).
    problem
        What to play on: a problem, or a text such as "ten_arm()".
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
        run, t]`, what its pull paid), "pulls" (`pulls_over_time[policy, run, round, arm]`), "recommended"
        (`recommended[policy, run, round]`, the arm to stay with). The first two take 4 and 8 bytes per round of each
        run.
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
    game = Game(policies, problem, horizon, runs, seed, rounds, first_run, check, trace, delay)
    warn_if_unsuited([player.given for player in game.players if player.given], [game.problem], game.horizon)
    with told([game], progress) as tell:
        [_] = finished([game], place_for(device, threads), tell)
    return game.dataset(device)


def mean_rewards(policies: Policies, problem: Problem, horizon: int, runs: int, seed: int) -> np.ndarray:
    """Return the expected reward of each policy up to the horizon, the mean of its runs: those of `simulate`.

    Without a dataset and its labels, which take longer than some hundred rounds do: for many short simulations.

    >>> import rotting
    >>> mean_rewards([rotting.FEWA()], rotting.problems.two_arm(L=4, horizon=1000), 1000, runs=5, seed=0).shape
    (1,)
    """
    game = Game(policies, problem, horizon, runs, seed, rounds=[horizon])
    [_] = finished([game])
    return np.asarray(game.earned[:, :, 0].mean(axis=1))


class Game:
    """One simulation: the cells to play, and what has come of them so far. Parameters as in `simulate`."""

    def __init__(
        self,
        policies: Policies,
        problem: ProblemLike,
        horizon: int | None = None,
        runs: int = 100,
        seed: int = 0,
        rounds: int | npt.ArrayLike | None = None,
        first_run: int = 0,
        check: bool = False,
        trace: str | Iterable[str] = (),
        delay: Delay | int = 0,
    ):
        problem = as_problem(problem)
        horizon = whole_number("horizon", problem.horizon if horizon is None else horizon, minimum=1, maximum=LAST_RUN)
        runs, self.seed = whole_number("runs", runs, minimum=1, maximum=LAST_RUN), checked_seed(seed)
        first_run = whole_number("first_run", first_run, minimum=0, maximum=LAST_RUN - runs)
        self.problem, self.horizon, self.runs = problem, horizon, range(first_run, first_run + runs)
        self.rounds, self.delay = recorded_rounds(rounds, horizon), as_delay(delay)
        self.players = players_of(policies, problem, horizon, check)
        shared = self.rounds, self.runs, self.seed, self.delay, checked_trace(trace)
        self.cells = [Cell(player, problem, horizon, *shared) for player in self.players]
        every, sizes = (len(self.players), runs), (horizon, len(self.rounds), problem.n_arms)
        self.earned = np.empty((*every, len(self.rounds)))
        self.pulls = np.empty((*every, problem.n_arms), np.int64)
        self.seconds = np.zeros(len(self.players))
        wanted = {name: TRACES[name] for name in self.cells[0].trace}
        self.traces = {name: np.empty((*every, *each.shape(*sizes)), each.kind) for name, each in wanted.items()}
        self.left = len(self.players) * runs

    def take(self, player: int, piece: Played) -> None:
        """Keep what some runs of a player came to."""
        runs = slice(piece.runs.start - self.runs.start, piece.runs.stop - self.runs.start)
        kept, found = ([each.earned, each.pulls, *each.traces.values()] for each in (self, piece))
        for every, some in zip(kept, found, strict=True):
            every[player, runs] = some
        self.seconds[player] += piece.seconds
        self.left -= len(piece.runs)

    @cached_property
    def oracle(self) -> OracleResult:
        """What regret is measured against."""
        return oracle_of_runs(self.problem, self.rounds, self.seed, self.runs)

    def regret(self) -> np.ndarray:
        """Return [player, run, recorded round]."""
        return np.asarray(self.oracle.reward - self.earned)

    def dataset(self, device: str = "cpu") -> xarray.Dataset:
        """Return the results as a labelled dataset that says how they were made."""
        import xarray

        import rotting.simulation.accessor  # noqa: F401 (results have `.rotting`)
        from rotting import __version__

        oracle, runs = self.oracle.reward, ("policy", "run")
        variables = {
            "regret": ((*runs, "round"), self.regret(), {"long_name": "expected regret against the oracle"}),
            "pulls": ((*runs, "arm"), self.pulls, {"long_name": "pulls of each arm"}),
            "seconds": ("policy", self.seconds, {"long_name": "processor time spent playing, all runs", "units": "s"}),
            "oracle_reward": (
                ("run", "round")[-oracle.ndim :],
                oracle,
                {"long_name": "the oracle's cumulative expected reward"},
            ),
        }
        coordinates = {
            "policy": [player.label for player in self.players],
            "run": np.array(self.runs),
            "round": self.rounds,
            "arm": np.arange(self.problem.n_arms),
        }
        for name, kept in self.traces.items():
            traced = TRACES[name]
            variables[traced.variable] = (*runs, *traced.dims), kept, {"long_name": traced.said}
            if "t" in traced.dims:
                coordinates["t"] = np.arange(1, self.horizon + 1)
        return xarray.Dataset(
            variables,
            coordinates,
            {
                "problem": self.problem.name,
                "oracle": str(self.oracle),
                "policies": "\n".join(player.description for player in self.players),
                "horizon": self.horizon,
                "seed": self.seed,
                "rotting": __version__,
                "numpy": np.__version__,
                "kernels": kernel_digest(),
                "device": device_name(device),
                **({} if self.delay == ON_TIME else {"delay": repr(self.delay)}),
            },
        )


# Called now and then with a game, and how many rounds of it were played since.
TellOfGame = Callable[["Game", int], object]


def finished(
    games: Sequence[Game], on: Place | None = None, tell: TellOfGame = lambda game, rounds: None
) -> Generator[Game]:
    """Play games, all at once; yield each as soon as all of it is played."""
    seats = [(game, player) for game in games for player in range(len(game.cells))]
    cells = [game.cells[player] for game, player in seats]
    with closing(play(cells, on, lambda place, rounds: tell(seats[place][0], rounds))) as pieces:
        for piece in pieces:
            game, player = seats[piece.cell]
            game.take(player, piece)
            if game.left == 0:
                yield game


def recorded_rounds(rounds: int | npt.ArrayLike | None, horizon: int) -> np.ndarray:
    """Return the rounds to record as an increasing int64 array.

    >>> recorded_rounds(4, 100)
    array([ 25,  50,  75, 100])
    """
    if rounds is None or np.ndim(rounds) == 0:
        count = MOST_ROUNDS if rounds is None else whole_number("rounds", rounds, minimum=1)
        # An even spacing in whole numbers where there is one, and the last round in any case.
        step = -(-horizon // min(count, horizon))
        return np.arange(horizon, 0, -step, dtype=np.int64)[::-1].copy()
    chosen = whole_numbers("rounds", rounds, minimum=1)
    if chosen.ndim != 1 or not chosen.size or chosen[-1] > horizon or np.any(np.diff(chosen) <= 0):
        expected = f"increasing whole numbers from 1 to the horizon {horizon}"
        raise BadValue(name="rounds", value=rounds, expected=expected)
    return chosen


def oracle_of_runs(problem: Problem, rounds: np.ndarray, seed: int, runs: range) -> OracleResult:
    """Return the oracle; its reward has one row per run where each run draws its own arms."""
    horizon = int(rounds[-1])
    first = problem.oracle(horizon, rounds, seed=seed, run=runs[0])
    if not problem.dynamics_model.draws:
        return first
    others = [problem.oracle(horizon, rounds, seed=seed, run=run).reward for run in runs[1:]]
    return first._replace(reward=np.stack([first.reward, *others]))


@contextmanager
def told(games: Sequence[Game], wanted: bool | Callable[[int], None] | None) -> Iterator[TellOfGame]:
    """Yield what to tell of rounds, which tells of runs: by a bar, or the user's own function."""
    runs, horizon = sum(game.left for game in games), max(game.horizon for game in games)
    rounds = 0
    with progress_bar(False if callable(wanted) else wanted) as bar:
        bar.stage("runs", runs)
        advance = wanted if callable(wanted) else bar.advance

        def tell(game: Game, more: int) -> None:
            nonlocal rounds
            before = rounds // horizon
            rounds += more
            advance(rounds // horizon - before)

        yield tell
