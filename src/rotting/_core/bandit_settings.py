"""The settings of a bandit, one list: Python's checks, the command's options, the service's bodies and docs follow it.

It imports nothing slow, for which `rotting --help` would wait. `rotting.bandit.core.settings` has types and checks.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal[
    "policy", "sigma", "share", "moment", "seconds", "period", "reward", "seed", "range", "arm", "limit", "experiment"
]

DEFAULT_POLICY = "EffFEWA(sigma=0.5)"  # of the command and the service; Python asks for one
MOMENTS = ("decided", "shown")  # when an exposure counts as a pull
SHORTEST_PERIOD = 1.0  # seconds


class Setting(NamedTuple):
    """What a setting is: of which kind, its default (None: it may be empty), its meaning as a sentence."""

    kind: Kind
    default: object
    meaning: str
    is_fixed: bool = False  # is it never changed once the bandit is made?


SETTINGS: dict[str, Setting] = {
    "policy": Setting("policy", None, "How to decide: any policy of the package, or one of your own."),
    "sigma": Setting(
        "sigma",
        None,
        "`auto`: estimate the policy's `sigma` from the rewards. A change may also give a number.",
    ),
    "epsilon": Setting("share", 0.0, "Exploration floor: with this probability any available arm is chosen."),
    "count": Setting("moment", "decided", "When an exposure counts as a pull: once `decided`, or once `shown`.", True),
    "reward_wait": Setting("seconds", None, "Seconds after which a missing reward is no longer waited for."),
    "default_reward": Setting("reward", None, "The reward of a decision whose wait is over. Without it, none."),
    "seed": Setting("seed", 0, "Of all random choices.", True),
    "reward_range": Setting("range", None, "Bounds of rewards, low and high; others are refused. `any`: no bounds."),
    "holdout": Setting("share", 0.0, "Share of decisions that the policy does not take, to measure what it earns."),
    "control": Setting("arm", None, "The arm that the holdout shows. Without it, any available arm, each as likely."),
    "min_exposures": Setting(
        "limit", 0, "Decisions below which an arm comes before the policy's choice: for all arms, or for each of some."
    ),
    "max_exposures": Setting("limit", None, "Decisions after which an arm is no longer chosen, given in the same way."),
    "exposure_period": Setting(
        "period", None, "Seconds after which both counts begin again, at multiples of it since 1970."
    ),
    "experiment": Setting(
        "experiment",
        None,
        "Until the time `until`, a `share` of decisions (all) shows any of some `arms` (all), each as likely; those in "
        "`rest` are not shown until `rest_until`. It ends by itself.",
    ),
}
CHANGEABLE = tuple(name for name, setting in SETTINGS.items() if not setting.is_fixed)


def may_be_empty(name: str) -> bool:
    """Say whether a setting can be switched off."""
    return name != "policy" and SETTINGS[name].default is None
