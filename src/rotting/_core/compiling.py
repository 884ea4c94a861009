"""Three decorators for compiled functions, and an on-disk cache that cannot go stale.

`helper` compiles a small function that is inlined into others, `outlined` one that others call. `entry` compiles a
function that Python calls; its machine code is kept on disk, so only the first process on a machine waits for the
compiler.

Numba decides whether cached code is still good by looking at the entry's own file. Our entries reach code in many other
files, through `rotting.policies._contract.kernel`, so the name of the cache folder holds a digest of them all: edit any
of those files and the next process looks into an empty folder. Code that involves a user's own policy is never cached.

For debugging, NUMBA_DISABLE_JIT=1 runs all kernels as plain Python (step through them with any debugger), and
NUMBA_BOUNDSCHECK=1 compiles them with every index checked, into a cache folder of its own.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

from rotting._core import compile_notice
from rotting._core.linking import LINKED, linked
from rotting.errors import KernelError

_PACKAGE = Path(__file__).parents[1]
# Everything that may be compiled into an entry; the decorators refuse functions from other files of the package.
_KERNEL_SOURCES = (
    "_core/checking.py",
    "_core/compiling.py",
    "_core/gamma.py",
    "_core/linking.py",
    "_core/randomness.py",
    "_core/summation.py",
    "policies",
    "problems",
    "play/gpu",
    "play/late.py",
    "play/loop.py",
    "play/shown.py",
    "value/along.py",
)
# No fast maths anywhere: exactness rests on IEEE rounding. No reference counting: kernels allocate nothing.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
# A state is a tuple of many arrays, which a call that is not inlined would copy: some 100 ns each time. For `helper`,
# `linked` and `overload`; never for `numba.njit` (see LINKED).
INLINED: dict[str, Any] = OPTIONS | LINKED | {"forceinline": True}
_KEEP_SECONDS = 30 * 24 * 3600


def helper(function: Callable[..., Any]) -> Any:
    """Compile a function that is only called from other compiled functions."""
    _check_source(function)
    return linked(function, **INLINED)


def outlined(function: Callable[..., Any]) -> Any:
    """Compile a helper for a rare case: it is called, not inlined, and stays out of the way of the common case."""
    _check_source(function)
    return linked(function, **OPTIONS)


class entry:  # noqa: N801 (used as a decorator)
    """Compile a function that Python calls; its first argument may be a policy's state or a problem.

    For the package's own policies and problems it is compiled once per machine and kept on disk. What comes from
    anywhere else is compiled again in each process (about a second): the cache could not notice edits to its file, and
    must not remember code that belongs to it.
    """

    def __init__(self, function: Callable[..., Any]):
        _check_source(function)
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__wrapped__ = function
        if numba.config.DISABLE_JIT:
            self._cached = self._fresh = _quietly(function)
            return
        _install_notice()
        with cache_in(kernel_folder()) as usable:
            self._cached = numba.njit(function, cache=usable, **OPTIONS)
        self._fresh = _named(numba.njit(function, **OPTIONS))

    def compiled_for(self, *tuples: Any) -> Any:
        """Return the compiled function to call with these states and problems."""
        return self._cached if all(map(is_package_only, tuples)) else self._fresh

    def __call__(self, first: Any, *rest: Any) -> Any:
        """Call the function that fits the first argument; where that is always the same, `compiled_for` is faster."""
        return self.compiled_for(first)(first, *rest)


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that says what an error about an index means: those of users' functions are checked."""

    @functools.wraps(function)
    def called(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except IndexError as error:
            raise KernelError(
                "a kernel uses an index beyond the end of an array",
                expected="indices from 0 to the length of an array minus 1",
                hint="rotting.simulate(..., check=True) finds the line",
            ) from error

    return called


def belongs_to_package(kind: type) -> bool:
    """Say whether a class is the package's own (or Python's or NumPy's), and not a user's."""
    return kind.__module__.partition(".")[0] in ("rotting", "builtins", "numpy")


def is_package_only(arrays: Any) -> bool:
    """Say whether a NamedTuple of arrays, and all that are nested in it, are of the package's own classes."""
    return belongs_to_package(type(arrays)) and all(is_package_only(part) for part in arrays if isinstance(part, tuple))


def _quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plain function under the rules of compiled code: no warnings for overflow or division by zero."""

    @functools.wraps(function)
    def quiet(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return quiet


@cache
def kernel_digest() -> str:
    """Return a digest of every source file that can end up in compiled code, and of how it is compiled."""
    how = f"{numba.__version__} {sys.version} {bool(numba.config.BOUNDSCHECK)}"
    digest = hashlib.sha256(how.encode())
    for name in _KERNEL_SOURCES:
        source = _PACKAGE / name
        for file in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _check_source(function: Callable[..., Any]) -> None:
    """Refuse to compile what the digest would not notice changes of."""
    file = Path(function.__code__.co_filename)
    if file.is_relative_to(_PACKAGE) and not any(file.is_relative_to(_PACKAGE / name) for name in _KERNEL_SOURCES):
        raise RuntimeError(f"{file.name}: add this file to _KERNEL_SOURCES in compiling.py, or caches will go stale")


@cache
def kernel_folder() -> Path:
    """Return the folder that holds this version's machine code (NUMBA_CACHE_DIR moves it)."""
    return _cache_root() / f"kernels-{kernel_digest()}"


def _cache_root() -> Path:
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen) / "rotting"
    home: str | Path
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "rotting"


def is_kept() -> bool:
    """Say whether compiled code can be kept on this machine, in `kernel_folder()`."""
    return _ready(kernel_folder())


@cache
def _install_notice() -> None:
    compile_notice.install(kernel_folder(), is_kept())


@contextlib.contextmanager
def cache_in(folder: Path) -> Iterator[bool]:
    """Point numba at `folder` while a function is being declared; say whether the folder can be written."""
    if not _ready(folder):
        yield False
        return
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        yield True
    finally:
        numba.config.CACHE_DIR = before


@cache
def _ready(folder: Path) -> bool:
    """Create the cache folder, deleting what older versions left; False where nothing can be written."""
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            for other in folder.parent.glob("kernels-*"):
                if other != folder and time.time() - other.stat().st_mtime > _KEEP_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)
        return os.access(folder, os.W_OK)
    except OSError:
        return False
