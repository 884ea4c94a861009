"""What a release needs: one version, told alike everywhere, and a trial of every extra."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path

import pytest

import rotting

ROOT = Path(__file__).parents[1]


def test_the_version_is_told_alike_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project  # it is read from the package
    citation = (ROOT / "CITATION.cff").read_text()
    [(cited, released)] = re.findall(r"^version: (\S+).*\ndate-released: (\S+)$", citation, re.MULTILINE)
    headings = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    assert headings[1] == (rotting.__version__, released) == (cited, released)


def loaded(name):
    """Return a tool as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_extra_for_users_is_tried():
    trials = loaded("release_check").TRIALS
    assert {file.stem for file in (ROOT / "tools" / "trials").glob("*.py")} == set(trials)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    tried = {extra for listed in trials.values() for extra in listed.split(",") if extra}
    assert extras.keys() - tried == {"test", "lint", "docs", "release", "bench"}


def test_the_lowest_versions_are_those_of_the_project():
    lowest = loaded("lowest")
    assert lowest.lowest("psycopg[binary]>=3.2,<4") == "psycopg[binary]==3.2"
    listed = lowest.requirements()
    assert {line.partition("==")[0] for line in listed} >= {"numpy", "zarr", "duckdb", "uvicorn[standard]"}
    assert not any(line.startswith("rotting") for line in listed)


def numbers(version):
    """Return a version's release as numbers: those of 0.3.0 for "0.3.0.dev1"."""
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


@pytest.mark.parametrize("name", ["results", "gpu", "diagnose", "evaluate"])
def test_benchmarks_are_not_older_than_the_release(name):
    """Before a release: `make bench`, `make test-gpu`, `python benchmarks/diagnose.py` and `evaluate.py`."""
    measured = json.loads((ROOT / "benchmarks" / f"{name}.json").read_text())
    assert numbers(measured["version"]) >= numbers(rotting.__version__)
    assert measured.get("machine") or name == "diagnose"  # which counts right answers, and takes no times


def test_every_benchmark_file_is_asked_for_its_version():
    assert {file.stem for file in (ROOT / "benchmarks").glob("*.json")} == {"results", "gpu", "diagnose", "evaluate"}
