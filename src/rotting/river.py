"""The package's policies as policies of river, the library for learning from streams. Needs `rotting[river]`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from rotting._core.randomness import CHOICE, checked_seed, stream_key
from rotting.errors import BadType, MissingExtra
from rotting.policies import Agent, Policy, PolicyLike, parse_policy

try:
    from river import bandit
except ImportError:
    raise MissingExtra("policies of river need river, which is not installed", hint="install rotting[river]") from None

__all__ = ["RiverPolicy"]


class RiverPolicy(bandit.base.Policy):  # type: ignore[misc]
    """A policy of this package that river can use: `pull(arm_ids)` and `update(arm_id, reward)`.

    Arms may have any names, and others may be offered later. A choice among some of the arms is the policy's choice as
    if the others did not exist (but for policies that declare `shared_memory`). All rewards are kept, to be learnt anew
    when there are more arms.

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
        self._rule = parse_policy(policy) if isinstance(policy, str) else policy
        if not isinstance(self._rule, Policy):
            raise BadType("is not a policy", name="policy", value=policy)
        self._key = stream_key(checked_seed(seed), CHOICE)
        self._numbers: dict[Hashable, int] = {}  # of the arms, in the order in which they came
        self._learnt: tuple[list[int], list[float]] = ([], [])
        self._agent: Agent | None = None

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"policy": "EffFEWA(sigma=0.5)", "seed": 1}

    def _pull(self, arm_ids: Sequence[Hashable]) -> Hashable:
        agent = self._agent_for(arm_ids)
        offered = sorted(self._numbers[arm] for arm in arm_ids)
        if len(offered) == agent.n_arms:
            chosen = agent.select_at(agent.t + 1, self._key)
        else:
            chosen, _ = agent.select_among(offered, self._key)
        return next(arm for arm in arm_ids if self._numbers[arm] == chosen)

    def update(self, arm_id: Hashable, *reward_args: Any, **reward_kwargs: Any) -> None:
        """Learn the reward of an arm."""
        super().update(arm_id, *reward_args, **reward_kwargs)
        reward = reward_args[0] if reward_args else next(iter(reward_kwargs.values()))
        value = float(self.reward_scaler.func(reward) if self.reward_scaler else reward)
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
