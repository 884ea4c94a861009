"""What stands beside the gains of a diagnosis."""

import pytest

from logs_with_probabilities import uniform_log
from rotting import Uniform
from rotting.logs import ReadOptions
from rotting.logs.read.reading import read_log
from rotting.value import beside


@pytest.fixture
def section(monkeypatch):
    """Return a function that gives what is said of a log, with one policy instead of five."""
    few = {"equal split": Uniform(), beside.ORACLE: None}
    monkeypatch.setattr(beside, "compared_policies", lambda *_: dict(few))

    def section(log):
        found = beside.beside(log, read_log(log), ReadOptions(), 0)
        return None if found is None else found.section()

    return section


def test_gains_come_from_probabilities_where_there_are_some(section):
    said = section(uniform_log(600))
    assert "without a model" in said
    assert "equal split" in said


def test_probabilities_that_tell_nothing_are_said_to(section):
    said = section(uniform_log(600).assign(propensity=1.0))
    assert "it tells nothing" in said


def test_without_probabilities_nothing_is_said(section):
    assert section(uniform_log(600).drop(columns="propensity")) is None
