"""Bandits for things that wear out as you show them. The public names are listed in `__init__.pyi`."""

from __future__ import annotations

from importlib import import_module

from rotting._public import public_names

__version__ = "0.2.0"

__all__ = sorted(public_names())


def __getattr__(name: str) -> object:
    try:
        module = public_names()[name]
    except KeyError:
        raise AttributeError(f"module 'rotting' has no attribute {name!r}") from None
    found = import_module(module)
    value = found if module == f"rotting.{name}" else getattr(found, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
