"""The state of a bandit: a fold over its events. It follows from them one after the other, and from nothing else."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rotting._core.noise import NoiseEstimate
from rotting._core.randomness import CHOICE, stream_key
from rotting.bandit.core.events import KINDS, Event, Kind, check_event, damaged
from rotting.bandit.core.holdout import HoldoutTally
from rotting.bandit.core.pending import Pending, PendingDecisions
from rotting.bandit.core.settings import BanditSettings
from rotting.bandit.core.snapshots import PLAIN, Plain, Snapshot
from rotting.bandit.errors import DamagedLog
from rotting.errors import DamagedFile, quoted
from rotting.policies import Agent
from rotting.policies._contract.probable import replay_key

# Reads the arms and the values of all rewards up to an event from the log.
RewardReader = Callable[[int], tuple[np.ndarray, np.ndarray]]


# So many rewards are learnt at once, whoever waits; more are learnt before others have to wait.
LEARNT_AT_ONCE = 2000


class _Learner:
    """An agent, and the rewards that it has yet to learn."""

    def __init__(self, agent: Agent, unlearned: list[tuple[int, float]]):
        self.agent, self.unlearned = agent, unlearned

    def learn(self) -> None:
        """Learn the rewards."""
        rewards, self.unlearned = self.unlearned, []
        if len(rewards) == 1:
            self.agent.update(*rewards[0])
        elif rewards:
            self.agent.update_many(*zip(*rewards, strict=True))


class BanditState(Plain):
    """What is known of a bandit after `seq` events."""

    def __init__(self, bandit_name: str, settings: BanditSettings, read_rewards: RewardReader):
        super().__init__()
        self.bandit_name = bandit_name
        self.settings = settings
        self.policy = settings.policy  # with the latest estimate of sigma, where it is estimated
        self.index: dict[str, int] = {}  # the numbers of the arms by name
        self.holdout = HoldoutTally()
        self.pending = PendingDecisions()  # in the order of `since`
        self.read_rewards = read_rewards
        self._noise = NoiseEstimate() if settings.sigma == "auto" else None
        self._learner: _Learner | None = None  # the policy's agent, if it has been needed since it changed
        self._agent_since = 0  # the event that made the last agent useless
        self._coming: _Learner | None = None  # an agent for more arms, which are about to be added
        # What the agent chose among some arms. It would choose the same until the next reward.
        self._selected: tuple[tuple[int, ...], tuple[int, list[int] | None]] | None = None
        self._chances: tuple[tuple[int, ...], dict[int, float]] | None = None  # the same of exact probabilities

    # Applying events.

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        _APPLY[event.kind](self, event)
        self.seq, self.at = event.seq, event.at

    def check(self, event: Event) -> None:
        """Refuse an event, read from the database, that cannot be the next one."""
        if event.seq != self.seq + 1:
            raise DamagedLog(
                f"event {event.seq} follows event {self.seq} of bandit {quoted(self.bandit_name)}: some are missing",
                hint="restore a backup of the database",
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
        if waiting is not None and event.kind != "shown" and waiting.holdout != event.holdout:
            raise damaged(event, "holdout", f"{waiting.holdout}, as in decision {event.target}")
        if event.kind == "changed":
            self._settings_after(event)
        if event.kind == "sealed":
            upto = json.loads(event.details or "").get("upto")
            if type(upto) is not int or not self.sealed < upto < event.seq:
                raise damaged(event, "details", f"an event after {self.sealed} as 'upto'")

    def _added(self, event: Event) -> None:
        assert event.name is not None
        self.index[event.name] = len(self.names)
        self.names.append(event.name)
        self.live.append(True)
        for counts in (self.decided, self.in_flight, self.received, self.imported, self.in_period):
            counts.append(0)
        self._drop_agent()  # agents have a fixed number of arms

    def _retired(self, event: Event) -> None:
        self.live[event.arm] = event.kind == "restored"

    _restored = _retired

    def _decided(self, event: Event) -> None:
        self.decided[event.arm] += 1
        self.pending[event.seq] = Pending(event.arm, event.at, False, event.decision or "", event.holdout)
        if self.settings.exposure_period is not None:
            if self.period != (period := int(event.at // self.settings.exposure_period)):
                self.period, self.in_period = period, [0] * len(self.names)
            self.in_period[event.arm] += 1
        if event.holdout is not None:
            self.holdout.decided(event.holdout)
        if self.settings.count == "decided":
            self.in_flight[event.arm] += 1

    def _shown(self, event: Event) -> None:
        assert event.target is not None
        waiting = self.pending.pop(event.target, None)
        if waiting is not None:
            # The wait starts again; removed and put back, the decision comes last.
            self.pending[event.target] = waiting._replace(since=event.at, shown=True)
            if self.settings.count == "shown":
                self.in_flight[event.arm] += 1

    def _settled(self, event: Event) -> None:
        """Apply a reward, or the end of the wait for one (with the default reward, or none)."""
        assert event.target is not None
        waited = self.pending.pop(event.target, None)
        if waited is not None and self.counts(waited):
            self.in_flight[event.arm] -= 1
        if event.value is not None:
            self._learn(event.arm, event.value)
            if event.holdout is not None:
                self.holdout.rewarded(event.target, event.holdout, event.value)

    _rewarded = _expired = _settled

    def _imported(self, event: Event) -> None:
        assert event.value is not None
        self.imported[event.arm] += 1
        self._learn(event.arm, event.value)

    def _warmed(self, event: Event) -> None:
        """Apply nothing: the event only says where the imported rewards that follow come from."""

    def _sealed(self, event: Event) -> None:
        self.sealed = json.loads(event.details or "")["upto"]

    def _changed(self, event: Event) -> None:
        old, self.settings = self.settings, self._settings_after(event)
        new = self.settings
        if (old.holdout, old.control) != (new.holdout, new.control):
            self.holdout = HoldoutTally(since=event.seq)
        if old.exposure_period != new.exposure_period:
            self.period, self.in_period = -1, [0] * len(self.names)
        if (old.policy, old.sigma) != (new.policy, new.sigma):
            self._change_policy(old, new)

    def _change_policy(self, old: BanditSettings, new: BanditSettings) -> None:
        """Use another policy, or another way to its sigma. An estimate goes on; a new one begins with new rewards."""
        policy = new.policy
        if new.sigma != "auto":
            self._noise = None
        elif self._noise is None:
            self._noise = NoiseEstimate()
        elif self.policy != old.policy:
            policy = dataclasses.replace(policy, sigma=self.policy.sigma)  # type: ignore[call-arg,attr-defined]
        self.policy = policy
        self._drop_agent()
        self._coming = None

    def _settings_after(self, event: Event) -> BanditSettings:
        """Return the settings after a change of them."""
        settings = self.settings.with_differences(json.loads(event.details or ""))
        settings.check_arms(self.bandit_name, self.names)
        return settings

    def counts(self, waiting: Pending) -> bool:
        """Say whether a decision counts as an exposure already."""
        return waiting.shown or self.settings.count == "decided"

    def _learn(self, arm: int, value: float) -> None:
        self.received[arm] += 1
        self._selected = self._chances = None
        for learner in (self._learner, self._coming):
            if learner is not None:
                learner.unlearned.append((arm, value))
        if self._noise is not None:
            self._noise.add(arm, value)
            if self._noise.due and self._noise.sigma is not None:
                self.policy = dataclasses.replace(self.policy, sigma=self._noise.sigma)  # type: ignore[call-arg]
                self._drop_agent()

    # The policy's agent.

    @property
    def agent(self) -> Agent:
        """The agent that has learnt all rewards: a new one when the arms or the estimate of the noise have changed."""
        # If a signal handler raises an exception here, there is no agent, and the next call makes a new one.
        learner, self._learner = self._learner, None
        if learner is None:
            learner = _Learner(self.policy.start(max(1, len(self.names)), seed=self.settings.seed), [])
            if any(self.received):
                arms, values = self.rewards()
                learner.agent.update_many(arms.tolist(), values.tolist())
        elif learner.unlearned:
            learner.learn()
        self._learner = learner
        return learner.agent

    def rewards(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the arms and the values of all rewards so far, from the log."""
        arms, values = self.read_rewards(self.seq)
        counts = np.bincount(arms, minlength=len(self.names)).tolist()
        if counts != self.received:
            raise DamagedLog(
                f"the log has {counts} rewards of the arms up to event {self.seq}, the state {self.received}: events "
                "are missing or changed",
                hint="restore a backup of the database",
            )
        return arms, values

    def _drop_agent(self) -> None:
        self._learner = self._selected = self._chances = None
        self._agent_since = self.seq + 1  # the event that is being applied
        coming = self._coming
        if coming is not None and (coming.agent.policy, coming.agent.n_arms) == (self.policy, len(self.names)):
            self._learner, self._coming = coming, None

    @property
    def learnable_since(self) -> int | None:
        """If there is much to learn again, the first event after which a snapshot has learnt it; None otherwise."""
        return self._agent_since if self._learner is None and sum(self.received) > LEARNT_AT_ONCE else None

    def expect(self, agent: Agent, since: tuple[np.ndarray, np.ndarray]) -> None:
        """Take over an agent for arms or a policy that are about to come; `since` are rewards it has yet to learn."""
        self._coming = _Learner(agent, list(zip(since[0].tolist(), since[1].tolist(), strict=True)))

    def after(self, events: Sequence[Event]) -> BanditState:
        """Return the state as it will be after some events that change arms or settings."""
        if self._coming is not None:
            self._coming.learn()
        later = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict | PendingDecisions):
                setattr(later, name, value.copy())
        for event in events:
            later.apply(event)
        return later

    def snapshot_after(self, events: Sequence[Event]) -> Snapshot | None:
        """Return a snapshot of the state after such events, if an agent has been learnt for it."""
        later = self.after(events)
        return later.snapshot() if later._learner not in (None, self._learner) else None

    # Choosing.

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

    def select(self, seq: int, arms: tuple[int, ...], replay: int | None = None) -> tuple[int, list[int] | None]:
        """Return what the agent selects, and the arms that its filter leaves; or what it would in a replay."""
        if self.policy.randomised:
            key = stream_key(self.settings.seed, CHOICE, seq)
            return self.agent.select_among(arms, key if replay is None else np.uint64(replay_key(key, replay)))
        if self._selected is None or self._selected[0] != arms:
            self._selected = arms, self.agent.select_among(arms, np.uint64(0))
        return self._selected[1]

    def chances(self, seq: int, arms: tuple[int, ...], chosen: int, replays: int) -> dict[int, float] | None:
        """Return how likely the agent was to select each arm; None where only replays tell, and there are none."""
        if not self.policy.randomised or len(arms) == 1:
            return {chosen: 1.0}
        if not self.policy.tells_probabilities and not replays:
            return None
        if self._chances is None or self._chances[0] != arms or not self.policy.tells_probabilities:
            found = self.agent.probabilities_among(arms, stream_key(self.settings.seed, CHOICE, seq), replays)
            self._chances = arms, dict(zip(arms, found.tolist(), strict=True))
        return self._chances[1]

    # Snapshots.

    def snapshot(self) -> Snapshot:
        """Return the state as plain data."""
        head = {name: copy.copy(getattr(self, name)) for name in PLAIN} | {
            "holdout": self.holdout.to_list(),
            "settings": self.settings.to_dict(),
            "noise": None if self._noise is None else self._noise.to_dict(),
        }
        return Snapshot(head, self.pending.copy(), self.agent)

    @classmethod
    def from_snapshot(
        cls, bandit_name: str, settings: BanditSettings, read_rewards: RewardReader, snapshot: Snapshot
    ) -> BanditState:
        """Return the state that a snapshot describes; `DamagedFile` if it is not one of this bandit.

        `settings` are those that the bandit was made with.
        """
        head, agent = snapshot.head, snapshot.agent
        state = cls(bandit_name, settings.with_differences(head["settings"]), read_rewards)
        for name in PLAIN:
            setattr(state, name, head[name])
        state.pending = snapshot.pending
        state.index = {name: arm for arm, name in enumerate(state.names)}
        state.holdout = HoldoutTally.from_list(head["holdout"])
        in_flight = [0] * len(state.names)
        for waiting in state.pending.values():
            in_flight[waiting.arm] += state.counts(waiting)
        policy, known = agent.policy, state.policy
        if state.settings.sigma == "auto" and type(policy) is type(known):
            known = dataclasses.replace(known, sigma=policy.sigma)  # type: ignore[call-arg,attr-defined]
        if in_flight != state.in_flight or policy != known or (head["noise"] is None) != (state._noise is None):
            raise DamagedFile("is not one of this bandit", owner="snapshot")
        state._noise = None if head["noise"] is None else NoiseEstimate.from_dict(head["noise"])
        state._learner, state.policy = _Learner(agent, []), policy
        return state

    def difference(self, other: BanditState) -> str | None:
        """Return what is not the same in both states, bit for bit; None if everything is."""
        for name in (*PLAIN, "pending", "settings", "policy", "holdout"):
            if getattr(self, name) != getattr(other, name):
                return name
        return None if self.agent.same_as(other.agent) else "agent"


_APPLY: dict[Kind, Callable[[BanditState, Event], None]] = {kind: getattr(BanditState, f"_{kind}") for kind in KINDS}
