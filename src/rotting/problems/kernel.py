"""The contract of problems in compiled code: what an arm is worth now, what its pull changes, and what it pays.

A problem is a `ProblemArrays`, which nobody changes. What a run leaves behind of the past is a *memory*: another
NamedTuple of arrays, with a field `pulls` (int64, one count per arm) that the loop itself counts. Over them go plain
functions that allocate nothing:

* `value(problem, memory, arm, t) -> mean`: what a pull of the arm is worth in round t = 1, 2, ...;
* `pulled(problem, memory, arm, t)`: take down that the arm was pulled in round t (`memory.pulls` counts it afterwards);
* `begin(problem, memory, key)`: prepare the memory of a run whose random stream starts at `key`;
* `draw(problem, arm, mean, key, n) -> reward`: the reward of the arm's pull number n = 0, 1, ..., whose noise stream
  starts at `key`.

A memory can show things of the next round to policies that ask for them, and to nobody else. `begin` and `pulled`
keep these fields up to date:

| field | meaning |
|---|---|
| `eligible` | int64, 1 for each arm that may be pulled, one at least, and 0 for others, whose pull stops a run |
| `rest` | float64, for how long each arm has not been shown to whoever is next; infinity: never |

A noise can also be drawn in two steps (the package's plain ones are): `standard(problem, arm, key, n)`, which needs no
mean, and `around(problem, arm, mean, standard) -> reward`. The first step is then taken ahead of time, and once for all
policies that are compared.

The first three belong to a `Dynamics`, the last one to a `Noise`. Compiled code finds them by the classes of
`problem.dynamics` and `problem.noise`, as it finds a policy's functions by the class of its state: one compiled loop
serves every problem. Classes derived from others without functions of their own share their code: rested and restless
problems, with Gaussian, 0/1 or no noise, run in the same machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba.extending import overload

from rotting._core.compiling import INLINED
from rotting.problems.curve_kernels import CurveArrays

# What the arguments of the functions are called in messages.
VALUE_ARGUMENTS = ("problem", "memory", "arm", "t")
PULLED_ARGUMENTS = ("problem", "memory", "arm", "t")
BEGIN_ARGUMENTS = ("problem", "memory", "key")
DRAW_ARGUMENTS = ("problem", "arm", "mean", "key", "n")
# The fields of a memory that can be shown to policies, and their types.
ELIGIBLE, REST = SHOWN = ("eligible", "rest")
SHOWN_TYPES: dict[str, Any] = {ELIGIBLE: np.int64, REST: np.float64}


class ProblemArrays(NamedTuple):
    """A problem as compiled code sees it. The classes of the last two say which functions are called."""

    curves: CurveArrays
    dynamics: Any  # a NamedTuple of arrays: the parameters of the dynamics
    noise: Any  # a NamedTuple of arrays: the parameters of the noise


class Numbers(NamedTuple):
    """The parameters of dynamics or noise that need no more than numbers, in the order of their fields."""

    numbers: npt.NDArray[np.float64]


class Pulls(NamedTuple):
    """The memory of dynamics that need no more."""

    pulls: npt.NDArray[np.int64]  # (K,)


class DynamicsKernel(NamedTuple):
    """The functions of a `Dynamics`, uncompiled."""

    value: Callable[..., Any]
    pulled: Callable[..., Any]
    begin: Callable[..., Any]


class NoiseSteps(NamedTuple):
    """The functions of a `Noise` that is drawn in two steps, uncompiled."""

    standard: Callable[..., Any]
    around: Callable[..., Any]


# None ever shrinks: numba recognises classes by their addresses, which must not be used again for other classes.
_DYNAMICS: dict[type, DynamicsKernel] = {}
_NOISES: dict[type, Callable[..., Any]] = {}
_STEPS: dict[type, NoiseSteps] = {}


def register_dynamics(arrays: type, kernel: DynamicsKernel) -> None:
    """Make these the functions of problems whose `dynamics` are of this class."""
    _DYNAMICS[arrays] = kernel


def register_noise(arrays: type, draw: Callable[..., Any]) -> None:
    """Make this the function of problems whose `noise` is of this class."""
    _NOISES[arrays] = draw


def register_steps(arrays: type, steps: NoiseSteps) -> None:
    """Let the noise of this class be drawn in two steps, which must come to what its `draw` does."""
    _STEPS[arrays] = steps


def dynamics_kernel_of(arrays: type) -> DynamicsKernel:
    """Return the functions for `problem.dynamics` of this class."""
    return _DYNAMICS[arrays]


def draw_of(arrays: type) -> Callable[..., Any]:
    """Return the function for `problem.noise` of this class."""
    return _NOISES[arrays]


def has_steps(arrays: type) -> bool:
    """Say whether the noise of problems whose `noise` is of this class is drawn in two steps."""
    return arrays in _STEPS


# What compiled code calls. Numba resolves these by the classes inside `problem`; plain Python does the same here.


def value_now(problem, memory, arm, t):
    """Return what a pull of the arm is worth in round t."""
    return _DYNAMICS[type(problem.dynamics)].value(problem, memory, arm, t)


def after_pull(problem, memory, arm, t):
    """Take down that the arm was pulled in round t."""
    _DYNAMICS[type(problem.dynamics)].pulled(problem, memory, arm, t)


def begin_run(problem, memory, key):
    """Prepare the memory of a run."""
    _DYNAMICS[type(problem.dynamics)].begin(problem, memory, key)


def draw_reward(problem, arm, mean, key, n):
    """Return the reward of the arm's pull number n."""
    return _NOISES[type(problem.noise)](problem, arm, mean, key, n)


