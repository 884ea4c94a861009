"""How the CUDA kernels are compiled and kept on disk.

Rounding. The GPU adds, multiplies, divides and takes roots exactly as the CPU does, if the compiler does not contract
a * b + c into one operation that rounds once; so it is told not to. Logarithms, exponentials and powers come from
another library than the CPU's and may differ in their last bits.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from numba import cuda

from rotting._core.compiling import cache_in, is_package_only, kernel_folder
from rotting.play.gpu.device import SIMULATED, WARP
from rotting.play.gpu.kernel import Batch, play_batch, spread

_NO_CONTRACTION = {"fma": 0}


def kernel_for(batch: Batch) -> tuple[Any, int]:
    """Return the kernel that plays a batch, compiled, and how many registers a thread of it takes."""
    kernel = _kernel(play_batch, is_package_only(batch))
    if SIMULATED:
        return kernel, 1
    arguments = (batch, 1, 0, WARP)
    with _without_contraction():
        kernel[1, WARP](*arguments)  # plays no round
    compiled = kernel.overloads[tuple(map(kernel.typeof_pyval, arguments))]
    # Private to numba-cuda; if it is no longer so, nothing must be played with kernels that round differently.
    if compiled.library._nvvm_options.get("fma") != 0:
        raise RuntimeError("this version of numba-cuda cannot be told to round as the CPU does")
    return kernel, int(compiled.regs_per_thread)


def spreading() -> Any:
    """Return the compiled `spread`."""
    return _kernel(spread, True)


@cache
def _kernel(function: Callable[..., None], cached: bool) -> Any:
    """Return a kernel; the package's own code is kept on disk, code of a user's policy is not."""
    if SIMULATED:
        return cuda.jit(function)
    # Linked as PTX, not as an intermediate language: what is linked is then what was compiled without contraction.
    options = {"lto": False, "fastmath": False}
    if not cached:
        return cuda.jit(function, **options)
    from numba_cuda import __version__

    with cache_in(kernel_folder() / f"cuda-{__version__}") as usable:
        return cuda.jit(function, cache=usable, **options)


@contextlib.contextmanager
def _without_contraction() -> Iterator[None]:
    """Compile so that a product is rounded before it is added to; numba-cuda has no option for it."""
    from numba.cuda import dispatcher

    usual = dispatcher.compile_cuda

    def compile_exactly(*arguments: Any, nvvm_options: dict[str, Any], **named: Any) -> Any:
        return usual(*arguments, nvvm_options=nvvm_options | _NO_CONTRACTION, **named)

    dispatcher.compile_cuda = compile_exactly
    try:
        yield
    finally:
        dispatcher.compile_cuda = usual
