"""Plans as people write them: a short TOML file whose lists of values expand to a grid."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
import tomllib
from collections.abc import Callable, Iterator
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
    content = _content(text, name)
    reader = _Reader(content, Path(name).parent)
    try:
        return reader.plan()
    except RottingError as error:
        raise PlanError.at(name, _line(text, reader.place(error)), error) from None


def _content(text: str, name: str) -> dict[str, Any]:
    """Return what a TOML text holds."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last = max(len(text.rstrip().splitlines()), 1)
        # Before Python 3.14 the standard library gives the line only in its message.
        found = re.fullmatch(r"(.*) \(at (?:line (\d+).*|end of document)\)", str(error))
        problem, line = (found[1], int(found[2] or last)) if found else (str(error), last)
        problem, line = getattr(error, "msg", problem), getattr(error, "lineno", line)
        raise PlanError.at(name, min(line, last), BadValue(problem)) from None


class _Reader:
    """Makes a plan of what a text holds, and knows what it is reading: that is where a mistake is.

    Parameters
    ----------
    content
        What the text holds.
    folder
        Where paths begin.
    """

    def __init__(self, content: dict[str, Any], folder: Path):
        self.content, self.folder = content, folder
        # Patterns that lead to what is being read, each from where the one before was found; keys that lie beyond.
        self._at: list[str] = []
        self._beyond: set[str] = set()

    def place(self, error: RottingError) -> list[str]:
        """Return the patterns that lead to a mistake."""
        return [*self._at, *([_key(error.name)] if error.name in self._beyond else [])]

    def _look_at(self, key: str) -> None:
        self._at, self._beyond = [_key(key)], set()

    def _given(self, key: str, default: Any = None) -> Any:
        self._look_at(key)
        return self.content.get(key, default)

    def plan(self) -> Plan:
        """Return the plan."""
        for key in self.content:
            self._look_at(key)
            if key not in _KEYS:
                raise BadValue(f"{key!r} is not part of a plan", expected=", ".join(_KEYS), hint=_ELSEWHERE.get(key))
        for key in _REQUIRED:
            if key not in self.content:
                self._at = [r"\Z"]
                raise BadValue("is missing", name=key, expected=", ".join(_REQUIRED))
        self._import(self._given("imports", []))
        runs = whole_number("runs", self._given("runs"), minimum=1)
        seed = whole_number("seed", self._given("seed", 0), minimum=0)
        policies = list(self._entries("policies", "policy", as_policy))
        problems = self._with_horizons([problem for problem, _ in self._entries("problems", "problem", as_problem)])
        rounds = self._given("rounds")
        for problem in problems:
            _check_rounds(rounds, problem)
        for problem, (policy, place) in itertools.product(problems, policies):
            self._at = place
            check_fit(policy, problem)
        self._at, self._beyond = [], {"policies", "problems"}  # what is left: an entry given twice
        return Plan(tuple(policy for policy, _ in policies), tuple(problems), runs, seed, rounds)

    def _import(self, modules: object) -> None:
        if not isinstance(modules, list) or not all(isinstance(each, str) for each in modules):
            raise BadValue(name="imports", value=modules, expected="a list of files or modules")
        for each in modules:
            imported.load(each, self.folder)

    def _with_horizons(self, problems: list[Problem]) -> list[Problem]:
        given = self._given("horizon")
        if given is None:
            return problems
        several = given if isinstance(given, list) and given else [given]
        horizons = [whole_number("horizon", horizon, minimum=1) for horizon in several]
        return [dataclasses.replace(problem, horizon=horizon) for problem in problems for horizon in horizons]

    def _entries(self, key: str, word: str, make: Callable[[str], Item]) -> Iterator[tuple[Item, list[str]]]:
        """Yield what the entries of a list stand for, and where each is written."""
        entries = self._given(key)
        if not isinstance(entries, list) or not entries:
            raise BadValue(name=key, expected="a list of texts and tables")
        for entry in entries:
            self._look_at(key)
            table = {word: entry} if isinstance(entry, str) else entry
            if not isinstance(table, dict) or not isinstance(table.get(word), str):
                expected = f'a text, or a table with {word} = "..."'
                raise BadValue(f"holds {entry!r}, which is not a {word}", name=key, expected=expected)
            name = re.escape(table[word])
            self._at = [_key(key), name if table is not entry else rf"\b{word}\s*=\s*[\"']{name}[\"']"]
            self._beyond = set(table) - {word}
            for text in [entry] if isinstance(entry, str) else _expanded(table[word], table, word):
                yield make(text), self._at


def _expanded(name: str, table: dict[str, Any], word: str) -> Iterator[str]:
    """Yield the calls that a table stands for, one for each combination of the values in its lists."""
    values = {key: value if isinstance(value, list) else [value] for key, value in table.items() if key != word}
    for key, tried in values.items():
        if not tried:
            raise BadValue("has no values", owner=name, name=key, value=tried, expected="at least one")
    if (count := math.prod(map(len, values.values()))) > MAX_COMBINATIONS:
        raise BadValue(f"{count} combinations", owner=name, expected=f"at most {MAX_COMBINATIONS}")
    for chosen in itertools.product(*values.values()):
        arguments = ", ".join(f"{key}={value!r}" for key, value in zip(values, chosen, strict=True))
        yield f"{name}({arguments})"


def _check_rounds(rounds: Any, problem: Problem) -> None:
    try:
        recorded_rounds(rounds, problem.horizon)
    except RottingError as error:
        raise error.within(str(problem)) from None


# Where in the text something is.


def _key(key: str) -> str:
    """Return a pattern for where a key is given a value, or is the name of a table."""
    return rf"(?<![\w\"']){re.escape(key)}[\"']?\s*=|^[ \t]*\[+\s*{re.escape(key)}\s*\]"


def _line(text: str, patterns: list[str]) -> int:
    """Return the line that the patterns lead to: each is looked for from where the one before was found.

    One that is not found (a text can be written with escapes) is left out: the line is then that of the one before.
    """
    # Comments are blanked, not removed: positions stay what they are.
    bare = re.sub(r"^\s*#.*$", lambda comment: " " * len(comment[0]), text, flags=re.MULTILINE)
    position = 0
    for pattern in patterns:
        if found := re.compile(pattern, re.MULTILINE).search(bare, position):
            position = found.start()
    return bare.count("\n", 0, position) + 1
