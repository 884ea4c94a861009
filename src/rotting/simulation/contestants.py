"""What can take part in a simulation: the package's compiled policies, and anybody's Python class."""

from __future__ import annotations

import inspect
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, cast

import numpy as np

from rotting._core.checking import compile_errors_in_short
from rotting._core.compiling import is_package_only
from rotting.errors import BadType, BadValue, KernelError
from rotting.policies import Policy
from rotting.policies._contract.checked import CheckedAgent
from rotting.problems import Problem
from rotting.problems.checked import CheckedRun
from rotting.simulation.detail import Detail, arrivals, play_in_detail
from rotting.simulation.loop import Journal, StreamsAhead, begin, new_journal, play, pull, record, streams_of
from rotting.simulation.state_pool import StatePool


class PlayingAgent(Protocol):
    """What chooses and learns in one run."""

    def select(self) -> int:
        """Return the arm to pull."""

    def update(self, arm: int, reward: float, /) -> None:
        """Learn from its reward."""


# A policy of the package or of the same contract, or what makes an agent from the number of arms (and a seed).
Player = Policy | Callable[..., PlayingAgent]
# In a mapping from labels, type checkers lose the common type of what they find; it is checked when it is used.
Players = Player | Iterable[Player] | Mapping[str, object]
# Plays rounds first..last of one run.
Turn = Callable[[Journal, int, int], None]
# Begins a run, given a random key; pulls an arm in a round, given the key of its noise, and returns the reward.
Begin = Callable[[np.uint64], None]
Pull = Callable[[np.uint64, int, int], float]


class Contestant(Protocol):
    """One policy in a simulation."""

    label: str
    description: str
    rounds_at_once: int  # how many rounds are played between two looks at Ctrl-C

    def prepare(self, problem: Problem, rounds: np.ndarray, detail: Detail | None = None) -> None:
        """Do what should not be timed."""

    def begin(self, problem: Problem, streams: StreamsAhead, horizon: int, detail: Detail | None = None) -> Turn:
        """Start a run of so many rounds; `detail` is for late rewards and traces."""


def contestants(policies: Players, problem: Problem, horizon: int, check: bool = False) -> list[Contestant]:
    """Return the contestants for a policy, a list of policies, or a dictionary from labels to policies."""
    if isinstance(policies, Mapping):
        named: list[tuple[str, object]] = [(str(label), policy) for label, policy in policies.items()]
    else:
        listed = policies if isinstance(policies, Iterable) and not isinstance(policies, str) else [policies]
        named = [("", policy) for policy in listed]
    if not named:
        raise BadValue("is empty", name="policies", expected="at least one policy")
    players = [_contestant(label, policy, problem, horizon, check) for label, policy in named]
    _make_labels_unique(players)
    return players


def _contestant(label: str, policy: object, problem: Problem, horizon: int, check: bool) -> Contestant:
    if isinstance(policy, Policy):
        label, informed = label or str(policy), policy.informed(problem, horizon)
        return CheckedContestant(label, informed) if check else CompiledContestant(label, informed)
    if isinstance(policy, type) and issubclass(policy, Policy):
        hint = f"did you mean {policy.__name__}()?"
        raise BadType(f"{policy.__name__} is a class", owner="policies", value=policy, hint=hint)
    if callable(getattr(policy, "start", None)) or (callable(policy) and not isinstance(policy, str)):
        return PythonContestant(
            label or getattr(policy, "__name__", repr(policy)), cast(Callable[..., PlayingAgent], policy)
        )
    raise BadType(
        f"{policy!r} is not a policy",
        owner="policies",
        value=policy,
        expected="one of the package's, such as FEWA(), or a class with select() and update(arm, reward)",
    )


def _make_labels_unique(players: list[Contestant]) -> None:
    """Use the full description where short labels clash, and a number where that clashes too."""
    for attempt in (
        lambda player, _: player.description,
        lambda player, place: f"{player.label} #{place + 1}",
    ):
        counts = Counter(player.label for player in players)
        for place, player in enumerate(players):
            if counts[player.label] > 1:
                player.label = attempt(player, place)


class _Seat:
    """What a policy needs to play runs of one length on one problem, found once."""

    def __init__(self, policy: Policy, problem: Problem, horizon: int):
        self.problem = problem  # kept: while it lives, no other has its id
        # Room for all rounds at once: zeros cost no memory before they are written, and nothing is ever copied.
        self.pool = StatePool(policy, problem.n_arms, horizon)
        self._compiled: Callable[..., Any] | None = None

    def compiled(self, state: Any) -> Callable[..., Any]:
        """Return the loop for a state of the policy: the same for all."""
        if self._compiled is None:
            self._compiled = play.compiled_for(state, self.problem.arrays)
        return self._compiled


