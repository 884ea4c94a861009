"""Oracles: what could be done if the problem were known. Each says what it is, and how good.

| kind | what it does |
|---|---|
| greedy | pulls the arm that is worth most now |
| best allocation | gives rested arms the numbers of pulls that earn most: for each number of rounds its own |
| constant arm | pulls one arm always: for each number of rounds the best for it |
| best cycle | repeats the sequence of arms with the largest mean reward (`Problem.cycle`) |
| look-ahead | tries all sequences of some steps, in each round, and pulls the first arm of the best |
| brute force | tries all sequences; only for a few arms and rounds |
| 1 per round | plays nothing: with infinitely many arms there is always one of mean 1 |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rotting._core.randomness import START, stream_key
from rotting.errors import BadValue
from rotting.problems import oracle_kernels as kernels
from rotting.problems.allocation import allocate, can_allocate
from rotting.problems.cycles import best_cycle

if TYPE_CHECKING:
    from rotting.problems.problem import Problem

Rounds = npt.NDArray[np.int64]

# How good an oracle is.
OPTIMAL, IN_THE_LONG_RUN, BOUND, REFERENCE = "optimal", "optimal in the long run", "an upper bound", "a reference"
_MOST_SEQUENCES = 2**20  # that brute force tries
_DEEPEST = 20  # two arms have 2^20 sequences of so many
_MOST_AHEAD = 1000  # sequences that look-ahead tries in a round
_MOST_WORK = 10**8  # pulls that it tries in all
_MOST_ROTATIONS = 64  # of a cycle, that are tried as a beginning


class OracleResult(NamedTuple):
    """What the oracle does in `horizon` rounds."""

    pulls: npt.NDArray[np.int64]  # (K,)
    reward: npt.NDArray[np.float64]  # cumulative expected reward at each of `rounds`
    rounds: npt.NDArray[np.int64]
    kind: str = "greedy"
    standing: str = OPTIMAL  # how good it is: "optimal", "optimal in the long run", "an upper bound", "a reference"

    def __str__(self) -> str:
        return f"{self.kind}: {self.standing}"


def play_oracle(problem: Problem, rounds: Rounds, kind: str | None, seed: int, run: int) -> OracleResult:
    """Return what an oracle has done at each of `rounds`, which increase; it plays up to the last.

    Parameters
    ----------
    problem, rounds
        What to play.
    kind
        One of `KINDS`, or None for the best that there is.
    seed, run
        Which run, where each run draws its own arms.
    """
    usual, standing = _usual(problem, int(rounds[-1]))
    chosen = usual if kind is None else kind
    if chosen not in KINDS:
        raise BadValue(f"is not one of {', '.join(map(repr, KINDS))}", name="kind", value=kind)
    if problem.is_limited and chosen != usual:
        expected = "'greedy', where not all arms may be pulled in every round"
        raise BadValue(name="kind", value=kind, expected=expected)
    if chosen != usual:
        standing = {
            "brute force": OPTIMAL,
            "best allocation": OPTIMAL,
            "best cycle": IN_THE_LONG_RUN,
            "1 per round": BOUND,
        }.get(chosen, REFERENCE)

    def begun() -> Any:
        memory = problem.new_memory()
        kernels.begin(problem.arrays, memory, stream_key(seed, START, run))
        return memory

    pulls, reward, said = KINDS[chosen](problem, rounds, begun)
    return OracleResult(pulls, reward, rounds, said, standing)


def _usual(problem: Problem, last: int) -> tuple[str, str]:
    """Return the best oracle there is for so many rounds, and how good it is."""
    if problem.is_limited:
        return "greedy", REFERENCE
    usual, standing = problem.dynamics_model.best_oracle(problem.curves)
    if usual == "best cycle" and best_cycle(problem) is None:
        return "look-ahead", REFERENCE
    if usual == "best allocation" and not can_allocate(problem, last):
        return "greedy", REFERENCE
    return usual, standing


def oracle_name(problem: Problem, last: int) -> str:
    """Return what the oracle for so many rounds would say it is, without playing it."""
    kind, standing = _usual(problem, last)
    return f"{kind} {_depth(problem, last)}: {standing}" if kind == "look-ahead" else f"{kind}: {standing}"


# Each kind: from the problem, the rounds and what makes a fresh memory to (pulls, reward, what it was exactly).
Played = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], str]
Begun = Callable[[], Any]


def _greedy(problem: Problem, rounds: Rounds, begun: Begun) -> Played:
    memory, reward = begun(), np.empty(len(rounds))
    if problem.dynamics_model.rested and not problem.is_limited:
        heap = np.arange(problem.n_arms, dtype=np.int64)
        kernels.play_heap(problem.arrays, memory, rounds, np.empty(problem.n_arms), heap, reward)
    else:
        kernels.play_greedily(problem.arrays, memory, rounds, reward)
    return memory.pulls, reward, "greedy"


def _best_allocation(problem: Problem, rounds: Rounds, begun: Begun) -> Played:
    if not problem.dynamics_model.rested:
        name, what = type(problem.dynamics_model).__name__, "needs arms that follow their own pulls alone"
        raise BadValue(f"{what}, and {str(problem)!r} has {name} dynamics", name="kind", value="best allocation")
    rewards, pulls = allocate(problem, int(rounds[-1]), begun)
    return pulls.copy(), rewards[rounds], "best allocation"


def _constant_arm(problem: Problem, rounds: Rounds, begun: Begun) -> Played:
    rewards = np.empty((problem.n_arms, len(rounds)))
    for arm in range(problem.n_arms):
        kernels.add_up_constant(problem.arrays, begun(), arm, rounds, rewards[arm])
    pulls = np.zeros(problem.n_arms, np.int64)
    pulls[rewards[:, -1].argmax()] = rounds[-1]
    return pulls, rewards.max(axis=0), "constant arm"


def _best_cycle(problem: Problem, rounds: Rounds, begun: Begun) -> Played:
    cycle = best_cycle(problem)
    if cycle is None:
        raise BadValue(
            f"needs a problem with few situations, and {str(problem)!r} has many or endless ones",
            name="kind",
            value="best cycle",
            hint="{kind}'look-ahead' and {kind}'greedy' play any problem",
        )
    best: tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]] | None = None
    for shift in range(min(len(cycle.arms), _MOST_ROTATIONS)):
        arms = np.roll(np.array(cycle.arms, np.int64), -shift)
        memory, reward = begun(), np.empty(len(rounds))
        kernels.play_arms(problem.arrays, memory, arms, rounds, reward)
        if best is None or reward[-1] > best[1][-1]:
            best = memory.pulls, reward
    assert best is not None
    return *best, "best cycle"


def _look_ahead(problem: Problem, rounds: Rounds, begun: Begun) -> Played:
    depth = _depth(problem, int(rounds[-1]))
    memory, reward = _ahead(problem, rounds, begun, depth)
    return memory.pulls, reward, f"look-ahead {depth}"


def _depth(problem: Problem, last: int) -> int:
    """Return how many rounds can be looked ahead."""
    depth, arms = 1, problem.n_arms
    while arms > 1 and arms ** (depth + 1) <= _MOST_AHEAD and arms ** (depth + 1) * last <= _MOST_WORK:
        depth += 1
    return depth


def _brute_force(problem: Problem, rounds: Rounds, begun: Begun) -> Played:
    if rounds[-1] * math.log(problem.n_arms) > math.log(_MOST_SEQUENCES):
        raise BadValue(
            f"would try {problem.n_arms}^{rounds[-1]} sequences of arms",
            name="kind",
            value="brute force",
            expected=f"at most {_MOST_SEQUENCES:,}",
            hint="play fewer rounds",
        )
    reward = np.empty(len(rounds))
    pulls = np.zeros(problem.n_arms, np.int64)
    for place in range(len(rounds)):  # the best plan for few rounds is not the beginning of the best one for more
        memory, last = _ahead(problem, rounds[place : place + 1], begun, int(rounds[place]))
        reward[place], pulls = last[0], memory.pulls
    return pulls, reward, "brute force"


def _ahead(problem: Problem, rounds: Rounds, begun: Begun, depth: int) -> tuple[Any, npt.NDArray[np.float64]]:
    depth = min(depth, _DEEPEST)  # with one arm, there is nothing to look ahead for
    memories = tuple(begun() for _ in range(_DEEPEST))  # always as many: one compiled function for all depths
    reward = np.empty(len(rounds))
    arms, gains = np.zeros(depth + 1, np.int64), np.zeros(depth + 1)
    kernels.play_ahead(problem.arrays, memories, rounds, depth, arms, gains, np.zeros(1, np.int64), reward)
    return memories[0], reward


def _one_per_round(problem: Problem, rounds: Rounds, begun: Begun) -> Played:
    return np.zeros(problem.n_arms, np.int64), rounds.astype(float), "1 per round"


KINDS: dict[str, Callable[[Problem, Rounds, Begun], Played]] = {
    "greedy": _greedy,
    "best allocation": _best_allocation,
    "constant arm": _constant_arm,
    "best cycle": _best_cycle,
    "look-ahead": _look_ahead,
    "brute force": _brute_force,
    "1 per round": _one_per_round,
}
