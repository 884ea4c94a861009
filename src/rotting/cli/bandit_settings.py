"""`rotting bandit init` and `change`: the settings of a bandit, as options."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from rotting._core.bandit_settings import CHANGEABLE, DEFAULT_POLICY, SETTINGS, Kind, may_be_empty
from rotting.cli.bandit import Name, Url, opened
from rotting.cli.options import InputError, with_options

NONE = "none"  # how an option that may be empty is emptied

_METAVARS: dict[Kind, str] = {
    "policy": "POLICY",
    "sigma": "SIGMA",
    "share": "SHARE",
    "moment": "MOMENT",
    "seconds": "SECONDS",
    "period": "SECONDS",
    "reward": "NUMBER",
    "seed": "N",
    "range": "LOW:HIGH",
    "arm": "ARM",
    "limit": "[ARM=]N",
    "experiment": "JSON",
}


def _option(name: str) -> object:
    """Return the option of a setting: a text, or several of them, that `_read` understands."""
    setting = SETTINGS[name]
    empty = f" Or {NONE}." if may_be_empty(name) else ""
    option = typer.Option(help=setting.meaning.replace("`", "") + empty, metavar=_METAVARS[setting.kind])
    return Annotated[list[str] | None, option] if setting.kind == "limit" else Annotated[str | None, option]


def _with_settings(names: Iterable[str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return what gives a command an option for each setting; it gets those that were given, as a mapping."""
    options = {name: _option(name) for name in names}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(*arguments: object, **named: Any) -> None:
            texts = {name: named.pop(name, None) for name in options}
            given = {name: _read(name, text) for name, text in texts.items() if text not in (None, [])}
            command(*arguments, **named, settings=given)

        return with_options(run, command, options, replaced="settings")

    return decorate


@_with_settings(SETTINGS)
def init(
    url: Url,
    name: Name,
    settings: Mapping[str, object],
    arms: Annotated[
        list[str] | None,
        typer.Option("--arm", help="An arm to begin with; give one per arm.", show_default="those of --warm-start"),
    ] = None,
    update_arms: Annotated[bool, typer.Option("--update-arms", help="Add the arms that it does not have.")] = False,
    warm_start: Annotated[
        str | None,
        typer.Option(help="A log with a row per exposure: begin with its rewards, as events of the bandit's own log."),
    ] = None,
) -> None:
    """Make a bandit; doing it again with the same settings changes nothing, and `change` changes them."""
    from rotting.bandit import Bandit
    from rotting.policies import parse_policy

    if not arms and warm_start is None:
        raise InputError("--arm is missing; expected one for each arm, or {warm_start} with a log that names them")
    made: Any = {"policy": parse_policy(DEFAULT_POLICY), **settings}
    with Bandit.open(url, name, arms=arms or None, update_arms=update_arms, warm_start=warm_start, **made) as bandit:
        known = sum(arm.imported for arm in bandit.report().arms)
        begun = f" It knows {known:,} rewards of other origin." if known else ""
        typer.echo(f"Bandit {name!r} with {len(bandit.arms)} arms decides with {bandit.policy}.{begun}")


@_with_settings(CHANGEABLE)
def change(
    url: Url,
    name: Annotated[str, typer.Argument(help="The name of the bandit, or a template of segments: then all of them.")],
    settings: Mapping[str, Any],
) -> None:
    """Change settings of a running bandit: an event of its log, from which on it decides with the new ones."""
    if not settings:
        raise InputError("nothing to change", expected="at least one option")
    if "{" in name:
        from rotting.bandit import Segments

        with Segments.open(url, name) as segments:
            typer.echo(f"Changed {segments.change(**settings)} of {len(segments.names())} segments.")
        return
    with opened(url, name) as bandit:
        changed = bandit.change(**settings)
    typer.echo(f"Changed {', '.join(changed)}." if changed else "It is so already.")


# What options are given as.


def _read(name: str, text: str | list[str]) -> object:
    """Return the setting that an option was given for; None if it is to be empty."""
    return None if text in (NONE, [NONE]) else _READERS[SETTINGS[name].kind](name, text)


def _policy(name: str, text: str) -> object:
    from rotting.policies import parse_policy

    return parse_policy(text)


def _text(name: str, text: str) -> str:
    return text


def _sigma(name: str, text: str) -> object:
    return text if text == "auto" else _number(name, text)


def _range(name: str, text: str) -> object:
    if text == "any":
        return text
    low, colon, high = text.partition(":")
    if not colon:
        raise InputError(name=name, value=text, expected="LOW:HIGH, such as 0:1, or any")
    return _number(name, low), _number(name, high)


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


def _mapping(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        expected = """JSON, such as '{"until": "2026-02-01", "share": 0.2}'"""
        raise InputError(name=name, value=text, expected=expected) from None


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


_READERS: dict[Kind, Callable[[str, Any], object]] = {
    "policy": _policy,
    "sigma": _sigma,
    "share": _number,
    "moment": _text,
    "seconds": _number,
    "period": _number,
    "reward": _number,
    "seed": _whole,
    "range": _range,
    "arm": _text,
    "limit": _limit,
    "experiment": _mapping,
}