class CompiledContestant:
    """A policy of the kernel contract, played by the compiled loop."""

    rounds_at_once = 1 << 15

    def __init__(self, label: str, policy: Policy):
        self.label, self.policy, self.description = label, policy, repr(policy)
        self._seats: dict[tuple[int, int], _Seat] = {}

    def prepare(self, problem: Problem, rounds: np.ndarray, detail: Detail | None = None) -> None:
        """Compile, by playing no rounds at all."""
        turn = self.begin(problem, streams_of(0, 0, problem.n_arms), 1, detail)
        with compile_errors_in_short(self.policy):
            turn(new_journal(rounds, problem), 1, 0)

    def begin(self, problem: Problem, streams: StreamsAhead, horizon: int, detail: Detail | None = None) -> Turn:
        """Start from the policy's first state."""
        place = id(problem), horizon
        seat = self._seats.get(place) or self._seats.setdefault(place, _Seat(self.policy, problem, horizon))
        lent = seat.pool.take()
        detailed = () if detail is None else (detail,)
        compiled = play_in_detail.compiled_for(lent.state, problem.arrays) if detailed else seat.compiled(lent.state)

        def turn(journal: Journal, first: int, last: int) -> None:
            broken, arm = compiled(lent.state, problem.arrays, streams, journal, *detailed, first, last)
            if broken:
                raise self.broken(broken, arm, problem.n_arms)

        seat.pool.give_back_after(turn, lent)
        return turn

    def broken(self, t: int, arm: int, n_arms: int) -> KernelError:
        """Return the error for a policy that broke the kernel contract in round t, when it chose this arm."""
        exists = 0 <= arm < n_arms
        return KernelError(
            f"update did not count one pull of arm {arm} in round {t}" if exists else f"select gave {arm} in round {t}",
            owner=self.label,
            expected="state.pulls[arm] += 1" if exists else f"an arm from 0 to {n_arms - 1}",
            hint="{check}True finds the line",
        )


class PythonContestant:
    """A Python class with `select()` and `update(arm, reward)`, played by a Python loop on the same rewards."""

    rounds_at_once = 256

    def __init__(self, label: str, make: Callable[..., PlayingAgent]):
        self.label, self.description = label, repr(make)
        self._make = getattr(make, "start", make)

    def prepare(self, problem: Problem, rounds: np.ndarray, detail: Detail | None = None) -> None:
        """Compile the drawing of rewards."""
        pull(problem.arrays, new_journal(rounds, problem), np.uint64(0), 0, 1)

    def begin(self, problem: Problem, streams: StreamsAhead, horizon: int, detail: Detail | None = None) -> Turn:
        """Make a fresh agent."""
        takes_seed = "seed" in inspect.signature(self._make).parameters
        named = {"seed": int(streams.choice[0])} if takes_seed else {}
        try:
            inspect.signature(self._make).bind(problem.n_arms, **named)
        except TypeError as error:
            raise BadType(f"{self.label} cannot be started with the number of arms: {error}") from None
        agent = self._make(problem.n_arms, **named)
        if not callable(getattr(agent, "select", None)) or not callable(getattr(agent, "update", None)):
            raise BadType(f"{self.label} is not a policy: it needs the methods select() and update(arm, reward)")

        def turn(journal: Journal, first: int, last: int) -> None:
            begin_now, pull_now = self._played(problem, journal)
            if first == 1:
                begin_now(streams.start[0])
            for t in range(first, last + 1):
                arm = self._checked(agent.select(), problem.n_arms)
                reward = pull_now(streams.noise[arm], arm, t)
                if detail is None:
                    agent.update(arm, reward)
                    continue
                for learnt in arrivals(detail, journal, arm, reward, t):
                    agent.update(*learnt)

        return turn

    def _played(self, problem: Problem, journal: Journal) -> tuple[Begin, Pull]:
        """Return what begins a run, and what gives the reward of an arm in a round and takes the pull down."""
        compiled = pull.compiled_for(problem.arrays, journal)
        return (
            lambda key: begin(problem.arrays, journal.memory, key),
            lambda key, arm, t: compiled(problem.arrays, journal, key, arm, t),
        )

    def _checked(self, arm: Any, n_arms: int) -> int:
        try:
            number = operator.index(arm)
        except TypeError:
            number = -1
        if not 0 <= number < n_arms:
            raise BadValue(f"select() gave {arm!r}", owner=self.label, expected=f"an arm from 0 to {n_arms - 1}")
        return number


class CheckedContestant(PythonContestant):
    """A policy of the kernel contract, played in plain Python with every index checked: for authors of kernels."""

    def __init__(self, label: str, policy: Policy):
        def start(n_arms: int, seed: int) -> CheckedAgent:
            return CheckedAgent(policy, n_arms, np.uint64(seed))

        super().__init__(label, start)
        self.description = repr(policy)

    def _played(self, problem: Problem, journal: Journal) -> tuple[Begin, Pull]:
        """Check a user's problem, too; the package's own is compiled, as elsewhere."""
        if is_package_only(problem.arrays):
            return super()._played(problem, journal)
        run = CheckedRun(problem, journal.memory)

        def pull_now(key: np.uint64, arm: int, t: int) -> float:
            mean, reward = run.pull(key, arm, t)
            record(journal, arm, mean, t)
            return reward

        return run.begin, pull_now
