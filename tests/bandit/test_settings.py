"""Settings are defined once: whatever lists them lists the same."""

import dataclasses
import inspect
import warnings
from pathlib import Path

import pytest

from rotting import Bandit, EffFEWA
from rotting._core.bandit_settings import CHANGEABLE, SETTINGS, may_be_empty
from rotting.bandit import Segments, UnboundedRewards
from rotting.bandit.core.settings import BanditSettings, SettingsChange
from rotting.cli.bandit_settings import change, init
from rotting.serve import requests as bodies


def test_types_are_those_of_the_list():
    fields = {field.name: field.default for field in dataclasses.fields(BanditSettings)}
    assert fields.pop("policy") is dataclasses.MISSING
    assert fields == {name: setting.default for name, setting in SETTINGS.items() if name != "policy"}
    assert set(SettingsChange.__annotations__) == set(SETTINGS)


def test_docs_have_the_list():
    page = Path(__file__).parents[2].joinpath("docs/production.md").read_text()
    for name, setting in SETTINGS.items():
        default = "" if setting.default is None else f"`{setting.default}`"
        assert f"| `{name}` | {default} | {setting.meaning} |" in page
        assert name == "policy" or f"`{name}`: {setting.meaning}" in Bandit.open.__doc__


def test_commands_and_bodies_take_all_of_them():
    def options(command):
        return [name for name in inspect.signature(command).parameters if name in SETTINGS]

    assert options(init) == list(SETTINGS)
    assert options(change) == list(CHANGEABLE)
    assert list(bodies.NewBandit.__struct_fields__) == ["arms", *SETTINGS]
    assert list(bodies.Settings.__struct_fields__) == list(CHANGEABLE)


def test_what_has_a_default_cannot_be_switched_off():
    assert [name for name in SETTINGS if may_be_empty(name)] == [
        *("sigma", "reward_wait", "default_reward", "reward_range", "control", "max_exposures", "exposure_period"),
        "experiment",
    ]


def test_a_setting_that_there_is_none_of_is_an_argument_too_many(sqlite):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'epsilom'; settings are policy, sigma"):
        Bandit.open(sqlite, "hero", epsilom=0.1)


def test_a_bandit_without_bounds_of_its_rewards_is_asked_about_when_it_is_made(sqlite):
    with pytest.warns(UnboundedRewards, match="1e100 included; give reward_range=") as caught:
        Bandit.open(sqlite, "unbounded", EffFEWA(), ["red", "green"]).close()
    assert [Path(each.filename).name for each in caught] == [Path(__file__).name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bandit.open(sqlite, "unbounded").close()  # it is asked about once
        Bandit.open(sqlite, "unbounded", reward_range="any").close()  # whoever says so now is right
        Bandit.open(sqlite, "bounded", EffFEWA(), ["red", "green"], reward_range=(0, 1)).close()
        with Bandit.open(sqlite, "any", EffFEWA(), ["red", "green"], reward_range="any") as bandit:
            assert bandit.reward(bandit.decide().id, 1e100)
            bandit.change(reward_range=(0, 1))
            bandit.change(reward_range="any")
            assert bandit.reward(bandit.decide().id, -1e100)
            bandit.verify()
        with Segments.open(sqlite, "page/{user}", EffFEWA(), ["red", "green"], reward_range="any") as segments:
            segments.decide(user=1)
