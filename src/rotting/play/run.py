"""One run of a problem that somebody else plays, pull by pull: environments, replays, pictures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rotting._core.randomness import checked_seed
from rotting._core.validation import whole_number
from rotting.play.loop import begin, new_journal, pull, streams_of
from rotting.problems import Problem
from rotting.problems.kernel import value_now


class Run:
    """Run `number` of a problem, with the rewards that `rotting.simulate` gives in that run.

    Parameters
    ----------
    problem
        What to play on.
    seed, number
        Which run: the same two give the same rewards, whoever plays.

    Examples
    --------
    >>> import rotting
    >>> run = Run(rotting.problems.two_arm(L=2, horizon=100), seed=1)
    >>> reward = run.pull(1)
    >>> run.t, run.pulls, run.values()
    (1, array([0, 1]), array([0., 1.]))
    """

    def __init__(self, problem: Problem, seed: int = 0, number: int = 0):
        self.problem = problem
        self.seed = checked_seed(seed)
        self.number = whole_number("number", number, minimum=0)
        self._streams = streams_of(self.seed, self.number, problem.n_arms)
        self._journal = new_journal(np.empty(0, np.int64), problem)
        self._pull = pull.compiled_for(problem.arrays, self._journal)
        self.t = 0  # pulls so far
        begin(problem.arrays, self._journal.memory, self._streams.start[0])

    @property
    def key(self) -> np.uint64:
        """Where the random numbers of a policy's own choices start in this run."""
        return np.uint64(self._streams.choice[0])

    @property
    def pulls(self) -> np.ndarray:
        """The pulls of each arm so far (a copy)."""
        return np.array(self._journal.pulls)

    @property
    def earned(self) -> float:
        """What the pulls so far were worth on average: their means, added up."""
        return float(self._journal.total[0])

    def pull(self, arm: int) -> float:
        """Return the reward of the next pull, which is of this arm."""
        arm = whole_number("arm", arm, minimum=0, maximum=self.problem.n_arms - 1)
        self.t += 1
        _, reward = self._pull(self.problem.arrays, self._journal, self._streams.noise[arm], arm, self.t)
        return float(reward)

    def value(self, arm: int) -> float:
        """Return the mean reward of an arm if it were pulled next: what no policy is told."""
        arm = whole_number("arm", arm, minimum=0, maximum=self.problem.n_arms - 1)
        value: Callable[..., float] = value_now  # compiled code is not typed
        with np.errstate(over="ignore"):
            return float(value(self.problem.arrays, self._journal.memory, arm, self.t + 1))

    def values(self) -> np.ndarray:
        """Return the mean reward of each arm if it were pulled next."""
        return np.array([self.value(arm) for arm in range(self.problem.n_arms)], float)
