"""The pieces in which a sweep is computed and kept: a block is a range of its runs, with a checksum.

A block is a `range` in the numbering of `rotting.sweeps.numbering`: part of a large cell, or many small ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Generator, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from rotting.errors import DamagedFile
from rotting.play import Cell, Played, play
from rotting.play.cell import Place
from rotting.play.players import Player, players_of
from rotting.problems import Problem
from rotting.sweeps.numbering import Piece
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


class Content(NamedTuple):
    """The results of a range of runs, one run after the other."""

    regret: np.ndarray  # float64: for each run, its problem's recorded rounds
    pulls: np.ndarray  # int64: for each run, its problem's arms


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
    filled = 0  # of the present block, in parts of `whole_block`
    for problem, cost in enumerate(costs):
        size = 8 * (len(plan.recorded[problem]) + plan.problems[problem].n_arms)
        load = max(cost, whole_block * size // MAX_BYTES, 1)
        runs = plan.numbering.of_problem(problem)
        number = runs.start
        while number < runs.stop:
            # As many runs as fit, and one in any case.
            fitting = min(max((whole_block - filled) // load, 0 if filled else 1), runs.stop - number)
            number += fitting
            filled += fitting * load
            if number < runs.stop:
                starts.append(number)
                filled = 0
    return [range(start, stop) for start, stop in zip(starts, [*starts[1:], plan.total_runs], strict=True)]


def nanoseconds(problem: Problem) -> int:
    """Return about how long one run takes on a problem."""
    return _NS_PER_RUN + problem.horizon * (_NS_PER_ROUND + _NS_PER_ROUND_AND_ARM * problem.n_arms)


def played_blocks(plan: Plan, blocks: Sequence[range], on: Place) -> Generator[tuple[range, Content], None, None]:
    """Play blocks somewhere; yield each as soon as all of it is played.

    Every run is the one that `rotting.simulate` plays under the same number.
    """
    pieces = [(block, piece) for block in blocks for piece in plan.numbering.pieces(block)]
    found: dict[range, _Assembly] = {}
    with contextlib.closing(play(_cells(plan, [piece for _, piece in pieces]), on)) as played:
        for part in played:
            block, piece = pieces[part.cell]
            assembly = found.setdefault(block, _Assembly(plan, block))
            if assembly.take(piece, part):
                yield block, found.pop(block).content


def _cells(plan: Plan, pieces: Sequence[Piece]) -> list[Cell]:
    @cache
    def player(policy: int, problem: int) -> Player:
        (found,) = players_of(plan.policies[policy], plan.problems[problem], plan.problems[problem].horizon)
        return found

    return [
        Cell(
            player(piece.policy, piece.problem),
            plan.problems[piece.problem],
            plan.problems[piece.problem].horizon,
            plan.recorded[piece.problem],
            range(piece.first, piece.first + piece.runs),
            plan.seed,
        )
        for piece in pieces
    ]


class _Assembly:
    """A block of which some runs have been played."""

    def __init__(self, plan: Plan, block: range):
        self._plan, self._left = plan, len(block)
        self.content = Content(*map(np.empty, _sizes(plan, block), (np.float64, np.int64)))
        self._parts = {piece: (regret, pulls) for piece, regret, pulls in rows(plan, block, self.content)}

    def take(self, piece: Piece, part: Played) -> bool:
        """Take what some runs of a piece came to; say whether all of the block is there."""
        regret, pulls = self._parts[piece]
        own = slice(part.runs.start - piece.first, part.runs.stop - piece.first)
        draws = self._plan.problems[piece.problem].dynamics_model.draws
        # One oracle for all runs, unless each run draws its own arms.
        oracle = [oracle_reward(self._plan, piece.problem, run) for run in (part.runs if draws else [0])]
        regret[own], pulls[own] = np.stack(oracle) - part.earned, part.pulls
        self._left -= len(part.runs)
        return self._left == 0


@lru_cache(maxsize=1024)
def oracle_reward(plan: Plan, problem: int, run: int) -> np.ndarray:
    """Return what the oracle has collected at each recorded round of a problem, in this run of it."""
    rounds = plan.recorded[problem]
    return plan.problems[problem].oracle(int(rounds[-1]), rounds, seed=plan.seed, run=run).reward


# How a block is kept: as an .npz file, which NumPy reads, whose archive comment is the SHA-256 of all before it.


def encode(plan: Plan, block: range, content: Content) -> bytes:
    """Return the bytes of a block: the same for the same results, wherever and whenever they were computed."""
    problem, policy, run = plan.numbering.indices(block)
    archive = io.BytesIO()
    np.savez(
        archive,
        plan=np.array(plan.digest),
        problem=problem,
        policy=policy,
        run=run,
        regret=content.regret,
        pulls=content.pulls,
    )
    body = archive.getvalue()[:-2]  # a zip file ends with the length of its comment, here 0
    return body + _CHECKSUM_LENGTH.to_bytes(2, "little") + _CHECKSUM_PREFIX + hashlib.sha256(body).hexdigest().encode()


def decode(plan: Plan, block: range, encoded: bytes) -> Content:
    """Return what a block holds; `DamagedFile` if a single bit of it is not as written, or if it is another block."""
    body, checksum = encoded[: -_CHECKSUM_LENGTH - 2], encoded[-_CHECKSUM_LENGTH - 2 :]
    expected = _CHECKSUM_LENGTH.to_bytes(2, "little") + _CHECKSUM_PREFIX + hashlib.sha256(body).hexdigest().encode()
    if checksum != expected:
        raise DamagedFile("its checksum is wrong" if checksum[2:].startswith(_CHECKSUM_PREFIX) else "it is cut short")
    with np.load(io.BytesIO(encoded), allow_pickle=False) as archive:
        if str(archive["plan"]) != plan.digest:
            raise DamagedFile("it belongs to another plan")
        found = Content(archive["regret"], archive["pulls"])
        start = plan.numbering.number(*(int(archive[name][0]) for name in ("problem", "policy", "run")))
    if start != block.start or tuple(map(len, found)) != _sizes(plan, block):
        raise DamagedFile("it holds other runs than its name says")
    return found


def rows(plan: Plan, block: range, content: Content) -> Iterator[tuple[Piece, np.ndarray, np.ndarray]]:
    """Yield the pieces of a block with their results: regret[run, round] and pulls[run, arm]."""
    at = [0, 0]
    for piece in plan.numbering.pieces(block):
        parts = []
        for which, width in enumerate((len(plan.recorded[piece.problem]), plan.problems[piece.problem].n_arms)):
            part = content[which][at[which] : at[which] + piece.runs * width].reshape(piece.runs, width)
            at[which] += part.size
            parts.append(part)
        yield piece, parts[0], parts[1]


def _sizes(plan: Plan, block: range) -> tuple[int, int]:
    """Return how many regrets and how many pull counts a block holds."""
    parts = list(plan.numbering.pieces(block))
    return (
        sum(part.runs * len(plan.recorded[part.problem]) for part in parts),
        sum(part.runs * plan.problems[part.problem].n_arms for part in parts),
    )
