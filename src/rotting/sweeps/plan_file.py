"""Plans as people write them: a short TOML file whose lists of values expand to a grid."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rotting._core import imported
from rotting.errors import BadValue, ParseError, RottingError
from rotting.sweeps.plan import Plan

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

_REQUIRED = ("policies", "problems", "runs")
_KEYS = (*_REQUIRED, "seed", "horizon", "rounds", "imports")
# What only a single comparison can do.
_ELSEWHERE = dict.fromkeys(("delay", "trace"), "rotting compare and rotting.simulate have it, sweeps do not")
MAX_COMBINATIONS = 100_000


def read_plan(text: str, name: str = "plan", device: str = "cpu") -> Plan:
    r"""Return the plan that a TOML text describes.

    Parameters
    ----------
    text
        The plan.
    name
        What messages call it: its file. Paths begin at its folder.
    device
        What is to play it.

    Examples
    --------
    >>> plan = read_plan(EXAMPLE)
    >>> len(plan.policies), plan.problem_labels
    (5, ['ten_arm()', 'two_arm(L=0.5, horizon=5000)', 'two_arm(L=2, horizon=5000)'])
    >>> read_plan('runs = 3\npolicies = ["FEVA"]\nproblems = ["ten_arm"]', "mine.toml")
    Traceback (most recent call last):
    rotting.errors.ParseError: mine.toml: policy 'FEVA' does not exist; did you mean 'FEWA'? ...
    """
    try:
        return _plan(tomllib.loads(text), Path(name).parent, device)
    except tomllib.TOMLDecodeError as error:  # it says in which line
        raise ParseError(str(error), owner=name) from None
    except RottingError as error:
        raise error.within(name) from None


def _plan(content: dict[str, Any], folder: Path, device: str) -> Plan:
    for key in content:
        if key not in _KEYS:
            raise BadValue(f"{key!r} is not part of a plan", expected=", ".join(_KEYS), hint=_ELSEWHERE.get(key))
    for key in _REQUIRED:
        if key not in content:
            raise BadValue("is missing", name=key, expected=", ".join(_REQUIRED))
    modules = content.pop("imports", [])
    if not isinstance(modules, list) or not all(isinstance(each, str) for each in modules):
        raise BadValue(name="imports", value=modules, expected="a list of files or modules")
    for each in modules:
        imported.load(each, folder)
    for key, word in (("policies", "policy"), ("problems", "problem")):
        if not isinstance(content[key], list):
            raise BadValue(name=key, value=content[key], expected="a list of texts and tables")
        content[key] = [text for entry in content[key] for text in _texts(entry, key, word)]
    return Plan.of(**content, device=device)


def _texts(entry: object, key: str, word: str) -> Iterator[str]:
    """Yield what an entry of a list stands for: itself, or a call for each combination of the values in its lists."""
    if isinstance(entry, str):
        yield entry
        return
    if not isinstance(entry, dict) or not isinstance(entry.get(word), str):
        expected = f'a text, or a table with {word} = "..."'
        raise BadValue(f"holds {entry!r}, which is not a {word}", name=key, expected=expected)
    name = entry[word]
    values = {key: value if isinstance(value, list) else [value] for key, value in entry.items() if key != word}
    for key, tried in values.items():
        if not tried:
            raise BadValue("has no values", owner=name, name=key, value=tried, expected="at least one")
    if (count := math.prod(map(len, values.values()))) > MAX_COMBINATIONS:
        raise BadValue(f"{count} combinations", owner=name, expected=f"at most {MAX_COMBINATIONS}")
    for chosen in itertools.product(*values.values()):
        arguments = ", ".join(f"{key}={value!r}" for key, value in zip(values, chosen, strict=True))
        yield f"{name}({arguments})"
