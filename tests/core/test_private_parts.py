"""What the package uses of numba that numba does not promise.

numba has an upper bound in pyproject.toml for this. Before it is raised, these tests, `test_linking.py` and the soak
must pass with the new version. What is used of numba-cuda is tried on a GPU (`make test-gpu`), where
`play/gpu/compiling.py` refuses to play with kernels that round otherwise than the CPU.
"""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import numba
import pytest

from rotting import UCB1

# Methods that are overridden or called, and what for.
USED = {
    "numba.core.codegen.JITCodeLibrary": (
        "_optimize_final_module _finalize_final_module _finalize_dynamic_globals get_pointer_to_function",
        "helpers are neither optimised nor compiled by themselves (_core/linking.py)",
    ),
    "numba.core.compiler.Compiler": ("compile_extra", "the same"),
    "numba.core.cpu.CPUContext": ("subtarget enable_boundscheck", "indices of users' kernels are checked"),
    "numba.core.registry.CPUDispatcher": ("targetoptions overloads py_func", "helpers that Python calls"),
    "numba.core.event.Listener": ("on_start on_end", "the line that says that something is compiled"),
    "numba.core.ir.SetItem": ("list_vars", "floats that an update would cut to whole numbers (_core/checking.py)"),
}


@pytest.mark.parametrize("kind", USED)
def test_what_is_used_of_numba_is_there(kind):
    module, _, name = kind.rpartition(".")
    found, (methods, purpose) = getattr(import_module(module), name), USED[kind]
    if name == "CPUDispatcher":
        found = numba.njit(lambda x: x)
    missing = [method for method in methods.split() if not hasattr(found, method)]
    assert not missing, f"numba {numba.__version__}: {name} has no {', '.join(missing)}, for: {purpose}"


def test_the_type_of_a_state_knows_its_class():
    """By it compiled code finds a policy's functions (`_contract/kernel.py`)."""
    state = UCB1.State(*UCB1().initial_state(2))
    assert numba.typeof(state).instance_class is UCB1.State


def test_the_installed_numba_is_within_what_was_tried():
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())["project"]
    [asked] = [each for each in project["dependencies"] if each.startswith("numba")]
    lowest, bound = (tuple(map(int, each.split("."))) for each in re.findall(r"[\d.]+", asked))
    assert lowest <= tuple(map(int, numba.__version__.split(".")[:2])) < bound
