"""Read objects from text such as "FEWA(alpha=0.06)". Text is parsed, never evaluated."""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from rotting.errors import ParseError, RottingError

# Longer texts are refused before they are parsed. A problem fitted to a log has some 5000 values per arm in its repr.
_LONGEST = 16_000_000

# Names, and what makes the object that each stands for.
Known = Mapping[str, Callable[..., Any]]

_signature = functools.lru_cache(256)(inspect.signature)


def parse_call(text: str, known: Known, what: str, nested: Known) -> Any:
    """Return what a text such as `Name(1, key=2)` describes.

    Parameters
    ----------
    text
        A name, or a call with literal arguments.
    known
        What the text may name.
    what
        What such things are called in messages: "policy", "problem".
    nested
        What arguments may name, besides literals: curves.
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ParseError(f"{what} {str(text)[:60]!r} is not a text of at most {_LONGEST:,} characters", value=text)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _call(tree, known, what, nested)
    except ParseError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        example = next(iter(known))
        raise ParseError(
            f"{what} {text[:60]!r} cannot be read", value=text, expected=f"a name or a call such as {example}(...)"
        ) from None


def _call(node: ast.expr, known: Known, what: str, nested: Known) -> Any:
    """Return the object that `Name` or `Name(value, key=value, ...)` stands for."""
    name = node.func if isinstance(node, ast.Call) else node
    if not isinstance(name, ast.Name):
        raise ParseError(f"{what} {_text(node)} is not a name or a call", expected=f"for example {next(iter(known))}()")
    if name.id not in known:
        raise ParseError(
            f"{what} {name.id!r} does not exist", value=name.id, hint=_suggestion(name.id, known, "it can be")
        )
    make = known[name.id]
    positional, named = [], {}
    if isinstance(node, ast.Call):
        positional = [_value(argument, nested) for argument in node.args]
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ParseError("** is not allowed here", owner=name.id)
            if keyword.arg in named:
                raise ParseError("is given twice", owner=name.id, name=keyword.arg)
            named[keyword.arg] = _value(keyword.value, nested)
    _check_arguments(name.id, make, positional, named)
    try:
        return make(*positional, **named)
    except RottingError as error:
        raise ParseError(
            error.problem,
            owner=error.owner,
            name=error.name,
            value=error.value,
            expected=error.expected,
            hint=error.hint,
        ) from None
    except (TypeError, ValueError, OverflowError) as error:  # of a class that is not the package's
        raise ParseError(str(error), owner=name.id) from None


def _value(node: ast.expr, nested: Known) -> Any:
    """Return a number, text, truth value, None, curve, or a list of them."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, bytes | complex):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = _value(node.operand, nested)
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_value(element, nested) for element in node.elts)
    if isinstance(node, ast.Call):
        return _call(node, nested, "curve", nested)
    raise ParseError(
        f"{_text(node)} is not a value", expected="a number, a text, a list or a curve such as Drop(1, 0, 100)"
    )


def _check_arguments(name: str, make: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> None:
    signature = _signature(make)
    allowed = signature.parameters
    for key in named:
        if key not in allowed:
            raise ParseError(
                "is not a parameter", owner=name, name=key, hint=_suggestion(key, allowed, "its parameters are")
            )
    try:
        signature.bind(*positional, **named)
    except TypeError as error:
        raise ParseError(str(error), owner=name, hint=f"its parameters are {', '.join(allowed) or 'none'}") from None


def _suggestion(name: str, known: Mapping[str, Any], they_are: str) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    by_case = [other for other in known if other.lower() == name.lower()]
    every = f"{they_are} {', '.join(sorted(known, key=str.lower)) or 'none'}"
    if meant := by_case or close:
        return f"did you mean {meant[0]!r}? {every[0].upper()}{every[1:]}"
    return every


def _text(node: ast.expr) -> str:
    text = ast.unparse(node)
    return repr(text if len(text) <= 60 else text[:57] + "...")
