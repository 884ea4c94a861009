"""The golden set: what version 0.2 made of every policy on five problems; `tests/play/test_golden.py` compares.

`python tests/golden.py FILE` writes what the present version makes of it. The file in tests/data is 0.2's: it is
written again only where a change of numbers is meant, and then CHANGELOG.md says which.
"""

import hashlib
import platform
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding
import numba
import numpy as np

import rotting
from every_policy import CASES, build, title
from rotting.problems import Drop, Power, Problem, stationary, ten_arm, two_arm
from rotting.simulation import GeometricDelay

FILE = Path(__file__).parent / "data" / "golden.npz"
RUNS, SEED, ROUNDS = 3, 7, 6
PROBLEMS = {
    "two arms": (two_arm(L=0.233), 1500),
    "ten arms": (ten_arm(), 2000),
    "steady": (stationary([0.0, 0.14, 0.1]), 800),
    "clicks": (Problem([Drop(0.8, 0.1, 90), 0.5, Power(0.3), [0.9, 0.6, 0.2]], noise="bernoulli"), 1200),
    "restless": (Problem([Drop(2.0, -1.0, 300), 1.0, 0.5], sigma=0.5, restless=True), 1000),
}
# Rounds are also written down one by one, with rewards that arrive in time and with late ones.
TRACED = {"in time": 0, "late": GeometricDelay(5)}
TRACED_PROBLEM, TRACED_HORIZON = PROBLEMS["clicks"][0], 400


class Part(NamedTuple):
    """A part of the golden set: what a policy did on a problem."""

    name: str
    numbers: np.ndarray  # floats, of which the last bits may depend on the machine's logarithms
    decisions: np.ndarray  # whole numbers


def parts(case) -> Iterator[Part]:
    """Yield what the present version makes of a policy."""
    settings = {"runs": RUNS, "seed": SEED, "threads": 2, "progress": False, "rounds": ROUNDS}
    for name, (problem, horizon) in PROBLEMS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # policies that are made for other rewards
            found = rotting.simulate(build(case, problem.n_arms), problem, horizon, **settings)
        yield Part(f"{title(case)}/{name}", found.regret.values[0], found.pulls.values[0].astype(np.int16))
    for name, delay in TRACED.items():
        policy = build(case, TRACED_PROBLEM.n_arms)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = rotting.simulate(
                policy, TRACED_PROBLEM, TRACED_HORIZON, trace=("actions", "rewards", "pulls"), delay=delay, **settings
            )
        np.testing.assert_array_equal(found.pulls_over_time.values[:, :, -1], found.pulls.values)
        digest = hashlib.sha256(found.rewards.values.tobytes()).digest()[:8]
        numbers = np.append(found.regret.values.ravel(), np.frombuffer(digest, np.uint32).astype(float))
        yield Part(f"{title(case)}/{name}", numbers, found.actions.values[0].astype(np.uint8))


def machine() -> str:
    """Return what the last bits of logarithms and powers may depend on."""
    libraries = (numba.__version__, np.__version__, *platform.libc_ver(), llvmlite.binding.get_host_cpu_name())
    return " ".join((platform.machine(), *libraries))


def main() -> None:
    found = {}
    for case in CASES:
        for part in parts(case):
            found[f"{part.name}/numbers"], found[f"{part.name}/decisions"] = part.numbers, part.decisions
        print(title(case), flush=True)
    np.savez_compressed(sys.argv[1], machine=np.array(machine()), **found)


if __name__ == "__main__":
    main()
