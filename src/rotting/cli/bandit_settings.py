"""`rotting bandit init` and `change`: the settings of a bandit, as options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from rotting.cli.bandit import Name, Url, opened
from rotting.cli.options import InputError, whole_option

NONE = "none"  # how an option that may be empty is emptied

# Options of both commands, as texts: `_settings` reads them. What they mean is in docs/production.md.
Sigma = Annotated[str | None, typer.Option(help="Of the policy: a number, auto, or none: its own.")]
Epsilon = Annotated[str | None, typer.Option(help="Exploration floor, 0 to 1.", metavar="NUMBER")]
RewardWait = Annotated[str | None, typer.Option(help="Seconds to wait for a reward, or none.")]
DefaultReward = Annotated[str | None, typer.Option(help="What a missing reward is, or none.")]
RewardRange = Annotated[str | None, typer.Option(help="Bounds of rewards, as LOW:HIGH, or none.")]
Holdout = Annotated[str | None, typer.Option(help="Share of decisions that the policy does not take.")]
Control = Annotated[str | None, typer.Option(help="The arm that the holdout shows, or none: any.")]
MinExposures = Annotated[
    list[str] | None, typer.Option(help="Of every arm (N) or of one (ARM=N); may be given several times.")
]
MaxExposures = Annotated[list[str] | None, typer.Option(help="The same for caps, or none.")]
ExposurePeriod = Annotated[str | None, typer.Option(help="Seconds after which both begin again, or none.")]


def init(
    url: Url,
    name: Name,
    arms: Annotated[
        list[str] | None,
        typer.Option("--arm", help="An arm to begin with; give one per arm.", show_default="those of --warm-start"),
    ] = None,
    policy: Annotated[str, typer.Option(help="How to decide; see: rotting policies.")] = "EffFEWA(sigma=0.5)",
    sigma: Annotated[str | None, typer.Option(help='"auto": estimate the noise from the rewards.')] = None,
    epsilon: Epsilon = None,
    count: Annotated[str | None, typer.Option(help='An exposure counts once "decided" or "shown".')] = None,
    reward_wait: RewardWait = None,
    default_reward: DefaultReward = None,
    seed: Annotated[int | None, typer.Option(**whole_option("--seed", 0), help="Of all random choices.")] = None,
    reward_range: RewardRange = None,
    holdout: Holdout = None,
    control: Control = None,
    min_exposures: MinExposures = None,
    max_exposures: MaxExposures = None,
    exposure_period: ExposurePeriod = None,
    update_arms: Annotated[bool, typer.Option("--update-arms", help="Add the arms that it does not have.")] = False,
    warm_start: Annotated[
        str | None,
        typer.Option(help="A log with a row per exposure: begin with its rewards, as events of the bandit's own log."),
    ] = None,
) -> None:
    """Make a bandit; doing it again with the same settings changes nothing, and `change` changes them."""
    from rotting.bandit import Bandit
    from rotting.policies import parse_policy

    given = {
        "epsilon": epsilon,
        "reward_wait": reward_wait,
        "default_reward": default_reward,
        "reward_range": reward_range,
        "holdout": holdout,
        "control": control,
        "min_exposures": min_exposures,
        "max_exposures": max_exposures,
        "exposure_period": exposure_period,
    }
    if not arms and warm_start is None:
        raise InputError("--arm is missing; expected one for each arm, or {warm_start} with a log that names them")
    made: Any = {"sigma": sigma, "count": count, "seed": seed, "warm_start": warm_start, **_settings(given)}
    with Bandit.open(url, name, parse_policy(policy), arms or None, update_arms=update_arms, **made) as bandit:
        known = sum(arm.imported for arm in bandit.report().arms)
        begun = f" It knows {known:,} rewards of other origin." if known else ""
        typer.echo(f"Bandit {name!r} with {len(bandit.arms)} arms decides with {bandit.policy}.{begun}")


def change(
    url: Url,
    name: Annotated[str, typer.Argument(help="The name of the bandit, or a template of segments: then all of them.")],
    policy: Annotated[str | None, typer.Option(help="How to decide; see: rotting policies.")] = None,
    sigma: Sigma = None,
    epsilon: Epsilon = None,
    reward_wait: RewardWait = None,
    default_reward: DefaultReward = None,
    reward_range: RewardRange = None,
    holdout: Holdout = None,
    control: Control = None,
    min_exposures: MinExposures = None,
    max_exposures: MaxExposures = None,
    exposure_period: ExposurePeriod = None,
) -> None:
    """Change settings of a running bandit: an event of its log, from which on it decides with the new ones."""
    from rotting.policies import parse_policy

    given = {
        "sigma": sigma,
        "epsilon": epsilon,
        "reward_wait": reward_wait,
        "default_reward": default_reward,
        "reward_range": reward_range,
        "holdout": holdout,
        "control": control,
        "min_exposures": min_exposures,
        "max_exposures": max_exposures,
        "exposure_period": exposure_period,
    }
    changes: Any = _settings(given) if policy is None else {"policy": parse_policy(policy), **_settings(given)}
    if not changes:
        raise InputError("nothing to change", expected="at least one option")
    if "{" in name:
        from rotting.bandit import Segments

        with Segments.open(url, name) as segments:
            typer.echo(f"Changed {segments.change(**changes)} of {len(segments.names())} segments.")
        return
    with opened(url, name) as bandit:
        changed = bandit.change(**changes)
    typer.echo(f"Changed {', '.join(changed)}." if changed else "It is so already.")


# What options are given as.


def _settings(given: Mapping[str, str | list[str] | None]) -> dict[str, object]:
    """Return the settings that options were given for; None for those that are to be empty."""
    return {name: _read(name, text) for name, text in given.items() if text not in (None, [])}


def _read(name: str, text: str | list[str] | None) -> object:
    if text in (NONE, [NONE]):
        return None
    if isinstance(text, list):
        return _limit(name, text)
    assert text is not None
    if name == "reward_range":
        low, colon, high = text.partition(":")
        if not colon:
            raise InputError(name=name, value=text, expected="LOW:HIGH, such as 0:1")
        return _number(name, low), _number(name, high)
    return text if name == "control" or (name, text) == ("sigma", "auto") else _number(name, text)


def _limit(name: str, texts: list[str]) -> object:
    if len(texts) == 1 and "=" not in texts[0]:
        return _whole(name, texts[0])
    limits = {}
    for text in texts:
        arm, equals, limit = text.rpartition("=")
        if not equals:
            raise InputError(name=name, value=text, expected="ARM=N for each arm, or one N for all")
        limits[arm] = _whole(name, limit)
    return limits


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(name=name, value=text, expected="a number") from None


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(name=name, value=text, expected="a whole number") from None
