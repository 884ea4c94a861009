"""Plans as people write them: a short TOML file whose lists of values expand to a grid."""

from __future__ import annotations

import dataclasses
import itertools
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from rotting.policies import parse_policy
from rotting.problems import parse_problem
from rotting.simulation.simulator import recorded_rounds, whole_number
from rotting.sweeps.errors import SweepError
from rotting.sweeps.plan import Plan, check_fit, checked_policy, checked_problem

EXAMPLE = """\
# A sweep: every policy on every problem, `runs` times each.  rotting sweep plan.toml --out results/sweep

runs = 100
seed = 0          # same seed, same results
# horizon = 10000 # rounds per run, or a list of several; without it, each problem's own
# rounds = 100    # at how many rounds regret is recorded (at most 256 by default), or a list of them

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

_KEYS = ("runs", "seed", "horizon", "rounds", "policies", "problems")
MOST_COMBINATIONS = 100_000


class _WrongError(Exception):
    """What is wrong with a plan, and the patterns that lead to its line, the best last."""

    def __init__(self, message: str, *patterns: str):
        super().__init__(message)
        self.patterns = patterns


def read_plan(text: str, name: str = "plan") -> Plan:
    r"""Return the plan that a TOML text describes; `SweepError` with the line if there is something wrong with it.

    >>> plan = read_plan(EXAMPLE)
    >>> len(plan.policies), plan.problem_labels
    (5, ['ten_arm()', 'two_arm(L=0.5, horizon=5000)', 'two_arm(L=2, horizon=5000)'])
    >>> read_plan('runs = 3\npolicies = ["FEVA"]\nproblems = ["ten_arm"]', "mine.toml")
    Traceback (most recent call last):
    rotting.sweeps.errors.SweepError: mine.toml, line 2: policy 'FEVA' does not exist; did you mean 'FEWA'? ...
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at (?:line (\d+).*|end of document)\)", str(error))
        where = int(found[2]) if found and found[2] else max(len(text.rstrip().splitlines()), 1)
        raise SweepError(f"{name}, line {where}: {found[1] if found else error}") from None
    try:
        return _plan(content)
    except _WrongError as wrong:
        raise SweepError(f"{name}, line {_line(text, wrong.patterns)}: {wrong}") from None


def _plan(content: dict[str, Any]) -> Plan:
    for key in content:
        if key not in _KEYS:
            raise _WrongError(f"{key!r} is not part of a plan; expected {', '.join(_KEYS)}", _assignment(key))
    for key in ("policies", "problems", "runs"):
        if key not in content:
            raise _WrongError(f"{key} is missing; see rotting sweep --example", r"\Z")
    content = {"seed": 0, "horizon": None, "rounds": None, **content}
    for key, smallest in {"runs": 1, "seed": 0}.items():
        value = content[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
            raise _WrongError(f"{key} = {value!r}: expected a whole number >= {smallest}", _assignment(key))
    policies = list(_entries(content, "policies", "policy", parse_policy, checked_policy))
    grounds = []
    for problem, _ in _entries(content, "problems", "problem", parse_problem, checked_problem):
        for horizon in _horizons(content["horizon"]):
            ground = problem if horizon is None else dataclasses.replace(problem, horizon=horizon)
            _check_rounds(content["rounds"], ground)
            for policy, patterns in policies:
                _check_fit(policy, ground, patterns)
            grounds.append(ground)
    chosen = tuple(policy for policy, _ in policies)
    try:
        return Plan(chosen, tuple(grounds), content["runs"], content["seed"], content["rounds"])
    except ValueError as error:  # the only thing left: an entry given twice
        raise _WrongError(str(error), _assignment(str(error).partition(":")[0])) from None


def _entries(content: dict[str, Any], key: str, word: str, parse: Any, check: Any) -> Iterator[tuple[Any, list[str]]]:
    """Yield what the entries of a list stand for, and where each is written."""
    entries = content[key]
    if not isinstance(entries, list) or not entries:
        raise _WrongError(f"{key}: expected a list of texts and tables", _assignment(key), _table_header(key))
    for entry in entries:
        patterns = [_assignment(key), _table_header(key)]
        if isinstance(entry, str):
            patterns.append(re.escape(entry))
            texts: Any = [(entry, None)]
        elif isinstance(entry, dict) and isinstance(entry.get(word), str):
            patterns.append(rf"\b{word}\s*=\s*[\"']{re.escape(entry[word])}[\"']")
            texts = _expanded(entry, word, patterns)
        else:
            expected = f'a text, or a table with {word} = "..."'
            raise _WrongError(f"{key}: {entry!r} is not a {word}; expected {expected}", *patterns)
        for text, names in texts:
            try:
                yield check(parse(text)), patterns
            except (TypeError, ValueError) as error:
                guilty = [_assignment(name) for name in names or () if re.search(rf"\b{name}\b", str(error))]
                raise _WrongError(str(error), *patterns, *guilty[:1]) from None


def _expanded(table: dict[str, Any], word: str, patterns: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the calls that a table stands for, one for each combination of the values in its lists."""
    name = table[word]
    values = {key: value if isinstance(value, list) else [value] for key, value in table.items() if key != word}
    count = 1
    for key, several in values.items():
        count *= len(several)
        if not several:
            raise _WrongError(f"{name}: {key} = [] has no values; expected at least one", *patterns, _assignment(key))
    if count > MOST_COMBINATIONS:
        raise _WrongError(f"{name}: {count} combinations; expected at most {MOST_COMBINATIONS}", *patterns)
    for chosen in itertools.product(*values.values()):
        arguments = ", ".join(f"{key}={value!r}" for key, value in zip(values, chosen, strict=True))
        yield f"{name}({arguments})", list(values)


def _horizons(given: Any) -> list[int | None]:
    several = given if isinstance(given, list) and given else [given]
    try:
        return [None if horizon is None else whole_number("horizon", horizon) for horizon in several]
    except ValueError as error:
        raise _WrongError(str(error), _assignment("horizon")) from None


def _check_rounds(rounds: Any, problem: Any) -> None:
    try:
        recorded_rounds(rounds, problem.horizon)
    except ValueError as error:
        raise _WrongError(f"{problem}: {error}", _assignment("rounds")) from None


def _check_fit(policy: Any, problem: Any, patterns: list[str]) -> None:
    try:
        check_fit(policy, problem)
    except ValueError as error:
        raise _WrongError(str(error), *patterns) from None


# Where in the text something is.


def _assignment(key: str) -> str:
    return rf"(?<![\w\"']){re.escape(key)}[\"']?\s*="


def _table_header(key: str) -> str:
    return rf"^\s*\[+\s*{key}\s*\]"


def _line(text: str, patterns: tuple[str, ...]) -> int:
    """Return the line that the patterns lead to: each is looked for from where the one before was found.

    One that is not found (a text can be written with escapes) is left out: the line is then that of the one before.
    """
    # Comments are blanked, not removed: places stay what they are.
    bare = re.sub(r"^\s*#.*$", lambda comment: " " * len(comment[0]), text, flags=re.MULTILINE)
    place = 0
    for pattern in patterns:
        if found := re.compile(pattern, re.MULTILINE).search(bare, place):
            place = found.start() + (len(found[0]) - len(found[0].lstrip()))
    return bare.count("\n", 0, place) + 1
