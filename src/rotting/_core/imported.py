"""Modules of users, imported from texts that are kept: own policies, dynamics, curves and noise.

A sweep can be resumed, and sent to other machines. So it must know the code of its user's classes: the very text that
was executed, and its digest. What is imported here is read once, executed from that text by an importer of our own,
and sent to workers as that text. Files beside a module that it imports belong to it.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

from rotting.errors import BadValue, RottingError, literal

# Whoever loads modules and then reads texts that name what is in them does both under this lock.
LOCK = threading.RLock()


class Source(NamedTuple):
    """The text of one module."""

    name: str  # as in `import name`
    path: str  # where it was read
    text: str
    is_package: bool = False

    @property
    def digest(self) -> str:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


# Every module that was loaded here, by its name.
_loaded: dict[str, Source] = {}


def load(what: str | os.PathLike[str], folder: str | os.PathLike[str] = ".") -> None:
    """Import a user's module, by its file or by its name.

    Parameters
    ----------
    what
        A file such as "my_policy.py", or a module that Python finds, such as "my_policy" or "my_package.policies".
    folder
        What a relative path begins at, and where modules are looked for first.
    """
    text = os.fspath(what)
    by_name = not text.endswith(".py") and all(part.isidentifier() for part in text.split("."))
    name, path = _found(text, Path(folder)) if by_name else _file(text, Path(folder))
    sources = _with_all_it_needs(name, path)
    for source in sources:
        _refuse_shadowing(source)
    load_sources(sources)


def load_sources(sources: Iterable[Source]) -> None:
    """Import modules from texts; those that are loaded already, and need nothing that has changed, stay as they are."""
    with LOCK:
        changed = {source.name: source for source in sources if loaded_digest(source.name) != source.digest}
        if not changed:
            return
        if _IMPORTER not in sys.meta_path:
            sys.meta_path.insert(0, _IMPORTER)
        _loaded.update(changed)
        again = [name for name in _loaded if not changed.keys().isdisjoint(_needed_by(name))]
        for name in again:
            sys.modules.pop(name, None)
        try:
            for name in again:
                with _explained(_loaded[name]):
                    importlib.import_module(name)
        except BaseException:
            for name in again:
                sys.modules.pop(name, None)
                _loaded.pop(name, None)
            raise


def sources_of(kinds: Iterable[type]) -> tuple[Source, ...]:
    """Return the modules that classes were loaded from, with all that they need."""
    names = dict.fromkeys(name for kind in kinds for name in _needed_by(kind.__module__))
    return tuple(_loaded[name] for name in names)


def _needed_by(name: str) -> list[str]:
    """Return the modules loaded here that a module needs: itself, its package, what those import, and so on."""
    found: dict[str, None] = {}
    waiting = [name.partition(".")[0]]
    for top in waiting:
        for each in sorted(each for each in _loaded if each.partition(".")[0] == top and each not in found):
            found[each] = None
            waiting += _imported_by(_loaded[each])
    return list(found)


def loaded_digest(name: str) -> str | None:
    """Return the digest of a module that was loaded here, or None."""
    return _loaded[name].digest if name in _loaded else None


def is_loaded(kind: type) -> bool:
    """Say whether a class is from a module that was loaded here, as it was loaded last."""
    if kind.__module__ not in _loaded:
        return False
    found: object = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind


# Where modules are.


def _file(text: str, folder: Path) -> tuple[str, Path]:
    path = folder / text
    if not path.is_file():
        raise BadValue("is neither a file nor a module", name="imports", value=text)
    path = path.resolve()
    parts = [] if path.name == "__init__.py" else [path.stem]
    inside = path.parent
    while (inside / "__init__.py").is_file():
        parts.insert(0, inside.name)
        inside = inside.parent
    if path.suffix != ".py" or not all(part.isidentifier() for part in parts):
        expected = "a Python file whose name can be imported, such as my_policy.py"
        raise BadValue(name="imports", value=text, expected=expected)
    return ".".join(parts), path


def _found(name: str, folder: Path) -> tuple[str, Path]:
    """Return a module that Python finds, as (name, path)."""
    spec = None
    search: list[str] | None = [str(folder), *sys.path]
    parts = name.split(".")
    for depth in range(len(parts)):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[: depth + 1]), search)
        search = None if spec is None else list(spec.submodule_search_locations or [])
        if spec is None:
            break
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise BadValue("is neither a file nor a module", name="imports", value=name, hint="name a file: my_policy.py")
    return name, Path(spec.origin)


def _with_all_it_needs(name: str, path: Path) -> list[Source]:
    """Return the sources of a module, of its package, and of the files beside it that those import."""
    found: dict[str, Source] = {}
    _collect(name, path, found)
    return list(found.values())


def _collect(name: str, path: Path, found: dict[str, Source]) -> None:
    """Add a module and what it needs to what is found."""
    top, _, below = name.partition(".")
    if below or path.name == "__init__.py":
        root = path.parents[name.count(".") - (path.name != "__init__.py")] if below else path.parent
        own = {_dotted(top, root, file): file for file in sorted(root.rglob("*.py"))}
        folder = root.parent
    else:
        own, folder = {name: path}, path.parent
    for module, file in own.items():
        found[module] = Source(module, str(file.resolve()), _read(file), file.name == "__init__.py")
    if _is_installed(folder):
        return
    for module in own:
        for needed in _imported_by(found[module]):
            beside = [file for file in (folder / f"{needed}.py", folder / needed / "__init__.py") if file.is_file()]
            if needed not in found and beside:
                _collect(needed, beside[0], found)


def _dotted(top: str, root: Path, file: Path) -> str:
    parts = file.relative_to(root).with_suffix("").parts
    return ".".join((top, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError) as error:
        raise BadValue(f"cannot be read: {error}", name="imports", value=str(file)) from None


def _imported_by(source: Source) -> Iterator[str]:
    """Yield the top names that a module imports, wherever in it."""
    with _explained(source):
        tree = ast.parse(source.text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def _is_installed(folder: Path) -> bool:
    paths = {os.path.realpath(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    return os.path.realpath(folder) in paths


def _refuse_shadowing(source: Source) -> None:
    """Refuse a name that something else has: whoever imports that would get this."""
    top = source.name.partition(".")[0]
    taken = "Python's own" if top in sys.stdlib_module_names else "this package's" if top == "rotting" else ""
    found = None if taken else importlib.machinery.PathFinder.find_spec(top)
    if found is not None and found.origin and any(map(_is_installed, Path(found.origin).parents[:2])):
        taken = "" if _is_part_of(found.origin, source) else f"that of {found.origin}"
    loaded = getattr(sys.modules.get(source.name), "__file__", None)
    if not taken and source.name not in _loaded and loaded and os.path.realpath(loaded) != source.path:
        taken = f"that of {loaded}, which is imported already"
    if taken:
        raise BadValue(f"has a name that is {taken}", name="imports", value=source.path, hint="choose another name")


def _is_part_of(origin: str, source: Source) -> bool:
    """Say whether a module is in the file, or in the package, that was found under its name."""
    real = Path(origin).resolve()
    return str(real) == source.path or (real.name == "__init__.py" and Path(source.path).is_relative_to(real.parent))


# How they are executed.


class _Importer(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Gives Python the modules that are loaded here, from their texts."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        source = _loaded.get(fullname)
        if source is None:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=source.path, is_package=source.is_package)

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = _loaded[module.__name__].path
        super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(_loaded[fullname].text, _loaded[fullname].path)

    def get_source(self, fullname: str) -> str:
        return _loaded[fullname].text

    def is_package(self, fullname: str) -> bool:
        return _loaded[fullname].is_package


_IMPORTER = _Importer()


@contextlib.contextmanager
def _explained(source: Source) -> Iterator[None]:
    """Say of a mistake in a user's module where it is."""
    try:
        yield
    except RottingError as error:
        raise error.within(source.path) from None
    except (Exception, SystemExit) as error:  # a script that ends with sys.exit() would end the command without a word
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == source.path]
        line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
        where = source.path if line is None else f"{source.path}, line {line}"
        said = literal(error.msg if isinstance(error, SyntaxError) else str(error))
        raise BadValue(f"cannot be imported: {type(error).__name__}: {said}", owner=where) from error
