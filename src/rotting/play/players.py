"""Who can play: the package's compiled policies, and anybody's Python class."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, cast

import numpy as np

from rotting.errors import BadType, BadValue
from rotting.play.cell import Cell
from rotting.play.compiled import CompiledTable
from rotting.play.in_python import CheckedTable, PlayingAgent, PythonTable
from rotting.policies import Policy, parse_policy
from rotting.policies._contract.checked import CheckedAgent
from rotting.problems import Problem

# A policy of the package or of the same contract, a text that describes one, or what makes an agent from the number of
# arms (and a seed).
PolicyOrClass = Policy | str | Callable[..., PlayingAgent]
# In a mapping from labels, type checkers lose the common type of what they find; it is checked when it is used.
Policies = PolicyOrClass | Iterable[PolicyOrClass] | Mapping[str, object]


class Table(Protocol):
    """Where one thread plays runs of a cell."""

    def play(self, runs: range, stop: np.ndarray) -> tuple[Any, ...]:
        """Return all that `Played` says of runs; once `stop[0]` is not 0, what is returned does not matter."""


class Player(Protocol):
    """One policy, ready to play on one problem."""

    label: str
    description: str
    given: Policy | None  # the policy before it was told of the problem; None for a Python class
    rounds_at_once: int  # how many are played, about, before they are reported: the most, and a sixteenth at least

    def table(self, cell: Cell) -> Table:
        """Return where one thread plays runs of a cell."""


class CompiledPlayer:
    """A policy of the kernel contract, played by the compiled loop."""

    rounds_at_once = 1 << 20

    def __init__(self, label: str, policy: Policy, given: Policy):
        self.label, self.policy, self.description = label, policy, repr(policy)
        self.given: Policy | None = given

    def table(self, cell: Cell) -> Table:
        """Return a table with an arena."""
        return CompiledTable(cell, self.policy, self.label)


class PythonPlayer:
    """A Python class with `select()` and `update(arm, reward)`, played by a Python loop on the same rewards."""

    rounds_at_once = 1 << 11
    given: Policy | None = None

    def __init__(self, label: str, make: Callable[..., PlayingAgent]):
        self.label, self.description = label, repr(make)
        self._make = getattr(make, "start", make)

    def table(self, cell: Cell) -> Table:
        """Return a table at which every run has an agent of its own."""
        return PythonTable(cell, self.label, self.start)

    def start(self, n_arms: int, key: np.uint64) -> PlayingAgent:
        """Return a fresh agent."""
        takes_seed = "seed" in inspect.signature(self._make).parameters
        named = {"seed": int(key)} if takes_seed else {}
        try:
            inspect.signature(self._make).bind(n_arms, **named)
        except TypeError as error:
            raise BadType(f"{self.label} cannot be started with the number of arms: {error}") from None
        agent = self._make(n_arms, **named)
        if not callable(getattr(agent, "select", None)) or not callable(getattr(agent, "update", None)):
            raise BadType(f"{self.label} is not a policy: it needs the methods select() and update(arm, reward)")
        return agent


class CheckedPlayer(PythonPlayer):
    """A policy of the kernel contract, played in plain Python with every index checked: for authors of kernels."""

    def __init__(self, label: str, policy: Policy, given: Policy):
        super().__init__(label, policy.start)
        self.policy, self.description, self.given = policy, repr(policy), given

    def table(self, cell: Cell) -> Table:
        """Return a table at which a user's problem is checked, too."""
        return CheckedTable(cell, self.label, lambda n_arms, key: CheckedAgent(self.policy, n_arms, key))


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
    _make_labels_unique(players)
    return players


def _player(label: str, policy: object, problem: Problem, horizon: int, check: bool) -> Player:
    policy = parse_policy(policy) if isinstance(policy, str) else policy
    if isinstance(policy, Policy):
        label, informed = label or str(policy), policy.informed(problem, horizon)
        if check:
            return CheckedPlayer(label, informed, policy)
        return CompiledPlayer(label, informed, policy)
    if isinstance(policy, type) and issubclass(policy, Policy):
        hint = f"did you mean {policy.__name__}()?"
        raise BadType(f"{policy.__name__} is a class", owner="policies", value=policy, hint=hint)
    if callable(getattr(policy, "start", None)) or callable(policy):
        return PythonPlayer(
            label or getattr(policy, "__name__", repr(policy)), cast(Callable[..., PlayingAgent], policy)
        )
    raise BadType(
        f"{policy!r} is not a policy",
        owner="policies",
        value=policy,
        expected="one of the package's, such as FEWA(), or a class with select() and update(arm, reward)",
    )


def _make_labels_unique(players: list[Player]) -> None:
    """Use the full description where short labels clash, and a number where that clashes too."""
    for attempt in (
        lambda player, _: player.description,
        lambda player, place: f"{player.label} #{place + 1}",
    ):
        counts = Counter(player.label for player in players)
        for place, player in enumerate(players):
            if counts[player.label] > 1:
                player.label = attempt(player, place)
