"""Plans as people write them: a short TOML file whose lists of values expand to a grid."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from rotting._core import imported
from rotting._core.validation import whole_number
from rotting.errors import BadValue, RottingError
from rotting.problems import Problem
from rotting.simulation.fit import check_fit
from rotting.simulation.simulator import recorded_rounds
from rotting.sweeps.errors import PlanError
from rotting.sweeps.plan import Item, Plan, as_policy, as_problem

EXAMPLE = """\
# A sweep: every policy on every problem, `runs` times each.  rotting sweep plan.toml --out results/sweep

runs = 100
seed = 0          # same seed, same results
# horizon = 10000 # rounds per run, or a list of several; without it, each problem's own
# rounds = 100    # at how many rounds regret is recorded (at most 256 by default), or a list of them
# imports = ["my_policy.py"] # your own policies, dynamics, curves and noise; paths begin at this file's folder

# Policies and problems are texts, or tables whose lists are tried in all combinations (here 1 + 4 policies).
# What there is: rotting policies, rotting problems
policies = [
  "UCB1(sigma=1)",
  { policy = "FEWA", alpha = [0.03, 0.06, 0.12, 0.25] },
]
problems = [
  "ten_arm()",
  { problem = "two_arm", L = [0.5, 2], horizon = 5000 },
  # A parameter that is a list itself is written in a list: { problem = "stationary", means = [[0, 0.14], [0, 1]] }
]
"""

_KEYS = ("runs", "seed", "horizon", "rounds", "imports", "policies", "problems")
# What only a single comparison can do.
_ELSEWHERE = dict.fromkeys(("delay", "trace"), "rotting compare and rotting.simulate have it, sweeps do not")
_REQUIRED = ("policies", "problems", "runs")
MAX_COMBINATIONS = 100_000


class _MistakeError(Exception):
    """What is wrong with a plan, and the patterns that lead to its line, the best last."""

    def __init__(self, error: RottingError, *patterns: str):
        super().__init__(error)
        self.error, self.patterns = error, patterns


def read_plan(text: str, name: str = "plan") -> Plan:
    r"""Return the plan that a TOML text describes; `PlanError` with the line if there is something wrong with it.

    Parameters
    ----------
    text
        The plan.
    name
        What messages call it: its file.

    Examples
    --------
    >>> plan = read_plan(EXAMPLE)
    >>> len(plan.policies), plan.problem_labels
    (5, ['ten_arm()', 'two_arm(L=0.5, horizon=5000)', 'two_arm(L=2, horizon=5000)'])
    >>> read_plan('runs = 3\npolicies = ["FEVA"]\nproblems = ["ten_arm"]', "mine.toml")
    Traceback (most recent call last):
    rotting.sweeps.errors.PlanError: mine.toml, line 2: policy 'FEVA' does not exist; did you mean 'FEWA'? ...
    """
    try:
        return _plan(_content(text, name), Path(name).parent)
    except _MistakeError as mistake:
        raise PlanError.at(name, _line(text, mistake.patterns), mistake.error) from None


def _content(text: str, name: str) -> dict[str, Any]:
    """Return what a TOML text holds."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last = max(len(text.rstrip().splitlines()), 1)
        if hasattr(error, "lineno") and hasattr(error, "msg"):
            line, problem = min(error.lineno, last), error.msg
        else:
            # Before Python 3.14 the standard library gives the line only in its message.
            found = re.fullmatch(r"(.*) \(at (?:line (\d+).*|end of document)\)", str(error))
            line, problem = int(found[2]) if found and found[2] else last, found[1] if found else str(error)
        raise PlanError.at(name, line, BadValue(problem)) from None


def _plan(content: dict[str, Any], folder: Path) -> Plan:
    for key in content:
        if key not in _KEYS:
            unknown = BadValue(f"{key!r} is not part of a plan", expected=", ".join(_KEYS), hint=_ELSEWHERE.get(key))
            raise _MistakeError(unknown, _assignment(key))
    for key in _REQUIRED:
        if key not in content:
            raise _MistakeError(BadValue("is missing", name=key, expected=", ".join(_REQUIRED)), r"\Z")
    content = {"seed": 0, "horizon": None, "rounds": None, "imports": [], **content}
    with _mistakes_in("imports"):
        _import(content["imports"], folder)
    with _mistakes_in("runs"):
        whole_number("runs", content["runs"], minimum=1)
    with _mistakes_in("seed"):
        whole_number("seed", content["seed"], minimum=0)
    policies = list(_entries(content["policies"], "policies", "policy", as_policy))
    played = []
    for problem, _ in _entries(content["problems"], "problems", "problem", as_problem):
        for horizon in _horizons(content["horizon"]):
            chosen = problem if horizon is None else dataclasses.replace(problem, horizon=horizon)
            _check_rounds(content["rounds"], chosen)
            for policy, patterns in policies:
                try:
                    check_fit(policy, chosen)
                except RottingError as error:
                    raise _MistakeError(error, *patterns) from None
            played.append(chosen)
    with _mistakes_in("policies", "problems"):  # the only one left: an entry given twice
        return Plan(
            tuple(policy for policy, _ in policies), tuple(played), content["runs"], content["seed"], content["rounds"]
        )


