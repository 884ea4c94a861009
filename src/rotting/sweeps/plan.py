"""What a sweep is to do: every policy on every problem, so many runs each."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rotting._core.compiling import kernel_digest
from rotting._core.randomness import checked_seed
from rotting.policies import Policy, parse_policy
from rotting.problems import Problem, parse_problem
from rotting.simulation.simulator import recorded_rounds, whole_number


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """A sweep, written down: what there is to know to play it, anywhere, with the same results.

    Parameters
    ----------
    policies
        Policies of the package, no two alike.
    problems
        Problems, no two alike; each is played for its own horizon.
    runs
        Runs of each cell, a cell being one policy on one problem.
    seed
        A whole number >= 0.
    rounds
        The rounds at which regret is recorded, as in `rotting.simulate`: how many, or which ones.
    version, kernels
        What plays it: results of another version or of other compiled code are another plan's.

    Examples
    --------
    >>> from rotting import FEWA, problems
    >>> plan = Plan((FEWA(),), (problems.two_arm(), problems.ten_arm()), runs=20)
    >>> plan.cells, plan.total_runs, plan.problem_labels
    (2, 40, ['two_arm(L=0.233, horizon=10000)', 'ten_arm()'])
    """

    policies: tuple[Policy, ...]
    problems: tuple[Problem, ...]
    runs: int
    seed: int = 0
    rounds: int | tuple[int, ...] | None = None
    version: str = ""
    kernels: str = ""

    def __post_init__(self) -> None:
        from rotting import __version__

        _set(self, "policies", tuple(checked_policy(policy) for policy in several("policies", self.policies)))
        _set(self, "problems", tuple(checked_problem(problem) for problem in several("problems", self.problems)))
        for name in ("policies", "problems"):
            for text, count in Counter(map(repr, getattr(self, name))).items():
                if count > 1:
                    raise ValueError(f"{name}: {text} is given {count} times; expected once")
        _set(self, "runs", whole_number("runs", self.runs))
        _set(self, "seed", checked_seed(self.seed))
        if isinstance(self.rounds, Iterable) and not isinstance(self.rounds, str):
            _set(self, "rounds", tuple(np.asarray(self.rounds).tolist()))
        _set(self, "version", self.version or __version__)
        _set(self, "kernels", self.kernels or kernel_digest())
        _ = self.recorded

    # How the runs of a sweep are numbered: problem by problem, there policy by policy, there run by run.

    @property
    def cells(self) -> int:
        """The number of pairs of a policy and a problem."""
        return len(self.policies) * len(self.problems)

    @property
    def total_runs(self) -> int:
        """The number of runs of the whole sweep."""
        return self.cells * self.runs

    @cached_property
    def recorded(self) -> list[np.ndarray]:
        """The rounds at which regret is recorded, for each problem."""
        chosen = list(self.rounds) if isinstance(self.rounds, tuple) else self.rounds
        return [recorded_rounds(chosen, problem.horizon) for problem in self.problems]

    @cached_property
    def policy_labels(self) -> list[str]:
        """What the policies are called: in short where that is clear, in full where it is not."""
        return _labels(self.policies, repr)

    @cached_property
    def problem_labels(self) -> list[str]:
        """What the problems are called: by name, with the horizon or in full where names are alike."""
        return _labels(self.problems, lambda problem: f"{problem}, {problem.horizon} rounds", repr)

    # The plan as a text, and what makes it this plan and no other.

    @cached_property
    def text(self) -> str:
        """The plan as JSON, from which `Plan.from_text` makes it again. Equal plans have equal texts."""
        rounds = list(self.rounds) if isinstance(self.rounds, tuple) else self.rounds
        content = {
            "format": FORMAT,
            "rotting": self.version,
            "kernels": self.kernels,
            "runs": self.runs,
            "seed": self.seed,
            "rounds": rounds,
            "policies": list(map(repr, self.policies)),
            "problems": list(map(repr, self.problems)),
        }
        return json.dumps(content, indent=1) + "\n"

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the text: every block of results carries it."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @classmethod
    def from_text(cls, text: str) -> Plan:
        """Return the plan that a text was made from; ValueError if it is none."""
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"not a plan of format {FORMAT}")
        try:
            return cls(
                tuple(map(parse_policy, content["policies"])),
                tuple(map(parse_problem, content["problems"])),
                content["runs"],
                content["seed"],
                content["rounds"],
                content["rotting"],
                content["kernels"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"a plan with a fault: {error}") from None


FORMAT = "rotting sweep 1"


def check_fit(policy: Policy, problem: Problem) -> None:
    """Complain about a policy that cannot play a problem, before any time is spent."""
    try:
        policy.informed(problem, problem.horizon).initial_state(problem.n_arms)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise ValueError(f"policy {policy} cannot play {problem}: {error}") from None


def _set(plan: Plan, name: str, value: Any) -> None:
    object.__setattr__(plan, name, value)


def several(name: str, values: Any) -> list[Any]:
    """Return a list of what may be given alone or as several."""
    if isinstance(values, Policy | Problem | str) or not isinstance(values, Iterable):
        return [values]
    if not (listed := list(values)):
        raise ValueError(f"{name} is empty; expected at least one")
    return listed


def checked_policy(policy: Any) -> Policy:
    """Return a policy that another process can make from its text (a text is read right here)."""
    if isinstance(policy, str):
        policy = parse_policy(policy)
    if not isinstance(policy, Policy) or type(policy).__module__.partition(".")[0] != __package__.partition(".")[0]:
        raise TypeError(
            f"policies: {policy!r} is not one of the package's policies; a sweep can be resumed and sent to other "
            "machines, which do not know it: use rotting.simulate"
        )
    return _read_back("policies", policy, parse_policy)


def checked_problem(problem: Any) -> Problem:
    """Return a problem that another process can make from its text (a text is read right here)."""
    if isinstance(problem, str):
        problem = parse_problem(problem)
    if not isinstance(problem, Problem):
        raise TypeError(f"problems: {problem!r} is not a rotting.Problem; see rotting.problems for named ones")
    return _read_back("problems", problem, parse_problem)


def _read_back(where: str, value: Any, parse: Any) -> Any:
    """Return what others will read: what the text does not say must not play a part here either."""
    try:
        again = parse(repr(value))
        if again == value:
            return again
        reason = "it reads back as something else"
    except ValueError as error:
        reason = str(error)
    raise ValueError(f"{where}: {str(value)[:60]} cannot be written down and read back: {reason}")


def _labels(values: Sequence[Any], *longer_texts: Callable[[Any], str]) -> list[str]:
    """Return short texts, and longer ones where those would not tell the values apart."""
    labels = list(map(str, values))
    for longer in longer_texts:
        counts = Counter(labels)
        labels = [longer(value) if counts[label] > 1 else label for label, value in zip(labels, values, strict=True)]
    return labels
