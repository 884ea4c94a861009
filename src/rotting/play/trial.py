"""The first rounds of a user's kernels, played in plain Python with every index checked."""

from __future__ import annotations

import numpy as np

from rotting.errors import KernelError
from rotting.play.cell import Cell
from rotting.play.loop import new_journal, record, streams_of
from rotting.policies import Policy
from rotting.policies._contract.checked import CheckedAgent
from rotting.problems.checked import CheckedRun

_ROUNDS = 64
_tried: set[tuple[str, str, int]] = set()


def try_kernels(cell: Cell, policy: Policy) -> None:
    """Refuse kernels that leave their arrays, or break the contract, in the first rounds of a run.

    Compiled code would do so in silence. What only plain Python objects to, such as 1.0 / 0.0, is left to compiled
    code: the trial then ends.
    """
    asked = repr(policy), repr(cell.problem), cell.problem.n_arms
    if asked in _tried:
        return
    _tried.add(asked)
    try:
        _play(cell, policy)
    except KernelError as error:
        if error.__cause__ is None or isinstance(error.__cause__, IndexError):
            _tried.discard(asked)
            raise


def _play(cell: Cell, policy: Policy) -> None:
    n_arms, first = cell.problem.n_arms, cell.runs[0] if cell.runs else 0
    streams, journal = streams_of(cell.seed, first, n_arms), new_journal(cell.rounds, cell.problem)
    agent = CheckedAgent(policy, n_arms, np.uint64(streams.choice[0]))
    world = CheckedRun(cell.problem, journal.memory)
    world.begin(streams.start[0])
    for t in range(1, min(cell.horizon, _ROUNDS + 2 * min(n_arms, _ROUNDS)) + 1):
        arm = agent.select()
        mean, reward = world.pull(streams.noise[arm], arm, t)
        record(journal, arm, mean, t)
        agent.update(arm, reward)
