"""Read policies, curves and problems from text such as "FEWA(alpha=0.06)". Text is parsed, never evaluated."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from rotting.curves import Curve
from rotting.policies.base import Policy
from rotting.problems import NAMED, Problem

_LONGEST = 100_000


class ParseError(ValueError):
    """The text does not name something that exists, or gives it parameters that it does not take."""


def parse_policy(text: str) -> Policy:
    """Return the policy that a text such as `repr(policy)` describes.

    >>> parse_policy("FEWA(alpha=0.1)")
    FEWA(alpha=0.1, sigma=1.0, delta0=1.0)
    """
    import rotting.policies  # noqa: F401 (every policy of the package makes itself known)

    return _parse(text, Policy.known, "policy")


def parse_problem(text: str) -> Problem:
    """Return the problem that a text describes: a named one, or any other as `repr(problem)` writes it.

    >>> parse_problem("two_arm(L=0.5, horizon=1000)").horizon
    1000
    >>> parse_problem("Problem([0.5, Drop(1, 0, 100)], sigma=0.1)").n_arms
    2
    """
    return _parse(text, {**NAMED, "Problem": Problem}, "problem")


def _parse(text: str, known: Mapping[str, Callable[..., Any]], what: str) -> Any:
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise ParseError(f"{what} {str(text)[:60]!r} is not a text of at most {_LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        return _call(tree, known, what)
    except ParseError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        example = next(iter(known))
        raise ParseError(
            f"{what} {text[:60]!r} cannot be read; expected a name or a call such as {example}(...)"
        ) from None


def _call(node: ast.expr, known: Mapping[str, Callable[..., Any]], what: str) -> Any:
    """Return the object that `Name` or `Name(value, key=value, ...)` stands for."""
    name = node.func if isinstance(node, ast.Call) else node
    if not isinstance(name, ast.Name):
        raise ParseError(f"{what} {_text(node)} is not a name or a call; expected for example {next(iter(known))}()")
    if name.id not in known:
        raise ParseError(f"{what} {name.id!r} does not exist; {_suggestion(name.id, known)}")
    make = known[name.id]
    positional, named = [], {}
    if isinstance(node, ast.Call):
        positional = [_value(argument) for argument in node.args]
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ParseError(f"{name.id}: ** is not allowed here")
            if keyword.arg in named:
                raise ParseError(f"{name.id}: parameter {keyword.arg!r} is given twice")
            named[keyword.arg] = _value(keyword.value)
    _check_arguments(name.id, make, positional, named)
    try:
        return make(*positional, **named)
    except (TypeError, ValueError, OverflowError) as error:
        raise ParseError(str(error)) from None


def _value(node: ast.expr) -> Any:
    """Return a number, text, truth value, None, curve, or a list of them."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, bytes | complex):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        number = _value(node.operand)
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_value(element) for element in node.elts)
    if isinstance(node, ast.Call):
        return _call(node, Curve.known, "curve")
    raise ParseError(
        f"{_text(node)} is not a value; expected a number, a text, a list or a curve such as Drop(1, 0, 100)"
    )


def _check_arguments(name: str, make: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> None:
    allowed = inspect.signature(make).parameters
    for key in named:
        if key not in allowed:
            raise ParseError(f"{name} has no parameter {key!r}; {_suggestion(key, allowed)}")
    try:
        inspect.signature(make).bind(*positional, **named)
    except TypeError as error:
        raise ParseError(f"{name}: {error}; its parameters are {', '.join(allowed) or 'none'}") from None


def _suggestion(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    by_case = [other for other in known if other.lower() == name.lower()]
    names = ", ".join(sorted(known, key=str.lower)) or "nothing"
    return f"did you mean {(by_case or close)[0]!r}? It can be {names}" if by_case or close else f"it can be {names}"


def _text(node: ast.expr) -> str:
    text = ast.unparse(node)
    return repr(text if len(text) <= 60 else text[:57] + "...")
