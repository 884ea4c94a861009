"""The settings of a bandit. They are kept for good: its log could not be replayed with others."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from rotting._core.randomness import checked_seed
from rotting._core.validation import finite_number
from rotting.bandit.checking import good_reward
from rotting.bandit.errors import BadSettings, BanditError, DamagedLog, SettingsConflict
from rotting.errors import BadValue, ParseError, literal, quoted
from rotting.policies import Policy, parse_policy


@dataclasses.dataclass(frozen=True)
class BanditSettings:
    """How a bandit decides; see `Bandit.open`."""

    policy: Policy
    sigma: str | None = None
    epsilon: float = 0.0
    count: str = "decided"
    reward_wait: float | None = None
    default_reward: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        try:
            self._check()
        except BanditError:
            raise
        except BadValue as error:
            raise BadSettings.from_error(error) from None

    def _check(self) -> None:
        _check_policy(self.policy)
        if self.sigma not in (None, "auto"):
            raise BadSettings(name="sigma", value=self.sigma, expected="'auto', or a policy with the sigma you know")
        if self.sigma == "auto" and "sigma" not in {field.name for field in dataclasses.fields(self.policy)}:
            raise BadSettings(
                f"does not go with {quoted(self.policy)}, which has no parameter sigma",
                name="sigma",
                value=self.sigma,
                hint="leave {sigma} out",
            )
        if self.count not in ("decided", "shown"):
            raise BadSettings(name="count", value=self.count, expected="'decided' or 'shown'")
        self._set("epsilon", finite_number("epsilon", self.epsilon, minimum=0.0, maximum=1.0))
        if self.reward_wait is not None:
            self._set("reward_wait", finite_number("reward_wait", self.reward_wait, minimum=0.0))
        if self.default_reward is not None:
            if self.reward_wait is None:
                raise BadSettings(
                    "is never used without {reward_wait}",
                    name="default_reward",
                    value=self.default_reward,
                    hint="give both",
                )
            self._set("default_reward", good_reward(self.default_reward, "default_reward"))
        self._set("seed", checked_seed(self.seed))

    def _set(self, name: str, value: float) -> None:
        object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, object]:
        """Return plain data for the database."""
        return {
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)},
            "policy": repr(self.policy),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, object]) -> BanditSettings:
        """Return the settings that `to_dict` described."""
        try:
            policy = parse_policy(content["policy"])  # type: ignore[arg-type]
            return cls(**{**content, "policy": policy})  # type: ignore[arg-type]
        except ParseError as error:
            raise BadSettings(
                f"the policy of the bandit is not known here ({literal(str(error))})",
                value=content["policy"],
                hint="import the module that defines it",
            ) from None
        except (BanditError, KeyError, TypeError) as error:
            raise DamagedLog(
                f"the settings in the database make no sense ({type(error).__name__}: {literal(str(error))})",
                hint="they were changed or damaged: restore a backup of the database",
            ) from None

    def check_same(self, bandit: str, given: Mapping[str, object]) -> None:
        """Refuse settings (None: not given) that differ from these, which a bandit was made with."""
        for setting, value in given.items():
            mine = getattr(self, setting)
            if value is not None and value != mine:
                raise SettingsConflict(
                    f"differs from {quoted(mine)}, which bandit {quoted(bandit)} was made with",
                    name=setting,
                    value=value,
                    hint=f"leave {{{setting}}} out, or make a bandit of another name",
                )


def _check_policy(policy: object) -> None:
    if not isinstance(policy, Policy):
        raise BadSettings("is not a policy", name="policy", value=policy, expected="for example EffFEWA(sigma=0.5)")
    try:
        same = parse_policy(repr(policy)) == policy
        policy.initial_state(2), policy.initial_state(3)
    except (TypeError, ValueError) as error:
        raise BadSettings(
            f"cannot be used for a bandit, whose arms may change: {literal(str(error))}", name="policy", value=policy
        ) from None
    if not same:
        raise BadSettings(
            "cannot be kept in a database: its text, read back, is another policy", name="policy", value=policy
        )
