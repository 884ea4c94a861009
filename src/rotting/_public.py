"""The public names, read from `__init__.pyi`: one list for type checkers, for `import rotting`, for docs and tests.

Nothing is imported before it is used, so that `rotting --help` does not wait for the compiler's libraries.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent


@cache
def public_names() -> dict[str, str]:
    """Return each public name and the module that it is imported from (a module's own name: the module itself)."""
    found: dict[str, str] = {}
    for node in ast.parse((_PACKAGE / "__init__.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                if alias.name == "*":
                    found |= dict.fromkeys(_exported(node.module), node.module)
                else:
                    found[alias.name] = f"rotting.{alias.name}" if node.module == "rotting" else node.module
    return found


def _exported(module: str) -> list[str]:
    """Return the `__all__` of a package without importing it."""
    folder = _PACKAGE.joinpath(*module.split(".")[1:])
    for node in ast.parse((folder / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AttributeError(f"{module} has no __all__")
