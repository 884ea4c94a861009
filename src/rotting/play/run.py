"""One run of a problem that somebody else plays, pull by pull: environments, replays, pictures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rotting._core.compiling import is_package_only
from rotting._core.randomness import checked_seed
from rotting._core.validation import whole_number
from rotting.errors import BadValue
from rotting.play.loop import begin, new_journal, pull, record, streams_of
from rotting.problems import Problem
from rotting.problems.checked import CheckedRun
from rotting.problems.kernel import value_now

NO_ROUNDS = np.empty(0, np.int64)


class Run:
    """Run `number` of a problem, with the rewards that `rotting.simulate` gives in that run.

    Parameters
    ----------
    problem
        What to play on.
    seed, number
        Which run: the same two give the same rewards, whoever plays.
    rounds
        The rounds at which `journal` records what was earned.
    checked
        Whether a user's dynamics and noise run in plain Python, with every index checked.

    Examples
    --------
    >>> import rotting
    >>> run = Run(rotting.problems.two_arm(L=2, horizon=100), seed=1)
    >>> reward = run.pull(1)
    >>> run.t, run.pulls, run.values()
    (1, array([0, 1]), array([0., 1.]))
    """

    def __init__(
        self, problem: Problem, seed: int = 0, number: int = 0, rounds: np.ndarray = NO_ROUNDS, checked: bool = False
    ):
        self.problem = problem
        self.seed = checked_seed(seed)
        self.number = whole_number("number", number, minimum=0)
        self.journal = new_journal(rounds, problem)
        self._streams = streams_of(self.seed, self.number, problem.n_arms)
        self._pull = self._begun(checked)
        self.t = 0  # pulls so far

    def _begun(self, checked: bool) -> Callable[[np.uint64, int, int], tuple[float, float]]:
        """Begin the run; return what pulls an arm, given the key of its noise and the round: mean and reward."""
        arrays, journal, start = self.problem.arrays, self.journal, self._streams.start[0]
        if not checked or is_package_only(arrays):
            begin(arrays, journal.memory, start)
            return partial(pull.compiled_for(arrays, journal), arrays, journal)
        run = CheckedRun(self.problem, journal.memory)
        run.begin(start)

        def pull_now(key: np.uint64, arm: int, t: int) -> tuple[float, float]:
            mean, reward = run.pull(key, arm, t)
            record(journal, arm, mean, t)
            return mean, reward

        return pull_now

    @property
    def key(self) -> np.uint64:
        """Where the random numbers of a policy's own choices start in this run."""
        return np.uint64(self._streams.choice[0])

    @property
    def pulls(self) -> np.ndarray:
        """The pulls of each arm so far (a copy)."""
        return np.array(self.journal.pulls)

    @property
    def eligible(self) -> np.ndarray:
        """Which arms may be pulled next: 1 or 0 for each arm."""
        memory = self.journal.memory
        return np.array(memory.eligible) if self.problem.is_limited else np.ones(self.problem.n_arms, np.int64)

    @property
    def earned(self) -> float:
        """What the pulls so far were worth on average: their means, added up."""
        return float(self.journal.total[0])

    def pull(self, arm: int) -> float:
        """Return the reward of the next pull, which is of this arm."""
        arm = whole_number("arm", arm, minimum=0, maximum=self.problem.n_arms - 1)
        if not self.eligible[arm]:
            able = self.eligible.nonzero()[0].tolist()
            raise BadValue("may not be pulled now", name="arm", value=arm, expected=f"one of {able}")
        return float(self.mean_and_reward(arm)[1])

    def mean_and_reward(self, arm: int) -> tuple[float, float]:
        """Return what the next pull, of an arm that exists, is worth, and what it pays."""
        self.t += 1
        return self._pull(self._streams.noise[arm], arm, self.t)

    def value(self, arm: int) -> float:
        """Return the mean reward of an arm if it were pulled next: what no policy is told."""
        arm = whole_number("arm", arm, minimum=0, maximum=self.problem.n_arms - 1)
        value: Callable[..., float] = value_now  # compiled code is not typed
        with np.errstate(over="ignore"):
            return float(value(self.problem.arrays, self.journal.memory, arm, self.t + 1))

    def values(self) -> np.ndarray:
        """Return the mean reward of each arm if it were pulled next."""
        return np.array([self.value(arm) for arm in range(self.problem.n_arms)], float)
