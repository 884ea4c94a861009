"""An agent: one policy at work on one set of arms, from Python."""

from __future__ import annotations

import io
import math
import operator
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rotting._core.randomness import CHOICE, checked_seed, stream_key
from rotting.policies._engine.kernel import decide, learn, learn_many
from rotting.policies._engine.views import view_of

if TYPE_CHECKING:
    from rotting.policies._engine.policy import Policy

# Beyond this, sums of many rewards could overflow.
LARGEST_REWARD = 1e100


class Agent:
    """Chooses arms and learns from their rewards; made by `policy.start(n_arms, seed)`.

    `select()` changes nothing: asked twice, it gives the same arm twice. Rewards may come for any arm, chosen or not.
    """

    def __init__(self, policy: Policy, state: Any, key: np.uint64):
        self.policy = policy
        self._state = state
        self._key = key
        self._t = int(state.pulls.sum())
        self._n_arms = len(state.pulls)
        self._room = 0  # pulls that surely fit into the state as it is
        self._decide = decide.compiled_for(type(state))
        self._learn = learn.compiled_for(type(state))

    @classmethod
    def fresh(cls, policy: Policy, n_arms: int, seed: int | None = None) -> Agent:
        """Return an agent that has not pulled anything yet."""
        try:
            n_arms = _index(n_arms)
        except TypeError:
            raise TypeError(f"n_arms={n_arms!r} is not a whole number >= 1") from None
        if n_arms < 1:
            raise ValueError(f"n_arms={n_arms} is too small; expected a whole number >= 1")
        return cls(policy, policy.initial_state(n_arms), stream_key(checked_seed(seed), CHOICE))

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return self._n_arms

    @property
    def t(self) -> int:
        """The number of pulls made so far."""
        return self._t

    @property
    def pulls(self) -> np.ndarray:
        """The number of pulls of each arm so far, int64 (a copy)."""
        return self._state.pulls.copy()

    def select(self) -> int:
        """Return the arm to pull next."""
        return self._decide(self._state, self._t + 1, self._key)

    def update(self, arm: int, reward: float) -> None:
        """Take in the reward of one pull of `arm`; a bad arm or reward is refused and changes nothing."""
        # The ordinary case first, cheaply: this is called once per decision.
        if type(arm) is not int or not 0 <= arm < self._n_arms:
            arm = self._checked_arm(arm)
        if type(reward) is not float or not abs(reward) <= LARGEST_REWARD:
            reward = checked_reward(reward)
        if self._room == 0:
            self._room = 64 + self._t // 8
            self._state = self.policy.reserve(self._state, self._room)
        self._learn(self._state, arm, reward)
        self._room -= 1
        self._t += 1

    def update_many(self, arms: Iterable[int], rewards: Iterable[float]) -> None:
        """Take in many rewards, in this order; if one of them is bad, all are refused and nothing changes.

        Examples
        --------
        >>> from rotting import EffFEWA
        >>> agent = EffFEWA().start(n_arms=2)
        >>> agent.update_many([0, 1, 1], [0.2, 0.4, 0.1])
        >>> agent.pulls
        array([1, 2])
        """
        numbers = np.array([self._checked_arm(arm) for arm in arms], np.int64)
        values = np.array([checked_reward(reward) for reward in rewards], np.float64)
        if len(numbers) != len(values):
            raise ValueError(f"{len(numbers)} arms and {len(values)} rewards do not go together; expected one of each")
        if len(numbers) > self._room:
            self._room = len(numbers) + self._t // 8
            self._state = self.policy.reserve(self._state, self._room)
        learn_many.compiled_for(type(self._state))(self._state, numbers, values)
        self._room -= len(numbers)
        self._t += len(numbers)

    def select_among(self, arms: Sequence[int], key: np.uint64) -> tuple[int, list[int] | None]:
        """Return the arm to pull if only `arms` (increasing) existed, and those that the policy is indifferent about.

        The second is for policies that filter the arms and then pull the least-pulled one that is left: all that are
        left. It is None for others, and while one of the arms has no pull. `key` starts the random stream to use.
        """
        view = view_of(self.policy, self._state, arms)
        chosen = arms[self._decide(view, self._t + 1, key)]
        if not (hasattr(view, "active") and hasattr(view, "left")) or not view.pulls.all():
            return chosen, None
        return chosen, [arms[place] for place in view.active[: view.left[0]].tolist()]

    def explain_among(self, arms: Sequence[int]) -> Any:
        """Explain the next decision if only `arms` existed; verdicts speak of them by their places in `arms`."""
        return self.policy.explain(view_of(self.policy, self._state, arms), self._t + 1)

    def explain(self) -> Any:
        """Say, arm by arm, what leads to the next decision (policies with windows only)."""
        return self.policy.explain(self._state, self._t + 1)

    def save(self, path: str | Path) -> None:
        """Write the agent to a file, atomically; `Agent.load` continues it with identical decisions."""
        from rotting.policies._engine.saving import save_agent

        save_agent(path, self.policy, self._state, self._key)

    @classmethod
    def load(cls, path: str | Path) -> Agent:
        """Return the agent that `save` wrote."""
        from rotting.policies._engine.saving import load_agent

        return cls(*load_agent(path))

    def to_bytes(self) -> bytes:
        """Return what `save` would write."""
        from rotting.policies._engine.saving import write_agent

        file = io.BytesIO()
        write_agent(file, self.policy, self._state, self._key)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Agent:
        """Return the agent that `to_bytes` described."""
        from rotting.policies._engine.saving import load_agent

        return cls(*load_agent(io.BytesIO(content)))

    def same_as(self, other: Agent) -> bool:
        """Say whether both have learnt the same, bit for bit: every array, as far as both have made room in it."""
        from rotting.policies._engine.saving import same_states

        return self.policy == other.policy and same_states(self._state, other._state)

    def __repr__(self) -> str:
        return f"<Agent {self.policy} n_arms={self.n_arms} t={self.t}>"

    def _checked_arm(self, arm: Any) -> int:
        if type(arm) is int and 0 <= arm < self._n_arms:
            return arm
        try:
            number = _index(arm)
        except TypeError:
            raise TypeError(f"arm={arm!r} is not an arm; expected a whole number from 0 to {self.n_arms - 1}") from None
        if not 0 <= number < self.n_arms:
            raise IndexError(f"arm={arm!r} does not exist; expected a whole number from 0 to {self.n_arms - 1}")
        return number


def _index(value: Any) -> int:
    """Return a whole number; True and False are none."""
    if isinstance(value, bool | np.bool_):
        raise TypeError
    return operator.index(value)


def checked_reward(reward: Any) -> float:
    """Return a reward as a float, or say why it is none."""
    if type(reward) is float and abs(reward) <= LARGEST_REWARD:
        return reward
    if isinstance(reward, bool | np.bool_):
        return float(reward)
    if not isinstance(reward, int | float | np.integer | np.floating):
        raise TypeError(f"reward={reward!r} is not a number")
    reward = reward.item() if isinstance(reward, np.generic) else reward
    if isinstance(reward, float) and not math.isfinite(reward):
        raise ValueError(f"reward={reward!r} is not finite; drop it or decide what it stands for")
    if not abs(reward) <= LARGEST_REWARD:
        shown = repr(reward) if isinstance(reward, float) else f"an integer beyond {LARGEST_REWARD:g}"
        raise ValueError(f"reward={shown} is beyond +-{LARGEST_REWARD:g}; rescale the rewards")
    return float(reward)
