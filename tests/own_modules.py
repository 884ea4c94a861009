"""Modules of users, for tests: a policy, dynamics, a curve and noise in one file, with a file beside it."""

from pathlib import Path

# Each test takes its own names: texts find classes by their names.
MODULE = '''
"""What a researcher would write."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import {name}_constants
from rotting.parameters import parameter
from rotting.policies import Policy
from rotting.problems import Curve, Dynamics, Noise
from rotting.problems.curve_kernels import mean_at
from rotting.randomness import uniform


class State(NamedTuple):
    settings: np.ndarray
    pulls: np.ndarray
    sums: np.ndarray


def select(state, t, word):
    best, arm = -np.inf, 0
    for each in range(len(state.pulls)):
        if state.pulls[each] == 0:
            return each
        index = state.sums[each] / state.pulls[each] + state.settings[0] / np.sqrt(state.pulls[each])
        if index > best:
            best, arm = index, each
    return arm


def update(state, arm, reward):
    state.pulls[arm] += 1
    state.sums[arm] += reward


@dataclass(frozen=True)
class {prefix}Policy(Policy, state=State, select=select, update=update):
    """Mean and width."""

    width: float = parameter({name}_constants.WIDTH, minimum=0, doc="how wide")

    def initial_state(self, n_arms):
        settings = np.array([self.width * {name}_constants.FACTOR])
        return State(settings, np.zeros(n_arms, np.int64), np.zeros(n_arms))


def value(problem, memory, arm, t):
    return mean_at(problem.curves, arm, memory.pulls[arm]) * problem.dynamics.numbers[0]


@dataclass(frozen=True)
class {prefix}Dynamics(Dynamics, value=value, rested=True):
    """Everything is worth a share."""

    share: float = parameter(0.5, doc="which")


def draw(problem, arm, mean, key, n):
    return mean + problem.noise.numbers[0] * (uniform(key, n) - 0.5)


@dataclass(frozen=True)
class {prefix}Noise(Noise, draw=draw):
    """Flat."""

    width: float = parameter(1.0, minimum=0, doc="how wide")

    def scale(self):
        return self.width / 2


def halving(numbers, n):
    return numbers[0] * 0.5 ** (n / 50)


@dataclass(frozen=True)
class {prefix}Curve(Curve, value=halving):
    """Half is lost every 50 pulls."""

    start: float = parameter(doc="value of the first pull")

    def is_nonincreasing(self):
        return self.start >= 0

    def limit(self):
        return 0.0
'''


def write_module(folder: Path, name: str, prefix: str, factor: float = 1.0) -> Path:
    """Write a module, whose classes begin with `prefix`, and the file that it imports; return its path."""
    (folder / f"{name}_constants.py").write_text(f"WIDTH = 0.5\nFACTOR = {factor}\n")
    file = folder / f"{name}.py"
    file.write_text(MODULE.format(name=name, prefix=prefix))
    return file


def problem_text(prefix: str, horizon: int = 200) -> str:
    """Return a problem that is made of the module's classes."""
    curves = f"({prefix}Curve(0.9), 0.4, 0.2)"
    return f"Problem({curves}, noise={prefix}Noise(0.5), dynamics={prefix}Dynamics(0.8), horizon={horizon}, name='own')"
