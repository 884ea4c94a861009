"""The first rounds of a user's kernels, played in plain Python with every index checked."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np

from rotting.errors import KernelError
from rotting.play.cell import Cell
from rotting.play.in_python import PythonTable
from rotting.policies import Policy
from rotting.policies._contract.checked import CheckedAgent

_ROUNDS = 64
# By class, too: a class that was defined again, in a notebook say, reads the same.
_tried: set[tuple[type, str, str, int]] = set()


def try_kernels(cell: Cell, policy: Policy) -> None:
    """Refuse kernels that leave their arrays, or break the contract, in the first rounds of a run.

    Compiled code would do so in silence. What only plain Python objects to, such as 1.0 / 0.0, is left to compiled
    code: the trial then ends.
    """
    asked = type(policy), repr(policy), repr(cell.problem), cell.problem.n_arms
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
    rounds = min(cell.horizon, _ROUNDS + 2 * min(cell.problem.n_arms, _ROUNDS))
    short = dataclasses.replace(cell, horizon=rounds, rounds=np.array([rounds]), trace=("recommended",))
    table = PythonTable(short, str(policy), partial(CheckedAgent, policy), checked=True)
    table.play(cell.runs[:1], np.zeros(1, np.int64))
