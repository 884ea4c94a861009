"""A small version of benchmarks/diagnose.py, whose full results are committed beside it."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from rotting.logs import gain

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "diagnose.py"


@pytest.fixture(scope="module")
def script():
    before = list(sys.path)
    specification = importlib.util.spec_from_file_location("benchmarks_diagnose", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    yield module
    sys.path[:] = before


def test_few_false_alarms(script):
    """Of 4 logs without wear-out, more than 1 with a false alarm has probability 0.014 at 5 %."""
    assert script.calibration(4)["logs_with_a_call"] <= 1 / 4


def test_wear_out_is_seen(script):
    """15 arms: fewer than 6 calls have probability 0.01 at a power of 70 %."""
    assert script.power(3)["power"] >= 6 / 15


def test_gains_are_of_the_right_size(script, monkeypatch):
    monkeypatch.setattr(gain, "PLAYED_DRAWS", 10)
    found = script.gain_of("exponential", 1, arms=4, exposures=800)
    assert abs(found["median_promise"] - found["median_truth"]) < 40


def test_committed_results_are_what_the_docs_say():
    """Pooled over rows: with few logs per row, one chance call in a row means nothing."""
    results = json.loads(SCRIPT.with_suffix(".json").read_text())
    names = [generator.__name__ for generator in log_generators().NOTHING_WEARS]
    rows = [results["table"][name] for name in names]
    assert sum(row["arms_called"] for row in rows) / len(rows) <= 0.05
    assert sum(row["logs_with_a_call"] for row in rows) / len(rows) <= 0.08
    # No method can be better than the oracle that knows all arms to be alike; ours must beat one that does not.
    assert results["power"]["power"] >= results["oracle"]["power"]["levels_unknown"]


def log_generators():
    specification = importlib.util.spec_from_file_location("log_generators", SCRIPT.with_name("log_generators.py"))
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
