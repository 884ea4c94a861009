"""Logs of a player who draws an eligible arm in every round, each with the same probability."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.compiling import entry
from rotting._core.randomness import CHOICE, NOISE, START, stream_key, stream_keys, uniform
from rotting.errors import BadValue
from rotting.problems.kernel import SHOWN, after_pull, draw_reward, value_now
from rotting.problems.oracle_kernels import begin
from rotting.problems.problem import Problem


class UniformLog(NamedTuple):
    """Rounds, one row each: what could be chosen, what was, and what came of it. Propensities are 1 / |eligible|."""

    eligible: npt.NDArray[np.bool_]  # (n, K)
    rest: npt.NDArray[np.float32]  # (n, K): how long each arm was not shown to whoever was next; infinity: never
    chosen: npt.NDArray[np.int64]  # (n,)
    rewards: npt.NDArray[np.float64]  # (n,)
    means: npt.NDArray[np.float64] | None = None  # (n, K): what each arm would have been worth, where that is known

    @property
    def choices(self) -> npt.NDArray[np.int64]:
        """How many arms were eligible in each round."""
        return np.asarray(self.eligible.sum(axis=1))

    def rows(self, which: slice) -> UniformLog:
        """Return some of the rounds."""
        return UniformLog(*(None if each is None else each[which] for each in self))  # type: ignore[arg-type]


@entry
def write(problem, memory, choice, noise, log, first):
    """Play as many rounds as there are rows, from round `first` on, and write them down."""
    for row in range(len(log.chosen)):
        left, arm, t = np.int64(0), -1, first + row
        for each in range(len(memory.pulls)):
            log.eligible[row, each] = memory.eligible[each] == 1
            log.rest[row, each] = memory.rest[each]
            log.means[row, each] = value_now(problem, memory, each, t)
            left += memory.eligible[each]
        left = np.int64(uniform(choice, t) * left)
        while left >= 0:
            arm += 1
            left -= memory.eligible[arm]
        log.chosen[row] = arm
        log.rewards[row] = draw_reward(problem, arm, log.means[row, arm], noise[arm], memory.pulls[arm])
        after_pull(problem, memory, arm, t)
        memory.pulls[arm] += 1


def uniform_log(
    problem: Problem, rounds: int, seed: int = 0, run: int = 0, most: int = 1 << 18
) -> Iterator[UniformLog]:
    """Yield the log of a run of a problem that shows which arms are eligible and their rests, `most` rounds at a time.

    Rewards are those that a simulation with this seed pays in this run.

    >>> from rotting.problems import push
    >>> [len(log.chosen) for log in uniform_log(push(users=10), rounds=100, most=60)]
    [60, 40]
    """
    memory, n_arms = problem.new_memory(), problem.n_arms
    if not {*SHOWN} <= {*memory._fields}:
        expected = f"a problem whose dynamics show {' and '.join(SHOWN)}, such as push()"
        raise BadValue(name="problem", value=problem, expected=expected)
    noise = stream_keys(np.array(stream_key(seed, NOISE, run)), np.arange(n_arms))
    start, choice = (stream_key(seed, purpose, run) for purpose in (START, CHOICE))
    begin(problem.arrays, memory, start)
    fill = write.compiled_for(problem.arrays)
    for first in range(0, rounds, most):
        shape = min(most, rounds - first), n_arms
        log = UniformLog(
            np.zeros(shape, bool),
            np.zeros(shape, np.float32),
            np.zeros(shape[0], np.int64),
            np.zeros(shape[0]),
            np.zeros(shape),
        )
        fill(problem.arrays, memory, choice, noise, log, first + 1)
        yield log
