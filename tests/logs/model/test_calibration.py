"""A small version of benchmarks/diagnose.py, whose full results are committed beside it."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from scipy.stats import binom

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
PAGE = Path(__file__).parents[3] / "docs" / "logs.md"
# Shares of arms, and of logs, that may be called where nothing wears out.
MOST_ARMS, MOST_LOGS = 0.05, 0.08


def module(name):
    specification = importlib.util.spec_from_file_location(f"benchmarks_{name}", BENCHMARKS / f"{name}.py")
    found = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def script():
    before = list(sys.path)
    yield module("diagnose")
    sys.path[:] = before


@pytest.fixture(scope="module")
def results():
    return json.loads((BENCHMARKS / "diagnose.json").read_text())


def test_few_false_alarms(script):
    """Of 4 logs without wear-out, more than 1 with a false alarm has probability 0.014 at 5 %."""
    assert script.nulls(script.Plan(4, settings=("constant",)))["constant"]["logs_with_a_call"] <= 1


def test_wear_out_is_seen(script):
    """Arms of a log are mostly called together: fewer than 2 of 6 logs have probability 0.01 at a power of 70 %."""
    assert script.power(script.Plan(6, settings=("campaign",)))["campaign"]["logs_with_a_true_call"] >= 2


def test_gains_are_of_the_right_size(script):
    found = script.gains(script.Plan(1, settings=("exponential",)))["exponential"]
    assert abs(found["median_promise"] - found["median_truth"]) < 40


def rows_where_nothing_wears(results):
    tables = module("log_tables")
    rows = [results[part][name] for part, names in tables.NOTHING_WEARS.items() for name in names]
    return [(row["logs"], *tables.false_calls(row)) for row in rows]


def test_committed_false_alarms_are_within_the_bars(results):
    """All rows together keep the bars; no single row is above them by more than chance makes of its few logs."""
    rows = rows_where_nothing_wears(results)
    logs = sum(count for count, _, _ in rows)
    assert sum(count * arms for count, arms, _ in rows) / logs <= MOST_ARMS
    assert sum(count * called for count, _, called in rows) / logs <= MOST_LOGS
    for count, _, called in rows:
        assert binom.sf(round(count * called) - 1, count, MOST_LOGS) > 0.05


def test_logs_that_cannot_tell_say_so(results):
    for name in ("site_trend_together", "site_trend"):
        assert results["table"][name]["logs_that_say_it_may_be_the_calendar"] >= 0.9


def test_the_committed_power_is_what_can_be_had(results):
    """The page says why it is no more: a test must allow for levels that differ, and knows them no better than ours."""
    oracle = results["oracle"]["power"]
    assert results["power"]["power"] >= oracle["levels_unknown"]
    assert oracle["levels_differ"] < 0.93


def test_the_page_says_what_was_measured(results):
    page = PAGE.read_text()
    missing = [line for line in module("log_tables").lines(results) if line not in page]
    assert missing == []
