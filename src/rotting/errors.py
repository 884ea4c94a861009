"""What can go wrong that a user can put right: one family of errors, with fields instead of sentences to be parsed.

An error knows what it is about (`owner`, `name`, `value`), what was `expected` and what to do (`hint`). From Python its
text names arguments (`horizon=0 is out of range; expected a whole number >= 1`), from the shell options (`--horizon 0
is ...`): `text` renders it either way. Every error is also the built-in one that fits, so `except ValueError` works.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Self

# How a command calls an argument of the library, or None if it has no such option.
Option = Callable[[str], str | None]

_REFERENCE = re.compile(r"\{\{(\w+)\}\}|\{(\w+)\}")  # {{name}} is not one: it reads {name}
_BRACED = re.compile(r"\{(\w+)\}")
_LONGEST_VALUE = 80


class _NotGiven:
    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN = _NotGiven()


class RottingError(Exception):
    """The root of all errors of this package.

    Parameters
    ----------
    problem
        What is wrong, as the rest of a sentence that `name=value` begins, or as one of its own without a name.
    owner
        What the name belongs to, such as a policy; None for an argument of the function that was called.
    name, value
        Which argument or parameter, and what was given.
    expected
        What would have been right.
    hint
        What to do. Here and in `problem`, `{name}` stands for an argument of the function that was called: it reads
        `name=` from Python and `--name` from the shell. Texts of users belong there as `quoted` or `literal`.

    Examples
    --------
    >>> error = BadValue("is out of range", name="first_run", value=-1, expected="a whole number >= 0")
    >>> print(error)
    first_run=-1 is out of range; expected a whole number >= 0
    >>> print(error.text(option=lambda name: "--" + name.replace("_", "-")))
    --first-run -1 is out of range; expected a whole number >= 0
    >>> error.name, error.value
    ('first_run', -1)
    """

    def __init__(
        self,
        problem: str = "",
        *,
        owner: str | None = None,
        name: str | None = None,
        value: object = NOT_GIVEN,
        expected: str | None = None,
        hint: str | None = None,
    ):
        super().__init__(problem)
        self.problem = problem
        self.owner = owner
        self.name = name
        self.value = value
        self.expected = expected
        self.hint = hint

    def text(self, option: Option = lambda name: None) -> str:
        """Return the message; arguments for which `option` gives a text are called by it."""

        def refer(match: re.Match[str]) -> str:
            return f"{{{match[1]}}}" if match[1] else option(match[2]) or f"{match[2]}="

        problem = _REFERENCE.sub(refer, self.problem)
        subject = "" if self.name is None else self._subject(self.name, option)
        said = " ".join(filter(None, (subject, problem)))
        if self.expected is not None:
            said += f"{'; ' if problem else ': '}expected {self.expected}"
        if self.hint is not None:
            said += f"{'; ' if said else ''}{_REFERENCE.sub(refer, self.hint)}"
        return said if self.owner is None else f"{self.owner}: {said}"

    def _subject(self, name: str, option: Option) -> str:
        called = option(name) if self.owner is None else None
        if self.value is NOT_GIVEN:
            return called or name
        return f"{called} {shown(self.value)}" if called else f"{name}={shown(self.value)}"

    def within(self, owner: str) -> Self:
        """Return the same error, said of something larger that it was found in."""
        wider = copy.copy(self)
        wider.owner = owner if self.owner is None else f"{owner}: {self.owner}"
        return wider

    def __str__(self) -> str:
        return self.text()


def shown(value: object) -> str:
    """Return a value for a message: its repr, cut where it is long.

    >>> shown("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    """
    try:
        text = repr(value)
    except Exception:  # an integer of more digits than Python prints, or an object of a user
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def literal(text: str) -> str:
    """Return a text for `problem` or `hint` in which nothing refers to an argument.

    >>> print(BadValue(f"{literal('{arm}')} is not a name"))
    {arm} is not a name
    """
    return _BRACED.sub(r"{{\1}}", text)


def quoted(value: object) -> str:
    """Return a value of a user for `problem` or `hint`: as `shown`, and never taken for a reference.

    >>> print(BadValue(f"there is no arm {quoted('{arm}')}"))
    there is no arm '{arm}'
    """
    return literal(shown(value))


class BadValue(RottingError, ValueError):
    """An argument or parameter is of the right kind, but cannot be used."""


class BadType(BadValue, TypeError):
    """An argument or parameter is not of the kind that is expected."""


class ParseError(BadValue):
    """A text does not name something that exists, or gives it parameters that it does not take."""


class NoSuchArm(RottingError, IndexError):
    """There is no arm of this number."""


class PolicyDefinitionError(RottingError, TypeError):
    """A policy class is incomplete, contradicts itself, or takes a name that is taken."""


class ProblemDefinitionError(RottingError, TypeError):
    """A class of dynamics, noise or curves is incomplete, contradicts itself, or takes a name that is taken."""


class KernelError(RottingError, RuntimeError):
    """Compiled code of a policy or of a problem breaks its contract, or cannot be compiled."""


class NoExplanation(RottingError, NotImplementedError):
    """The policy cannot say why it decides as it does."""


class DamagedFile(RottingError, ValueError):
    """A file is not what it should be, or was damaged."""


class FileError(RottingError, OSError):
    """A file cannot be read or written."""


class MissingExtra(RottingError, ImportError):
    """A feature needs packages that are not installed."""


class NoDevice(RottingError, RuntimeError):
    """There is no GPU, or no driver for it, or it cannot play what it is asked to."""


class PolicyMismatch(UserWarning):
    """A policy is played on rewards, noise or arms that it is not made for."""
