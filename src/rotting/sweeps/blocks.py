"""The pieces in which a sweep is computed and kept: a block is a range of its runs, with a checksum.

A block is a range of the numbers of runs that `Plan.number` gives: part of a large cell, or many small ones.
"""

from __future__ import annotations

import hashlib
import io
from itertools import pairwise

import numpy as np

from rotting.errors import DamagedFile
from rotting.problems import Problem
from rotting.sweeps.plan import Plan

# A killed process loses at most the blocks in flight, and handling a block takes a few milliseconds: about a second is
# short enough for the one and long enough for the other (docs/scaling.md has the figures).
BLOCK_NANOSECONDS = 10**9
# Blocks of a small sweep are shorter, so that there are enough for all threads, but not too short for what they cost.
MIN_BLOCKS, SHORTEST_NANOSECONDS = 64, 10**8
# In a large sweep blocks take longer: full ones would be this many, and none but the smallest is less than half full.
MAX_FULL_BLOCKS = 4500
MAX_BYTES = 32 << 20
# A rough guess of what a run costs, right within a factor of a few for every policy of the package.
_NS_PER_RUN, _NS_PER_ROUND, _NS_PER_ROUND_AND_ARM = 100_000, 100, 8
_CHECKSUM_PREFIX = b"sha256:"
_CHECKSUM_LENGTH = len(_CHECKSUM_PREFIX) + 64


class Content:
    """The results of consecutive runs: NaN and 0 of those that are not finished.

    `regrets` and `pulls` have an array for each problem that they are on: [run, recorded round] and [run, arm].
    """

    def __init__(self, plan: Plan, numbers: range):
        self.plan, self.numbers, self._every = plan, numbers, len(plan.policies) * plan.runs
        self.regrets: list[np.ndarray] = []
        self.pulls: list[np.ndarray] = []
        self._places: dict[int, tuple[int, int]] = {}  # by problem: the first of its runs here, and where it is
        for problem in range(numbers.start // self._every, -(-numbers.stop // self._every)):
            start = max(numbers.start, problem * self._every)
            count = min(numbers.stop, (problem + 1) * self._every) - start
            rounds, arms = plan.sizes[problem]
            self._places[problem] = start, len(self.pulls)
            self.regrets.append(np.full((count, rounds), np.nan))
            self.pulls.append(np.zeros((count, arms), np.int64))

    def of(self, numbers: range) -> tuple[np.ndarray, np.ndarray]:
        """Return regret[run, recorded round] and pulls[run, arm], to be read and written, of runs on one problem."""
        start, place = self._places[numbers.start // self._every]
        own = slice(numbers.start - start, numbers.stop - start)
        return self.regrets[place][own], self.pulls[place][own]

    def runs(self, finished: bool) -> list[range]:
        """Return the numbers of the runs that are finished, or of those that are not."""
        wanted = np.isfinite(np.concatenate([regret[:, -1] for regret in self.regrets])) == finished
        edges = np.flatnonzero(np.diff(wanted, prepend=False, append=False)) + self.numbers.start
        return [range(*ends) for ends in edges.reshape(-1, 2).tolist()]


def cut(plan: Plan) -> list[range]:
    """Return the blocks of a plan: about a second of work each, more in a large sweep and less in a small one.

    Examples
    --------
    >>> from rotting import UCB1, problems
    >>> cut(Plan((UCB1(),), (problems.ten_arm(),), runs=50))
    [range(0, 21), range(21, 42), range(42, 50)]
    """
    costs = [nanoseconds(problem) for problem in plan.problems]
    total = sum(costs) * len(plan.policies) * plan.runs
    shared = max(SHORTEST_NANOSECONDS, total // MIN_BLOCKS)
    whole_block = max(min(BLOCK_NANOSECONDS, shared), -(-total // MAX_FULL_BLOCKS))
    starts = [0]
    filled = number = 0  # of the present block, in parts of `whole_block`; the next run
    for problem, cost in enumerate(costs):
        size = 8 * int(plan.sizes[problem].sum())
        load = max(cost, whole_block * size // MAX_BYTES, 1)
        stop = plan.number(problem + 1, 0, 0)
        while number < stop:
            # As many runs as fit, and one in any case.
            fitting = min(max((whole_block - filled) // load, 0 if filled else 1), stop - number)
            number += fitting
            filled += fitting * load
            if number < stop:
                starts.append(number)
                filled = 0
    return [range(*ends) for ends in pairwise([*starts, number])]


def nanoseconds(problem: Problem) -> int:
    """Return about how long one run takes on a problem."""
    return _NS_PER_RUN + problem.horizon * (_NS_PER_ROUND + _NS_PER_ROUND_AND_ARM * problem.n_arms)


# How a block is kept: as an .npz file, which NumPy reads, whose archive comment is the SHA-256 of all before it.


def encode(content: Content) -> bytes:
    """Return the bytes of a block: the same for the same results, wherever and whenever they were computed."""
    plan, numbers = content.plan, content.numbers
    problem, policy, run = np.unravel_index(np.arange(numbers.start, numbers.stop), plan.shape)
    regret, pulls = (np.concatenate([each.ravel() for each in parts]) for parts in (content.regrets, content.pulls))
    archive = io.BytesIO()
    np.savez(archive, plan=np.array(plan.digest), problem=problem, policy=policy, run=run, regret=regret, pulls=pulls)
    body = archive.getvalue()[:-2]  # a zip file ends with the length of its comment, here 0
    return body + _checksum(body)


def _checksum(body: bytes) -> bytes:
    return _CHECKSUM_LENGTH.to_bytes(2, "little") + _CHECKSUM_PREFIX + hashlib.sha256(body).hexdigest().encode()


def decode(plan: Plan, block: range, encoded: bytes) -> Content:
    """Return what a block holds; `DamagedFile` if a single bit of it is not as written, or if it is another block."""
    body, checksum = encoded[: -_CHECKSUM_LENGTH - 2], encoded[-_CHECKSUM_LENGTH - 2 :]
    if checksum != _checksum(body):
        raise DamagedFile("its checksum is wrong" if checksum[2:].startswith(_CHECKSUM_PREFIX) else "it is cut short")
    with np.load(io.BytesIO(encoded), allow_pickle=False) as archive:
        if str(archive["plan"]) != plan.digest:
            raise DamagedFile("it belongs to another plan")
        found = Content(plan, block)
        start = plan.number(*(int(archive[name][0]) for name in ("problem", "policy", "run")))
        for parts, values in ((found.regrets, archive["regret"]), (found.pulls, archive["pulls"])):
            if start != block.start or len(values) != sum(part.size for part in parts):
                raise DamagedFile("it holds other runs than its name says")
            for part in parts:
                part[:], values = values[: part.size].reshape(part.shape), values[part.size :]
    return found