def _import(modules: object, folder: Path) -> None:
    if not isinstance(modules, list) or not all(isinstance(each, str) for each in modules):
        raise BadValue(name="imports", value=modules, expected="a list of files or modules")
    for each in modules:
        imported.load(each, folder)


@contextlib.contextmanager
def _mistakes_in(*keys: str) -> Iterator[None]:
    """Lead what is wrong with one of these keys to its line."""
    try:
        yield
    except RottingError as error:
        raise _MistakeError(error, _assignment(error.name if error.name in keys else keys[0])) from None


def _entries(entries: object, key: str, word: str, make: Callable[[str], Item]) -> Iterator[tuple[Item, list[str]]]:
    """Yield what the entries of a list stand for, and where each is written."""
    if not isinstance(entries, list) or not entries:
        wrong = BadValue(name=key, expected="a list of texts and tables")
        raise _MistakeError(wrong, _assignment(key), _table_header(key))
    for entry in entries:
        patterns = [_assignment(key), _table_header(key)]
        texts: Iterable[str]
        names: list[str] = []
        if isinstance(entry, str):
            patterns.append(re.escape(entry))
            texts = [entry]
        elif isinstance(entry, dict) and isinstance(entry.get(word), str):
            patterns.append(rf"\b{word}\s*=\s*[\"']{re.escape(entry[word])}[\"']")
            texts = _expanded(entry, word, patterns)
            names = list(entry)
        else:
            expected = f'a text, or a table with {word} = "..."'
            raise _MistakeError(
                BadValue(f"holds {entry!r}, which is not a {word}", name=key, expected=expected), *patterns
            )
        for text in texts:
            try:
                yield make(text), patterns
            except RottingError as error:
                parameter = [_assignment(error.name)] if error.name in names else []
                raise _MistakeError(error, *patterns, *parameter) from None


def _expanded(table: dict[str, Any], word: str, patterns: list[str]) -> Iterator[str]:
    """Yield the calls that a table stands for, one for each combination of the values in its lists."""
    name = table[word]
    values = {key: value if isinstance(value, list) else [value] for key, value in table.items() if key != word}
    for key, tried in values.items():
        if not tried:
            empty = BadValue("has no values", owner=name, name=key, value=tried, expected="at least one")
            raise _MistakeError(empty, *patterns, _assignment(key))
    count = math.prod(map(len, values.values()))
    if count > MAX_COMBINATIONS:
        many = BadValue(f"{count} combinations", owner=name, expected=f"at most {MAX_COMBINATIONS}")
        raise _MistakeError(many, *patterns)
    for chosen in itertools.product(*values.values()):
        arguments = ", ".join(f"{key}={value!r}" for key, value in zip(values, chosen, strict=True))
        yield f"{name}({arguments})"


def _horizons(given: object) -> list[int | None]:
    if given is None:
        return [None]
    with _mistakes_in("horizon"):
        chosen = given if isinstance(given, list) and given else [given]
        return [whole_number("horizon", horizon, minimum=1) for horizon in chosen]


def _check_rounds(rounds: Any, problem: Problem) -> None:
    try:
        recorded_rounds(rounds, problem.horizon)
    except RottingError as error:
        raise _MistakeError(error.within(str(problem)), _assignment("rounds")) from None


# Where in the text something is.


def _assignment(key: str) -> str:
    return rf"(?<![\w\"']){re.escape(key)}[\"']?\s*="


def _table_header(key: str) -> str:
    return rf"^\s*\[+\s*{key}\s*\]"


def _line(text: str, patterns: tuple[str, ...]) -> int:
    """Return the line that the patterns lead to: each is looked for from where the one before was found.

    One that is not found (a text can be written with escapes) is left out: the line is then that of the one before.
    """
    # Comments are blanked, not removed: positions stay what they are.
    bare = re.sub(r"^\s*#.*$", lambda comment: " " * len(comment[0]), text, flags=re.MULTILINE)
    position = 0
    for pattern in patterns:
        if found := re.compile(pattern, re.MULTILINE).search(bare, position):
            position = found.start() + (len(found[0]) - len(found[0].lstrip()))
    return bare.count("\n", 0, position) + 1
