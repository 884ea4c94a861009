"""The pieces in which a sweep is computed and kept: a block is a range of its runs, with a checksum.

A block is a `range` in the numbering of `rotting.sweeps.numbering`: part of a large cell, or many small ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from functools import cache, lru_cache, partial

import numpy as np

from rotting.errors import DamagedFile
from rotting.play import Cell, play_whole
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


class Content:
    """The results of a block: its runs one after the other, of each its problem's recorded rounds, and its arms.

    Parameters
    ----------
    plan, block
        Whose results.
    regret, pulls
        What there is of them; default: room for them.
    """

    def __init__(self, plan: Plan, block: range, regret: np.ndarray | None = None, pulls: np.ndarray | None = None):
        self.plan, self.block = plan, block
        self.sizes = tuple(plan.offset(block.stop) - plan.offset(block.start))
        self.regret = np.empty(self.sizes[0]) if regret is None else regret
        self.pulls = np.empty(self.sizes[1], np.int64) if pulls is None else pulls

    def of(self, runs: range) -> tuple[np.ndarray, np.ndarray]:
        """Return regret[run, recorded round] and pulls[run, arm], to be read and written, of runs on one problem."""
        begin = self.plan.offset(self.block.start)
        low, high = self.plan.offset(runs.start) - begin, self.plan.offset(runs.stop) - begin
        regret, pulls = self.regret[low[0] : high[0]], self.pulls[low[1] : high[1]]
        return regret.reshape(len(runs), -1), pulls.reshape(len(runs), -1)


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
        size = 8 * int(plan.sizes[problem].sum())
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


def played_blocks(
    plan: Plan,
    blocks: Sequence[range],
    on: Place,
    gaps: Callable[[range], list[range]] = lambda block: [block],
    content: Callable[[range], Content] | None = None,
    tell: Callable[[range], object] = lambda runs: None,
) -> Generator[tuple[range, Content], None, None]:
    """Yield the results of blocks, each as soon as all of it is there.

    Every run is the one that `rotting.simulate` plays under the same number.

    Parameters
    ----------
    plan, blocks
        The sweep, and which blocks of it.
    on
        Where to play.
    gaps, content
        Return the parts of a block that have to be played, and room for its results that holds the others.
    tell
        Called with runs as soon as they are played.
    """
    begun: dict[range, Content] = {}
    content = partial(Content, plan) if content is None else content
    parts = [(block, piece) for block in blocks for gap in gaps(block) for piece in plan.numbering.pieces(gap)]
    left = Counter(block for block, _ in parts)
    for block in blocks:
        if not left[block]:
            yield block, content(block)
    with contextlib.closing(play_whole(_cells(plan, [piece for _, piece in parts]), on)) as finished:
        for played in finished:
            block, piece = parts[played.cell]
            if block not in begun:
                begun[block] = content(block)
            regret, pulls = begun[block].of(piece.numbers)
            regret[:], pulls[:] = _oracle(plan, piece) - played.earned, played.pulls
            tell(piece.numbers)
            left[block] -= 1
            if left[block] == 0:
                yield block, begun.pop(block)


def _cells(plan: Plan, pieces: Sequence[Piece]) -> list[Cell]:
    @cache
    def player(policy: int, problem: int) -> Player:
        (found,) = players_of(plan.policies[policy], plan.problems[problem], plan.problems[problem].horizon)
        return found

    def cell(piece: Piece) -> Cell:
        problem, who = plan.problems[piece.problem], player(piece.policy, piece.problem)
        return Cell(who, problem, problem.horizon, plan.recorded[piece.problem], piece.runs, plan.seed)

    return list(map(cell, pieces))


def _oracle(plan: Plan, piece: Piece) -> np.ndarray:
    """Return what the oracle has collected at each recorded round, of each run; one row where all are alike."""
    draws = plan.problems[piece.problem].dynamics_model.draws
    return np.stack([oracle_reward(plan, piece.problem, run) for run in (piece.runs if draws else [0])])


@lru_cache(maxsize=1024)
def oracle_reward(plan: Plan, problem: int, run: int) -> np.ndarray:
    """Return what the oracle has collected at each recorded round of a problem, in this run of it."""
    rounds = plan.recorded[problem]
    return plan.problems[problem].oracle(int(rounds[-1]), rounds, seed=plan.seed, run=run).reward


# How a block is kept: as an .npz file, which NumPy reads, whose archive comment is the SHA-256 of all before it. Regret
# and pulls are one run after the other: of each its problem's recorded rounds, and its problem's arms.


def encode(content: Content) -> bytes:
    """Return the bytes of a block: the same for the same results, wherever and whenever they were computed."""
    problem, policy, run = content.plan.numbering.indices(content.block)
    regret, pulls, digest = content.regret, content.pulls, np.array(content.plan.digest)
    archive = io.BytesIO()
    np.savez(archive, plan=digest, problem=problem, policy=policy, run=run, regret=regret, pulls=pulls)
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
        found = Content(plan, block, archive["regret"], archive["pulls"])
        start = plan.numbering.number(*(int(archive[name][0]) for name in ("problem", "policy", "run")))
    if start != block.start or (len(found.regret), len(found.pulls)) != found.sizes:
        raise DamagedFile("it holds other runs than its name says")
    return found
