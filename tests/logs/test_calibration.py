"""A small version of benchmarks/diagnose.py, whose full results are committed beside it."""

import importlib.util
import json
from pathlib import Path

import pytest

from rotting.logs import gain

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "diagnose.py"


@pytest.fixture(scope="module")
def script():
    specification = importlib.util.spec_from_file_location("benchmarks_diagnose", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_few_false_alarms(script):
    """Of 6 logs without wear-out, more than 2 with a false alarm have probability 0.002."""
    assert script.calibration(6)["logs_with_a_call"] <= 2 / 6


def test_wear_out_is_seen_and_timed(script):
    """15 arms: fewer than 10 calls have probability 0.01 at a power of 85 %."""
    found = script.power(3)
    assert found["power"] >= 10 / 15
    assert found["half_life_median_error"] < 0.5


def test_drivers_are_told_apart(script):
    found = script.driver(2)["12 arms, 5000 exposures"]
    assert found["told_apart"] >= 0.5


def test_gains_are_of_the_right_size(script, monkeypatch):
    monkeypatch.setattr(gain, "REFITS", 10)
    for found in script.gain(1)["policies"].values():
        for own in (found["held, arms held beyond the log"], found["pessimistic, arms falling beyond the log"]):
            assert abs(own["mean_estimate"] - own["mean_truth"]) < 2 * own["mean_width"]


def test_committed_results_meet_the_bars():
    results = json.loads(SCRIPT.with_suffix(".json").read_text())
    assert results["calibration"]["share_called"] <= 0.05
    assert results["power"]["power"] >= 0.90
    assert results["power"]["half_life_median_error"] <= 0.20
    assert all(results["driver"][size]["told_apart"] >= 0.90 for size in results["driver"] if size != "logs_each")
    for found in results["gain"]["policies"].values():
        # The interval gives one half to arms that go on falling beyond the log and one to arms that keep their value.
        assert 0.80 <= found["gain, one truth or the other"]["coverage"] <= 0.97
    assert results["rows"]["seconds"] < 90
    assert results["rows"]["peak_megabytes"] < 2000
