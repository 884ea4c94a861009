"""The GPU: whether there is one, what is missing if there is none, and arrays in its memory.

Numba's CUDA simulator (NUMBA_ENABLE_CUDASIM=1) stands in for a GPU in tests; there, arrays are NumPy's.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

from rotting.errors import MissingExtra, NoDevice

SIMULATED = bool(numba.config.ENABLE_CUDASIM)
WARP = 32  # threads that run in step
# What the simulator pretends to have.
_SIMULATED_MEMORY, _SIMULATED_PROCESSORS = 1 << 30, 2


@cache
def require() -> None:
    """Raise an error that says what is missing, unless runs can be played on a GPU."""
    if SIMULATED:
        return
    if importlib.util.find_spec("numba_cuda") is None:
        raise MissingExtra("needs numba-cuda", name="device", value="cuda", hint='pip install "rotting[cuda]"')
    try:
        from numba import cuda
    except Exception as error:
        raise MissingExtra(
            f"cannot be used, since numba-cuda cannot be imported: {error}",
            name="device",
            value="cuda",
            hint='pip install "rotting[cuda]" installs versions that go together',
        ) from error
    try:
        found = len(cuda.gpus)
    except ImportError as error:  # numba's CudaSupportError
        said = " ".join(str(error).split())
        raise NoDevice(
            f"finds no NVIDIA driver ({said})", name="device", value="cuda", hint="nvidia-smi shows drivers and GPUs"
        ) from error
    if found == 0:
        raise NoDevice("finds no NVIDIA GPU", name="device", value="cuda", hint="nvidia-smi shows drivers and GPUs")
    # A few runs do not fill a GPU; whoever asks for a few knows.
    warnings.filterwarnings("ignore", "Grid size .* low occupancy", numba.NumbaPerformanceWarning)


@cache
def name() -> str:
    """Return what the GPU is called."""
    require()
    if SIMULATED:
        return "CUDA simulator"
    from numba import cuda

    called: bytes | str = cuda.get_current_device().name
    return called.decode() if isinstance(called, bytes) else str(called)


def processors() -> int:
    """Return how many multiprocessors the GPU has."""
    if SIMULATED:
        return _SIMULATED_PROCESSORS
    from numba import cuda

    return int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


def free_memory() -> int:
    """Return how many bytes of the GPU's memory nobody uses."""
    if SIMULATED:
        return _SIMULATED_MEMORY
    from numba import cuda

    return int(cuda.current_context().get_memory_info()[0])


class Stream:
    """A queue of work for the device: what is put into it is done in order, beside what is in other streams."""

    def __init__(self) -> None:
        self.handle: Any = 0
        if not SIMULATED:
            from numba import cuda

            self.handle = cuda.stream()

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return an array of zeros on the device; `MemoryError` if it does not fit."""
        if SIMULATED:
            return np.zeros(shape, dtype)
        from numba import cuda
        from numba.cuda.cudadrv.driver import device_memset

        with _memory_errors():
            array = cuda.device_array(shape, dtype, stream=self.handle)
            device_memset(array, 0, array.nbytes, stream=self.handle)
        return array

    def to_device(self, array: np.ndarray) -> Any:
        """Return a copy of an array on the device; `MemoryError` if it does not fit."""
        if SIMULATED:
            return array.copy()
        from numba import cuda

        with _memory_errors():
            return cuda.to_device(np.ascontiguousarray(array), stream=self.handle)

    def to_host(self, array: Any) -> np.ndarray:
        """Return a copy of a device's array, once all that was put into the stream before is done."""
        if SIMULATED:
            return np.array(array)
        copied = np.asarray(array.copy_to_host(stream=self.handle))
        self.handle.synchronize()
        return copied

    def launch(self, kernel: Any, blocks: int, threads: int, *arguments: Any) -> None:
        """Begin to run a kernel in blocks of so many threads."""
        if SIMULATED:
            blocks, threads = min(blocks, _SIMULATED_PROCESSORS), WARP
        kernel[blocks, threads, self.handle](*arguments)

    def mark(self) -> Callable[[], bool]:
        """Return a function that says whether all that was put into the stream until now is done."""
        if SIMULATED:
            return lambda: True
        from numba import cuda

        event = cuda.event(timing=False)
        event.record(self.handle)
        return lambda: bool(event.query())


class _memory_errors:  # noqa: N801 (used as a function)
    """Turn the driver's complaint about memory into Python's."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None and "OUT_OF_MEMORY" in str(error):
            raise MemoryError("the GPU's memory is full") from error
