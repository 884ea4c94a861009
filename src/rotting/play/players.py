"""Who can play: the package's compiled policies, and anybody's Python class."""

from __future__ import annotations

import dataclasses
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol, cast

import numpy as np

from rotting.errors import BadType, BadValue
from rotting.play.cell import Cell
from rotting.play.compiled import CompiledTable
from rotting.play.in_python import PlayingAgent, PythonTable
from rotting.policies import Policy, parse_policy
from rotting.policies._contract.agent import Agent
from rotting.policies._contract.checked import CheckedAgent
from rotting.policies._contract.views import check_views
from rotting.problems import Problem
from rotting.problems.kernel import ELIGIBLE

COMPILED_AT_ONCE, PYTHON_AT_ONCE = 1 << 20, 1 << 11
# A policy of the package or of the same contract, a text that describes one, or what makes an agent from the number of
# arms (and a seed).
PolicyOrClass = Policy | str | Callable[..., PlayingAgent]
# In a mapping from labels, type checkers lose the common type of what they find; it is checked when it is used.
Policies = PolicyOrClass | Iterable[PolicyOrClass] | Mapping[str, object]


class Table(Protocol):
    """Where one thread plays runs of a cell."""

    def play(self, runs: range, stop: np.ndarray) -> tuple[Any, ...]:
        """Return all that `Played` says of runs; once `stop[0]` is not 0, what is returned does not matter."""


@dataclasses.dataclass(eq=False)
class Player:
    """One policy, or Python class, ready to play on one problem.

    A policy is played by the compiled loop, or in plain Python with every index checked; what makes an agent, by a loop
    in Python on the same rewards.
    """

    label: str
    description: str
    policy: Policy | None  # told of the problem; None: `make` is a Python class
    make: Callable[..., PlayingAgent] | None = None
    check: bool = False
    given: Policy | None = None  # the policy before it was told of the problem
    made: PlayingAgent | None = None  # the last agent of a Python class
    asked: bool = False  # whether arms have to be chosen by `among`, in Python, for want of a policy that sees them

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled loop plays it."""
        return self.policy is not None and not self.check and not self.asked

    @property
    def rounds_at_once(self) -> int:
        """How many rounds are played, about, before they are reported: the most, and a sixteenth at least."""
        return COMPILED_AT_ONCE if self.is_compiled else PYTHON_AT_ONCE

    def table(self, cell: Cell) -> Table:
        """Return where one thread plays runs of a cell."""
        policy = self.policy
        if policy is None:
            return PythonTable(cell, self.label, self.start)
        if cell.is_late and (policy.sees or self.asked):
            problem = f"is not on time, and {policy} would not know which arms it could have chosen"
            raise BadValue(problem, name="delay", value=cell.delay, expected="0")
        if self.check:
            return PythonTable(cell, self.label, partial(CheckedAgent, policy), checked=True)
        if self.asked:
            return PythonTable(cell, self.label, partial(Agent.keyed, policy))
        return CompiledTable(cell, policy, self.label)

    def start(self, n_arms: int, key: np.uint64) -> PlayingAgent:
        """Return a fresh agent of a Python class."""
        make = getattr(self.make, "start", self.make)
        assert make is not None
        named = {"seed": int(key)} if "seed" in inspect.signature(make).parameters else {}
        try:
            inspect.signature(make).bind(n_arms, **named)
        except TypeError as error:
            raise BadType(f"{self.label} cannot be started with the number of arms: {error}") from None
        agent: PlayingAgent = make(n_arms, **named)
        if not callable(getattr(agent, "select", None)) or not callable(getattr(agent, "update", None)):
            raise BadType(f"{self.label} is not a policy: it needs the methods select() and update(arm, reward)")
        if agent is self.made:
            problem = f"{self.label} gives the same agent for several runs, which then learns from all of them"
            raise BadValue(problem, expected="a new one from each call")
        self.made = agent
        return agent


def listed(name: str, values: object) -> list[object]:
    """Return a list of what may be given alone or as several: policies or problems, and texts that describe them."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return [values]
    if not (several := list(values)):
        raise BadValue("is empty", name=name, expected="at least one")
    return several


def players_of(policies: Policies, problem: Problem, horizon: int, check: bool = False) -> list[Player]:
    """Return the players for a policy, a list of policies, or a dictionary from labels to policies."""
    labels = [str(label) for label in policies] if isinstance(policies, Mapping) else None
    several = listed("policies", policies.values() if isinstance(policies, Mapping) else policies)
    named = [*zip([""] * len(several) if labels is None else labels, several, strict=True)]
    players = [_player(label, policy, problem, horizon, check) for label, policy in named]
    labels = told_apart([player.label for player in players], [player.description for player in players])
    numbered = [f"{label} #{place}" for place, label in enumerate(labels, 1)]
    for player, label in zip(players, told_apart(labels, numbered), strict=True):
        player.label = label
    return players


def _player(label: str, policy: object, problem: Problem, horizon: int, check: bool) -> Player:
    policy = parse_policy(policy) if isinstance(policy, str) else policy
    if isinstance(policy, Policy):
        informed = policy.informed(problem, horizon)
        if asked := problem.is_limited and ELIGIBLE not in policy.sees:
            check_views(informed)
        return Player(label or str(policy), repr(informed), informed, check=check, given=policy, asked=asked)
    if isinstance(policy, type) and issubclass(policy, Policy):
        hint = f"did you mean {policy.__name__}()?"
        raise BadType(f"{policy.__name__} is a class", owner="policies", value=policy, hint=hint)
    if callable(getattr(policy, "start", None)) or callable(policy):
        return Player(label or getattr(policy, "__name__", repr(policy)), repr(policy), None, cast(Any, policy))
    raise BadType(
        f"{policy!r} is not a policy",
        owner="policies",
        value=policy,
        expected="one of the package's, such as FEWA(), or a class with select() and update(arm, reward)",
    )


def told_apart(labels: list[str], longer: Iterable[str]) -> list[str]:
    """Return labels, and longer ones in place of those that are alike."""
    counts = Counter(labels)
    return [other if counts[label] > 1 else label for label, other in zip(labels, longer, strict=True)]
