"""The package's policies as policies of river, the library for learning from streams. Needs `rotting[river]`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from rotting._core.randomness import CHOICE, checked_seed, stream_key
from rotting.errors import BadValue, MissingExtra
from rotting.policies import Agent, PolicyLike
from rotting.policies._contract.agent import checked_reward
from rotting.policies._contract.policy import as_policy
from rotting.policies._contract.suited import range_mismatches, warn

try:
    from river import bandit
except ImportError:
    raise MissingExtra("policies of river need river, which is not installed", hint="install rotting[river]") from None

__all__ = ["RiverPolicy"]


class RiverPolicy(bandit.base.Policy):  # type: ignore[misc]
    """A policy of this package that river can use: `pull(arm_ids)` and `update(arm_id, reward)`.

    Arms may have any names, and others may be offered later. A choice among some of the arms is the policy's choice as
    if the others did not exist (but for policies that declare `shared_memory`). All rewards are kept, to be relearnt
    when there are more arms. A randomised policy draws again at each `pull`, rewards or not; others decide alike until
    they learn something.

    Parameters
    ----------
    policy
        A policy of the package or your own, or a text that describes one.
    reward_obj, reward_scaler, burn_in
        As in river. The policy learns what the scaler makes of rewards; `reward_obj` serves river's ranking only.
    seed
        For the choices of a randomised policy.

    Examples
    --------
    >>> from rotting.river import RiverPolicy
    >>> policy = RiverPolicy("FEWA(sigma=0.1)")
    >>> for _ in range(20):
    ...     arm = policy.pull(["red", "green"])
    ...     policy.update(arm, {"red": 0.9, "green": 0.1}[arm])
    >>> policy.ranking
    ['red', 'green']
    """

    def __init__(
        self,
        policy: PolicyLike = "EffFEWA()",
        reward_obj: Any = None,
        reward_scaler: Any = None,
        burn_in: int = 0,
        seed: int | None = None,
    ):
        super().__init__(reward_obj=reward_obj, reward_scaler=reward_scaler, burn_in=burn_in)
        self.policy, self.seed = policy, seed
        self._rule = as_policy(policy)
        self._entropy = checked_seed(seed)
        self._asked = (0, -1)  # in which round the last choice was made, and how many before it in that round
        self._numbers: dict[Hashable, int] = {}  # of the arms, in the order in which they came
        self._learnt: tuple[list[int], list[float]] = ([], [])
        self._agent: Agent | None = None
        self._warned = False  # of rewards that the policy is not made for

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"policy": "EffFEWA(sigma=0.5)", "seed": 1}

    def _pull(self, arm_ids: Sequence[Hashable]) -> Hashable:
        offered = list(dict.fromkeys(arm_ids))
        if not offered:
            raise BadValue("holds no arms", name="arm_ids", value=arm_ids, expected="a list of one arm or more")
        agent = self._agent_for(offered)
        numbers = sorted(self._numbers[arm] for arm in offered)
        key = self._fresh_key(agent.t)
        if len(numbers) == agent.n_arms:
            chosen = agent.select_at(agent.t + 1, key)
        else:
            chosen, _ = agent.select_among(numbers, key)
        return next(arm for arm in offered if self._numbers[arm] == chosen)

    def _fresh_key(self, t: int) -> np.uint64:
        """Return where the random numbers of a choice start: the agent's own, or others while no reward comes."""
        self._asked = (t, self._asked[1] + 1 if self._asked[0] == t else 0)
        again = self._asked[1:] if self._asked[1] else ()
        return stream_key(self._entropy, CHOICE, *again)

    def update(self, arm_id: Hashable, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learn the reward of an arm; a bad one is refused and changes nothing."""
        given = [*reward_args, *reward_kwargs.values()]
        if len(given) != 1:
            raise BadValue(f"there are {len(given)} rewards for one pull", name="arm_id", value=arm_id, expected="one")
        checked_reward(given[0])
        super().update(arm_id, *reward_args, **reward_kwargs)
        value = float(self.reward_scaler.func(given[0]) if self.reward_scaler else given[0])
        if not self._warned and (found := range_mismatches(self._rule, value, value)):
            self._warned = True
            warn(found)
        self._agent_for([arm_id]).update(self._numbers[arm_id], value)
        self._learnt[0].append(self._numbers[arm_id])
        self._learnt[1].append(value)

    def _agent_for(self, arm_ids: Sequence[Hashable]) -> Agent:
        """Return an agent that knows these arms and all before."""
        for arm in arm_ids:
            self._numbers.setdefault(arm, len(self._numbers))
        if self._agent is None or self._agent.n_arms < len(self._numbers):
            self._agent = self._rule.start(len(self._numbers), self.seed)
            self._agent.update_many(*self._learnt)
        return self._agent

    def __repr__(self) -> str:
        # River's table needs at least one arm.
        return str(super().__repr__()) if self._rewards else f"RiverPolicy({str(self._rule)!r})"

    def __getstate__(self) -> dict[str, Any]:
        # Agents hold compiled functions; their own format does not.
        return self.__dict__ | {"_agent": self._agent.to_bytes() if self._agent else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._agent = Agent.from_bytes(state["_agent"]) if state["_agent"] else None
