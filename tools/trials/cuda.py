"""What the GPU needs is installed; without a GPU, that is said."""

import importlib.metadata

import rotting
from rotting.errors import RottingError

assert importlib.metadata.version("numba-cuda").startswith("0.30.")
said = ""
try:
    rotting.simulate(rotting.UCB1(), rotting.problems.two_arm(horizon=50), runs=2, device="cuda")
except RottingError as error:
    said = str(error)
assert not said or "NVIDIA" in said, said
