"""What a bandit is told when it is made, and keeps for good: its log could not be replayed otherwise."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from rotting._core.parsing import ParseError
from rotting._core.randomness import checked_seed
from rotting.bandit.checking import good_reward, number_between
from rotting.bandit.errors import BadSettings, BanditError, DamagedLog, SettingsConflict
from rotting.policies import Policy, parse_policy


@dataclasses.dataclass(frozen=True)
class Settings:
    """How a bandit decides; see `Bandit.open`."""

    policy: Policy
    sigma: str | None = None
    epsilon: float = 0.0
    count: str = "decided"
    reward_wait: float | None = None
    default_reward: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _check_policy(self.policy)
        if self.sigma not in (None, "auto"):
            raise BadSettings(f"sigma={self.sigma!r}: expected 'auto', or a policy with the sigma that you know")
        if self.sigma == "auto" and "sigma" not in {field.name for field in dataclasses.fields(self.policy)}:
            raise BadSettings(
                f"sigma='auto' does not go with {self.policy}, which has no parameter sigma; leave it out"
            )
        if self.count not in ("decided", "shown"):
            raise BadSettings(f"count={self.count!r}: expected 'decided' or 'shown'")
        self._set("epsilon", number_between("epsilon", self.epsilon, 0.0, 1.0))
        if self.reward_wait is not None:
            self._set("reward_wait", number_between("reward_wait", self.reward_wait, 0.0, math.inf))
        if self.default_reward is not None:
            if self.reward_wait is None:
                raise BadSettings(
                    f"default_reward={self.default_reward!r} is never used without reward_wait; give both"
                )
            self._set("default_reward", good_reward(self.default_reward, "default_reward"))
        try:
            self._set("seed", checked_seed(self.seed))
        except ValueError as error:
            raise BadSettings(str(error)) from None

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def randomised(self) -> bool:
        """Say whether the policy tosses coins of its own."""
        return self.policy.randomised

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the database."""
        return {
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)},
            "policy": repr(self.policy),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Settings:
        """Return the settings that `to_dict` described."""
        try:
            return cls(**{**content, "policy": parse_policy(content["policy"])})
        except ParseError as error:
            raise BadSettings(
                f"the bandit's policy is not known here ({error}); import the module it is from"
            ) from None
        except (BanditError, KeyError, TypeError) as error:
            raise DamagedLog(
                f"the bandit's settings in the database make no sense ({type(error).__name__}: {error}): they were "
                "changed or damaged; restore a backup of the database"
            ) from None

    def check_same(self, name: str, given: dict[str, Any]) -> None:
        """Refuse settings (None: not given) that differ from these."""
        for setting, value in given.items():
            mine = getattr(self, setting)
            if value is not None and value != mine:
                raise SettingsConflict(
                    f"bandit {name!r} was made with {setting}={mine!r}, not {value!r}; "
                    f"leave {setting} out, or make a bandit of another name"
                )


def _check_policy(policy: Any) -> None:
    if not isinstance(policy, Policy):
        raise BadSettings(f"policy={policy!r} is not a policy; expected for example EffFEWA(sigma=0.5)")
    try:
        same = parse_policy(repr(policy)) == policy
        policy.initial_state(2), policy.initial_state(3)
    except (ParseError, TypeError, ValueError) as error:
        raise BadSettings(f"{policy} cannot be used for a bandit, whose arms may change: {error}") from None
    if not same:
        raise BadSettings(f"{policy} cannot be read back from its own text; it cannot be kept in a database")
