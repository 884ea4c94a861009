"""The settings of a bandit: those it was made with, and how they are changed later, by an event of its log."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypedDict, TypeVar

from rotting._core.bandit_settings import CHANGEABLE, MOMENTS, SETTINGS, SHORTEST_PERIOD, Kind, may_be_empty
from rotting._core.randomness import checked_seed
from rotting._core.validation import finite_number, whole_number
from rotting.bandit.core.checking import good_name, good_reward
from rotting.bandit.core.experiments import Experiment, good_experiment
from rotting.bandit.errors import (
    BadSettings,
    BanditError,
    DamagedLog,
    RewardOutOfRange,
    SettingsConflict,
    UnboundedRewards,
    UnknownArm,
    as_bad_settings,
)
from rotting.errors import BadValue, ParseError, literal, quoted
from rotting.policies import Policy, parse_policy
from rotting.policies._contract.agent import LARGEST_REWARD
from rotting.policies._contract.suited import range_mismatches, warn

ANY, EVERYTHING = "any", (-LARGEST_REWARD, LARGEST_REWARD)  # as `reward_range`: whatever can be a reward
_UNBOUNDED = (
    "a new bandit without reward_range takes any finite number for a reward, 1e100 included; give reward_range=(0, 1), "
    "or the bounds that your rewards have, or reward_range='any' if that is what you mean"
)
# A number for every arm, or one for each of some arms.
Limit = int | Mapping[str, int]


class SettingsGiven(TypedDict, total=False):
    """The settings that `Bandit.open` takes besides the policy, for type checkers. None: not given.

    What they mean and how they are checked is in `rotting._core.bandit_settings`.
    """

    sigma: str | float | None
    epsilon: float | None
    count: str | None
    reward_wait: float | None
    default_reward: float | None
    seed: int | None
    reward_range: tuple[float, float] | Literal["any"] | None
    holdout: float | None
    control: str | None
    min_exposures: Limit | None
    max_exposures: Limit | None
    exposure_period: float | None
    experiment: Experiment | None


class SettingsChange(SettingsGiven, total=False):
    """The settings that `Bandit.change` takes. None: switched off. A number as `sigma` is one of the policy's."""

    policy: Policy


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
    reward_range: tuple[float, float] | None = None
    holdout: float = 0.0
    control: str | None = None
    min_exposures: Limit = 0
    max_exposures: Limit | None = None
    exposure_period: float | None = None
    experiment: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        with as_bad_settings():
            for name, setting in SETTINGS.items():
                value = getattr(self, name)
                if value is not None or not may_be_empty(name):
                    object.__setattr__(self, name, _CHECKS[setting.kind](name, value))
        if self.sigma is not None:
            _check_sigma(self.policy, self.sigma)
        if self.default_reward is not None:
            self.check_reward(self.default_reward, "default_reward")
        for name, needed in _NEEDED.items():
            if getattr(self, name) is not None and all(map(self._is_idle, needed)):
                others = " or ".join(f"{{{other}}}" for other in needed)
                raise BadSettings(
                    f"is never used without {others}", name=name, value=getattr(self, name), hint=f"give {others}, too"
                )

    def _is_idle(self, name: str) -> bool:
        value, default = getattr(self, name), SETTINGS[name].default
        return value == default or (default == 0 and value == {})

    def check_reward(self, value: float, name: str = "reward") -> None:
        """Refuse a reward that is out of bounds."""
        if self.reward_range is not None and not self.reward_range[0] <= value <= self.reward_range[1]:
            low, high = self.reward_range
            raise RewardOutOfRange(
                "is out of range",
                name=name,
                value=value,
                expected=f"{low!r} to {high!r}, the reward_range of the bandit",
            )

    def warn_if_unsuited(self) -> None:
        """Warn of a policy that is not made for rewards in the range, and of no range."""
        if self.reward_range is None:
            warn([UnboundedRewards(_UNBOUNDED)])
        elif self.reward_range != EVERYTHING:
            found = range_mismatches(self.policy, *self.reward_range)
            warn(each for each in found if self.sigma is None or "sigma" not in each.parameters)

    @property
    def limits_exposures(self) -> bool:
        """Whether some arm has a minimum or a cap."""
        return bool(self.min_exposures) or self.max_exposures is not None

    def check_arms(self, bandit: str, arms: Iterable[str]) -> None:
        """Refuse settings that name arms which the bandit does not have."""
        known = {None, *arms}
        limits = (self.min_exposures, self.max_exposures)
        tried = [] if self.experiment is None else [*(self.experiment["arms"] or ()), *self.experiment["rest"]]
        for name in [self.control, *tried, *(name for limit in limits if isinstance(limit, Mapping) for name in limit)]:
            if name not in known:
                raise UnknownArm(
                    f"bandit {quoted(bandit)} has no arm {quoted(name)}, which its settings name",
                    value=name,
                    hint="add it first, or leave it out",
                )

    # Changes.

    def with_changes(self, changes: Mapping[str, object]) -> BanditSettings:
        """Return these settings with some changed."""
        for name in changes:
            if name not in CHANGEABLE:
                expected = f"one of {', '.join(CHANGEABLE)}"
                why = "is never changed" if name in SETTINGS else "is unknown"
                raise BadSettings(f"setting {quoted(name)} {why}", value=changes[name], expected=expected)
        changed = dict(changes)
        sigma = changed.get("sigma")
        if isinstance(sigma, numbers.Real) and not isinstance(sigma, bool):
            changed |= {"sigma": None, "policy": _with_sigma(changed.get("policy", self.policy), sigma)}
        return dataclasses.replace(self, **changed)  # type: ignore[arg-type]

    def differences(self, other: BanditSettings) -> dict[str, object]:
        """Return, as plain data, the settings of `other` that are not the same here."""
        mine = self.to_dict()
        return {name: value for name, value in other.to_dict().items() if value != mine[name]}

    def with_differences(self, content: Mapping[str, object]) -> BanditSettings:
        """Return these settings with what `differences` returned."""
        return BanditSettings.from_dict({**self.to_dict(), **content})

    # Plain data.

    def to_dict(self) -> dict[str, object]:
        """Return plain data for the database."""
        return {
            **{name: getattr(self, name) for name in SETTINGS},
            "policy": repr(self.policy),
            "reward_range": None if self.reward_range is None else list(self.reward_range),
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

    @classmethod
    def check_names(cls, given: Iterable[str]) -> None:
        """Refuse what is not the name of a setting, as Python refuses an argument that a function does not have."""
        for name in given:
            if name not in SETTINGS:
                raise TypeError(f"got an unexpected keyword argument {name!r}; settings are {', '.join(SETTINGS)}")

    def check_same(self, bandit: str, given: Mapping[str, object]) -> None:
        """Refuse settings that differ from these, which a bandit has."""
        wanted = dict(given)
        if self.reward_range is None and wanted.get("reward_range") == ANY:  # made before that could be said
            del wanted["reward_range"]
        try:
            differing = list(self.differences(dataclasses.replace(self, **wanted)))  # type: ignore[arg-type]
        except BadValue:
            differing = [setting for setting, value in wanted.items() if value != getattr(self, setting)]
        for setting in differing:
            mine, others = getattr(self, setting), [f"{{{other}}}" for other in differing if other != setting]
            also = f" (and so do {', '.join(others)})" if others else ""
            change = f"change it: bandit.change({setting}=...) or rotting bandit change"
            raise SettingsConflict(
                f"differs from {quoted(mine)}, which bandit {quoted(bandit)} has{also}",
                name=setting,
                value=wanted.get(setting),
                hint=f"leave {{{setting}}} out, or "
                + (change if setting in CHANGEABLE else "make a bandit of another name"),
            )


def _with_sigma(policy: object, sigma: object) -> Policy:
    policy = _good_policy("policy", policy)
    _check_sigma(policy, sigma)
    with as_bad_settings():
        return dataclasses.replace(policy, sigma=sigma)  # type: ignore[call-arg]


def _check_sigma(policy: Policy, sigma: object) -> None:
    if "sigma" not in {field.name for field in dataclasses.fields(policy)}:
        raise BadSettings(
            f"does not go with {quoted(policy)}, which has no parameter sigma",
            name="sigma",
            value=sigma,
            hint="leave {sigma} out",
        )


def _good_range(name: str, given: object) -> tuple[float, float]:
    if given == ANY:
        return EVERYTHING
    try:
        low, high = given  # type: ignore[misc]
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    bounds = good_reward(low, name), good_reward(high, name)
    if not bounds[0] < bounds[1]:
        raise BadSettings(
            "is not a range", name=name, value=given, expected="two finite numbers, (low, high) with low < high"
        )
    return bounds


def _good_limit(name: str, given: object) -> Limit:
    if isinstance(given, Mapping):
        return {good_name("arm", arm): whole_number(name, number, 0) for arm, number in given.items()}
    return whole_number(name, given, 0)


def _one_of(name: str, given: object, known: Sequence[str], expected: str = "") -> object:
    if given not in known:
        raise BadSettings(name=name, value=given, expected=" or ".join(map(repr, known)) + expected)
    return given


def limit_of(limit: Limit, arm: str) -> int | None:
    """Return the limit of an arm, None if it has none."""
    return limit.get(arm) if isinstance(limit, Mapping) else limit


def _good_policy(name: str, policy: object) -> Policy:
    if not isinstance(policy, Policy):
        raise BadSettings("is not a policy", name=name, value=policy, expected="for example EffFEWA(sigma=0.5)")
    try:
        same = parse_policy(repr(policy)) == policy
        policy.initial_state(2), policy.initial_state(3)
    except (TypeError, ValueError) as error:
        raise BadSettings(
            f"cannot be used for a bandit, whose arms may change: {literal(str(error))}", name=name, value=policy
        ) from None
    if not same:
        raise BadSettings(
            "cannot be kept in a database: its text, read back, is another policy", name=name, value=policy
        )
    return policy


_CHECKS: dict[Kind, Callable[[str, Any], object]] = {
    "policy": _good_policy,
    "sigma": partial(_one_of, known=("auto",), expected=", or a policy with the sigma you know"),
    "share": partial(finite_number, minimum=0.0, maximum=1.0),
    "moment": partial(_one_of, known=MOMENTS),
    "seconds": partial(finite_number, minimum=0.0),
    "period": partial(finite_number, minimum=SHORTEST_PERIOD),
    "reward": lambda name, given: good_reward(given, name),
    "seed": lambda name, given: checked_seed(given),
    "range": _good_range,
    "arm": lambda name, given: good_name("arm", given),
    "limit": _good_limit,
    "experiment": good_experiment,
}
# Settings that mean nothing without one of others.
_NEEDED = {
    "default_reward": ("reward_wait",),
    "control": ("holdout",),
    "exposure_period": ("min_exposures", "max_exposures"),
}


Method = TypeVar("Method", bound=Callable[..., Any])


def explains_settings(method: Method) -> Method:
    """Let the docstring and the signature of a method that takes `**settings` say which there are."""
    lines = [f"            - `{name}`: {setting.meaning}" for name, setting in SETTINGS.items() if name != "policy"]
    assert method.__doc__ is not None
    method.__doc__ = method.__doc__.rstrip() + "\n\n" + "\n".join(lines) + "\n"
    return method