def standard_noise(problem, arm, key, n):
    """Return what the reward of the arm's pull number n needs from its noise, whatever its mean."""
    return _STEPS[type(problem.noise)].standard(problem, arm, key, n)


def reward_around(problem, arm, mean, standard):
    """Return the reward, given `standard_noise`."""
    return _STEPS[type(problem.noise)].around(problem, arm, mean, standard)


def may_pull(memory, arm):
    """Say whether the arm may be pulled in the next round."""
    return ELIGIBLE not in memory._fields or memory.eligible[arm] == 1


def nothing_pulled(problem, memory, arm, t):
    """Take nothing down: the loop counts pulls by itself."""


def nothing_to_begin(problem, memory, key):
    """Leave the memory as it was made."""


def part_class(problem: Any, name: str) -> type:
    """Return the class of a part of a problem, given numba's type of it."""
    fields = getattr(problem, "fields", ())
    if name not in fields:
        return type(None)
    return getattr(problem.types[fields.index(name)], "instance_class", type(None))


@overload(value_now, jit_options=INLINED)
def _value_now(problem, memory, arm, t):
    kernel = _DYNAMICS.get(part_class(problem, "dynamics"))
    return None if kernel is None else kernel.value


@overload(after_pull, jit_options=INLINED)
def _after_pull(problem, memory, arm, t):
    kernel = _DYNAMICS.get(part_class(problem, "dynamics"))
    return None if kernel is None else kernel.pulled


@overload(begin_run, jit_options=INLINED)
def _begin_run(problem, memory, key):
    kernel = _DYNAMICS.get(part_class(problem, "dynamics"))
    return None if kernel is None else kernel.begin


@overload(draw_reward, jit_options=INLINED)
def _draw_reward(problem, arm, mean, key, n):
    return _NOISES.get(part_class(problem, "noise"))


@overload(standard_noise, jit_options=INLINED)
def _standard_noise(problem, arm, key, n):
    steps = _STEPS.get(part_class(problem, "noise"))
    return None if steps is None else steps.standard


@overload(reward_around, jit_options=INLINED)
def _reward_around(problem, arm, mean, standard):
    steps = _STEPS.get(part_class(problem, "noise"))
    return None if steps is None else steps.around


@overload(may_pull, jit_options=INLINED)
def _may_pull(memory, arm):
    return _is_eligible if ELIGIBLE in getattr(memory, "fields", ()) else _always


def _is_eligible(memory, arm):
    return memory.eligible[arm] == 1


def _always(memory, arm):
    return True
