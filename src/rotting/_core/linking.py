"""Compiling functions that exist inside of other compiled functions only.

Numba optimises every function by itself, together with all that it calls, and makes machine code of it, although in the
end only the code of the outermost function is used: here, an entry. What lies n calls deep is optimised n times over.
`linked` stops where a function can be linked into others and leaves the rest to the entry. Nor does it make the code
by which Python calls a function, which has to unpack every array of a state. Exact FEWA, some fifty functions, is
compiled in half the time, and runs as fast.

Called from Python, such a function is compiled once more, in the ordinary way.

The methods of numba's that are overridden here are not documented. Where a version of numba has none of that name, more
is compiled than needed, indices of users' functions are not checked, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher


class _LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """Code to be linked into other libraries, neither optimised nor turned into machine code by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        return 0

    @property
    def codegen(self) -> _NoEnvironment:
        """What numba hands the function's environment to."""
        return _NoEnvironment()


class _NoEnvironment:
    """Ignores environments: Python objects for printing and the like, which functions of the package never do."""

    def set_env(self, env_name: str, env: object) -> None:
        """Do nothing; numba would write to machine code that does not exist."""


class _LinkedCompiler(Compiler):  # type: ignore[misc]
    """Compiles functions of the package to be linked into others.

    Those of a user are compiled in the ordinary way (they may print), with every index checked.
    """

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        """Compile `func`."""
        state = self.state
        if _is_ours(func):
            if state.library is None:
                state.library = _LinkedLibrary(state.targetctx.codegen(), func.__qualname__)
            return super().compile_extra(func)
        state.targetctx = state.targetctx.subtarget(enable_boundscheck=True)
        called = _users_helpers(func, [])
        try:
            for each in called:
                each.targetoptions["boundscheck"] = True
            return super().compile_extra(func)
        finally:
            for each in called:  # as they were: on a GPU, indices cannot be checked
                each.targetoptions["boundscheck"] = None


def _is_ours(function: Callable[..., Any]) -> bool:
    return function.__module__.partition(".")[0] == "rotting"


def _users_helpers(function: Callable[..., Any], found: list[Any]) -> list[Any]:
    """Return the compiled functions of a user's own that a function calls, directly or not."""
    names = function.__code__.co_names
    known: list[Any] = [function.__globals__.get(name) for name in names]
    known += [cell.cell_contents for cell in function.__closure__ or ()]
    known += [getattr(module, name, None) for module in known if isinstance(module, ModuleType) for name in names]
    for each in known:
        is_new = isinstance(each, CPUDispatcher) and each not in found and not _is_ours(each.py_func)
        if is_new and each.targetoptions.get("boundscheck") is None:
            found.append(each)
            _users_helpers(each.py_func, found)
    return found


class _LinkedDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A function that is linked into others where compiled functions call it, and compiled by itself for Python."""

    def __call__(self, *arguments: Any) -> Any:
        if not hasattr(self, "_for_python"):
            options = {name: value for name, value in self.targetoptions.items() if name not in LINKED}
            self._for_python = numba.jit(self.py_func, **options)
        return self._for_python(*arguments)


# Options for `numba.extending.overload`; `linked` has them, too. Not for `numba.njit`: what that returns has no machine
# code, and would crash when Python calls it.
LINKED: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _LinkedCompiler,
}


def linked(function: Callable[..., Any], **options: Any) -> Any:
    """Return a function to be called by compiled functions."""
    dispatcher = numba.njit(function, **(LINKED | options))
    if not numba.config.DISABLE_JIT:
        dispatcher.__class__ = _LinkedDispatcher
    return dispatcher
