"""Play a game with a team of Python threads, and write down its pulls: run by test_team.py in a process of its own.

Each thread has a state of its own, so threads come to the same decisions only if nothing that one of them writes in a
loop that they share is read by another, and what they gather in it is made the same for all. On a GPU they share what
grows with the pulls, too: there the first would be a race.

NUMBA_DISABLE_JIT=1 must be set. Usage: team_of_threads.py FILE POLICY=ARMS ...
"""

import json
import sys
import threading
from pathlib import Path

import numpy as np

import rotting
from rotting.policies._contract.kernel import kernel_of
from rotting.policies._contract.states import fresh_state
from rotting.policies._windows import index_proofs, pairs, rows

MEMBERS = 3
SHARED = ("my_share", "any_in_team", "largest_in_team")
USERS = (index_proofs, pairs, rows)
ROUNDS = 400


class Team:
    """Threads that meet wherever one of them asks the others."""

    def __init__(self, members: int):
        self.members = members
        self.meetings = 0
        self._barrier = threading.Barrier(members, timeout=60)
        self._said: list = [None] * members
        self._own = threading.local()

    def join(self, member: int) -> None:
        self._own.member = member

    def my_share(self, size):
        return range(self._own.member, int(size), self.members)

    def any_in_team(self, flag):
        return any(self._all_of(bool(flag)))

    def largest_in_team(self, number):
        return max(self._all_of(number))

    def _all_of(self, said):
        self._said[self._own.member] = said
        self._barrier.wait()
        everything = list(self._said)
        self._barrier.wait()
        self.meetings += 1
        return everything


def game(n_arms: int) -> np.ndarray:
    """Return rewards by arm and pull: some arms fall at once, some slowly, and some are alike."""
    pulls = np.arange(ROUNDS)
    falls = [
        np.where(pulls < 40 * (arm + 1), 0.5, -0.5) if arm % 2 else 0.3 - 0.001 * arm * pulls for arm in range(n_arms)
    ]
    return np.array(falls) + np.random.default_rng(n_arms).standard_normal((n_arms, ROUNDS))


def play(policy, rewards: np.ndarray, join=lambda: None) -> list[int]:
    """Return the decisions of a policy."""
    join()
    n_arms = len(rewards)
    state = policy.reserve(fresh_state(policy, n_arms), ROUNDS)
    kernel, decisions = kernel_of(type(state)), []
    with np.errstate(all="ignore"):
        for t in range(1, ROUNDS + 1):
            arm = int(kernel.select(state, t, np.uint64(0)))
            kernel.update(state, arm, float(rewards[arm, state.pulls[arm]]))
            decisions.append(arm)
    return decisions


def together(policy, rewards: np.ndarray) -> tuple[list[list[int]], int]:
    """Return the decisions of each thread of a team, and how often they met."""
    of = Team(MEMBERS)
    usual = {(module, name): getattr(module, name) for module in USERS for name in SHARED if hasattr(module, name)}
    found: dict[int, list[int]] = {}

    def member(number: int) -> None:
        found[number] = play(policy, rewards, lambda: of.join(number))

    for module, name in usual:
        setattr(module, name, getattr(of, name))
    threads = [threading.Thread(target=member, args=(number,)) for number in range(MEMBERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (module, name), function in usual.items():
        setattr(module, name, function)
    return [found.get(number, []) for number in range(MEMBERS)], of.meetings


def main() -> None:
    outcome = {}
    for asked in sys.argv[2:]:
        label, _, arms = asked.rpartition("=")
        policy, rewards = rotting.parse_policy(label), game(int(arms))
        decisions, meetings = together(policy, rewards)
        outcome[label] = {"alone": play(policy, rewards), "together": decisions, "meetings": meetings}
    Path(sys.argv[1]).write_text(json.dumps(outcome))


if __name__ == "__main__":
    main()
