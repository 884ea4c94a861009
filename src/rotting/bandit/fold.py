"""The state of a bandit: what follows from its events, one after the other, and nothing else."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rotting._core.noise import NoiseEstimate
from rotting._core.randomness import CHOICE, stream_key
from rotting.bandit.damage import check_event, damaged
from rotting.bandit.errors import DamagedLog
from rotting.bandit.settings import Settings
from rotting.bandit.storage import Event
from rotting.policies import Agent

FLOOR = 3  # what a random stream is for, see `rotting._core.randomness`: the exploration floor
SNAPSHOT_FORMAT = 2

# (arms, values) of all rewards up to an event.
Rewards = Callable[[int], tuple[np.ndarray, np.ndarray]]


class Pending(NamedTuple):
    """A decision that waits for its reward."""

    arm: int
    since: float  # when it was decided, or shown
    shown: bool
    decision: str  # its identifier


class Pick(NamedTuple):
    """An arm that was chosen, with the reason and its probability (None: not known)."""

    arm: int
    why: str
    probability: float | None


class Fold:
    """What is known after a number of events."""

    def __init__(self, settings: Settings, rewards: Rewards):
        self.settings = settings
        self.policy = settings.policy  # with the latest estimate of sigma, where it is estimated
        self.seq = 0
        self.at = 0.0
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        self.live: list[bool] = []
        self.decided: list[int] = []  # per arm: decisions, ...
        self.in_flight: list[int] = []  # ... exposures that wait for their reward, ...
        self.received: list[int] = []  # ... and rewards
        self.pending: dict[int, Pending] = {}  # in the order of `since`
        self._noise = NoiseEstimate() if settings.sigma == "auto" else None
        self._rewards = rewards
        self._agent: Agent | None = None
        self._arrived: list[tuple[int, float]] = []  # arms and rewards that the agent has yet to learn of
        self._left: tuple[tuple[int, ...], tuple[int, list[int] | None]] | None = None

    # What happened.

    def apply(self, event: Event) -> None:
        """Take in the next event."""
        getattr(self, f"_{event.kind}")(event)
        self.seq, self.at = event.seq, event.at

    def check(self, event: Event) -> None:
        """Refuse an event, read from the database, that cannot be the next one."""
        if event.seq != self.seq + 1:
            raise DamagedLog(
                f"event {event.seq} follows event {self.seq}: some are missing; restore a backup of the database"
            )
        added = event.kind == "added"
        check_event(event, len(self.names) + added)
        if event.at < self.at:
            raise damaged(event, "at", f"a time that is not before that of event {self.seq}, {self.at!r}")
        if added and (event.arm < len(self.names) or event.name in self.index):
            field, expected = ("name", "one that is new") if event.name in self.index else ("arm", f"{len(self.names)}")
            raise damaged(event, field, expected)
        waiting = self.pending.get(event.target) if event.target is not None else None
        if waiting is not None and waiting.arm != event.arm:
            raise damaged(event, "arm", f"{waiting.arm}, that of decision {event.target}")

    def _added(self, event: Event) -> None:
        assert event.name is not None
        self.index[event.name] = len(self.names)
        self.names.append(event.name)
        self.live.append(True)
        for counts in (self.decided, self.in_flight, self.received):
            counts.append(0)
        self._forget_agent()  # agents have a fixed number of arms

    def _retired(self, event: Event) -> None:
        self.live[event.arm] = False

    def _restored(self, event: Event) -> None:
        self.live[event.arm] = True

    def _decided(self, event: Event) -> None:
        self.decided[event.arm] += 1
        self.pending[event.seq] = Pending(event.arm, event.at, False, event.decision or "")
        if self.settings.count == "decided":
            self.in_flight[event.arm] += 1

    def _shown(self, event: Event) -> None:
        assert event.target is not None
        waiting = self.pending.pop(event.target, None)
        if waiting is not None:
            # Waiting starts anew; taken out and put back, it comes last.
            self.pending[event.target] = waiting._replace(since=event.at, shown=True)
            if self.settings.count == "shown":
                self.in_flight[event.arm] += 1

    def _rewarded(self, event: Event) -> None:
        assert event.target is not None
        waited = self.pending.pop(event.target, None)
        if waited is not None and self.counts(waited):
            self.in_flight[event.arm] -= 1
        if event.value is not None:
            self._learn(event.arm, event.value)

    _expired = _rewarded  # with the default reward, or none

    def counts(self, waiting: Pending) -> bool:
        """Say whether a decision counts as an exposure already."""
        return waiting.shown or self.settings.count == "decided"

    def _learn(self, arm: int, value: float) -> None:
        self.received[arm] += 1
        self._left = None
        if self._agent is not None:
            self._arrived.append((arm, value))
        if self._noise is not None:
            self._noise.add(arm, value)
            if self._noise.due and self._noise.sigma is not None:
                self.policy = dataclasses.replace(self.policy, sigma=self._noise.sigma)  # type: ignore[call-arg]
                self._forget_agent()

    # What follows from it.

    @property
    def agent(self) -> Agent:
        """The policy at work: made anew from the rewards so far when the arms or the noise have changed."""
        if self._agent is None:
            agent = self.policy.start(max(1, len(self.names)), seed=self.settings.seed)
            if any(self.received):
                arms, values = self.rewards()
                agent.update_many(arms.tolist(), values.tolist())
        elif self._arrived:
            # Should an exception of a signal handler strike here, there is no agent, and it is made anew.
            agent, self._agent = self._agent, None
            if len(self._arrived) == 1:
                agent.update(*self._arrived[0])
            else:
                agent.update_many(*zip(*self._arrived, strict=True))
        else:
            return self._agent
        self._arrived = []
        self._agent = agent
        return agent

    def rewards(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the arms and the values of all rewards so far, from the log."""
        arms, values = self._rewards(self.seq)
        counts = np.bincount(arms, minlength=len(self.names)).tolist()
        if counts != self.received:
            raise DamagedLog(
                f"the log has {counts} rewards of the arms up to event {self.seq}, the state {self.received}: events "
                "are missing or changed; restore a backup of the database"
            )
        return arms, values

    def _forget_agent(self) -> None:
        self._agent = self._left = None
        self._arrived = []

    def available(self) -> list[int]:
        """Return the arms that are not retired."""
        return [arm for arm, live in enumerate(self.live) if live]

    def overdue(self, now: float) -> Iterator[tuple[int, Pending]]:
        """Yield the decisions whose reward has been waited for long enough."""
        wait = self.settings.reward_wait
        if wait is None:
            return
        for seq, waiting in self.pending.items():
            if waiting.since + wait > now:
                return
            yield seq, waiting

    def pick(self, seq: int, arms: Sequence[int], in_flight: Sequence[int]) -> Pick:
        """Choose among `arms` for the decision that will be event number `seq`."""
        epsilon = self.settings.epsilon
        arm, why = self._policy_choice(seq, arms, in_flight)
        if epsilon > 0.0:
            # The floor: with probability epsilon, any arm.
            coin, place = (int(stream_key(self.settings.seed, FLOOR, seq, use)) for use in (0, 1))
            explored = (coin >> 11) * 2.0**-53 < epsilon
            chosen = arms[place % len(arms)] if explored else arm
            why = f"explored: epsilon={epsilon:g}" if explored else why
        else:
            chosen = arm
        probability = epsilon / len(arms) + (1.0 - epsilon) * (chosen == arm)
        return Pick(chosen, why, None if self.settings.randomised else probability)

    def _policy_choice(self, seq: int, arms: Sequence[int], in_flight: Sequence[int]) -> tuple[int, str]:
        """Return what the policy chooses among `arms`, and why.

        Rewards are all it learns from. Exposures in flight count as pulls in two places: an arm whose first reward is
        still awaited is neither new nor filtered out, and of the arms that a filter leaves the one with the fewest
        pulls, in flight or not, is chosen.
        """
        waiting = [] if all(self.received) else [arm for arm in arms if self.received[arm] == 0 and in_flight[arm] > 0]
        ready = tuple(arm for arm in arms if arm not in waiting) if waiting else tuple(arms)
        if not ready:
            return self._least_exposed(waiting, in_flight), "every arm waits for its first reward: the least shown"
        chosen, left = self._select(seq, ready)
        if left is None:
            return chosen, "never tried" if self.received[
                chosen
            ] == 0 else f"the choice of {type(self.policy).__name__}"
        left = sorted(left + waiting) if waiting else left
        if len(left) == 1:
            return chosen, "the only arm that passes the filter"
        return self._least_exposed(left, in_flight), f"the least shown of {len(left)} arms that pass the filter"

    def _select(self, seq: int, arms: tuple[int, ...]) -> tuple[int, list[int] | None]:
        """Return what the agent says. Until the next reward it will say the same, unless it tosses coins."""
        if self.settings.randomised:
            return self.agent.select_among(arms, stream_key(self.settings.seed, CHOICE, seq))
        if self._left is None or self._left[0] != arms:
            self._left = arms, self.agent.select_among(arms, np.uint64(0))
        return self._left[1]

    def _least_exposed(self, arms: Sequence[int], in_flight: Sequence[int]) -> int:
        """Return the arm with the fewest exposures, the first of them on ties."""
        exposures = [self.received[arm] + in_flight[arm] for arm in arms]
        return arms[exposures.index(min(exposures))]

    # Snapshots.

    def to_bytes(self) -> bytes:
        """Return everything as an .npz file: the agent's own file, what waits, and the rest as JSON."""
        waiting = list(self.pending.items())
        head = {
            "format": SNAPSHOT_FORMAT,
            "seq": self.seq,
            "at": self.at,
            "names": self.names,
            "live": self.live,
            "decided": self.decided,
            "in_flight": self.in_flight,
            "received": self.received,
            "noise": None if self._noise is None else self._noise.to_dict(),
        }
        file = io.BytesIO()
        np.savez(
            file,
            head=np.frombuffer(json.dumps(head).encode(), np.uint8),
            agent=np.frombuffer(self.agent.to_bytes(), np.uint8),
            seqs=np.array([seq for seq, _ in waiting], np.int64),
            arms=np.array([each.arm for _, each in waiting], np.int64),
            since=np.array([each.since for _, each in waiting], np.float64),
            was_shown=np.array([each.shown for _, each in waiting], np.bool_),
            decisions=np.array([each.decision for _, each in waiting], np.str_),
        )
        return file.getvalue()

    @classmethod
    def from_bytes(cls, settings: Settings, rewards: Rewards, content: bytes) -> Fold:
        """Return the state that `to_bytes` described; ValueError if it is another format."""
        fold = cls(settings, rewards)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head: dict[str, Any] = json.loads(arrays["head"].tobytes())
        if head["format"] != SNAPSHOT_FORMAT:
            raise ValueError(f"format {head['format']} is not {SNAPSHOT_FORMAT}")
        for name in ("seq", "at", "names", "live", "decided", "in_flight", "received"):
            setattr(fold, name, head[name])
        fold.index = {name: arm for arm, name in enumerate(fold.names)}
        columns = (arrays[name].tolist() for name in ("seqs", "arms", "since", "was_shown", "decisions"))
        fold.pending = {seq: Pending(*rest) for seq, *rest in zip(*columns, strict=True)}
        if fold._noise is not None:
            fold._noise = NoiseEstimate.from_dict(head["noise"])
        fold._agent = Agent.from_bytes(arrays["agent"].tobytes())
        fold.policy = fold._agent.policy
        return fold

    def difference(self, other: Fold) -> str | None:
        """Return what is not the same in both states, bit for bit; None if everything is."""
        names = ("seq", "at", "names", "live", "decided", "in_flight", "received", "pending", "policy")
        for name in names:
            if getattr(self, name) != getattr(other, name):
                return name
        return None if self.agent.same_as(other.agent) else "agent"
