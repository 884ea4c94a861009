"""Teams come to the decisions that one thread comes to, whoever compares which windows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rotting.policies import POLICIES

TEAMS = {"FEWA()": 7, "FEWA(alpha=5.0)": 4, "RAWUCB()": 4, "RAWUCBPlus()": 2, "RAWUCBPlus(beta=2.0)": 3}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return the decisions of one thread and of each of a team, by policy."""
    file = tmp_path_factory.mktemp("team") / "decisions.json"
    script = Path(__file__).with_name("team_of_threads.py")
    asked = [f"{label}={arms}" for label, arms in TEAMS.items()]
    subprocess.run(
        [sys.executable, str(script), str(file), *asked], env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, check=True
    )
    return json.loads(file.read_text())


@pytest.mark.parametrize("label", TEAMS)
def test_a_team_decides_as_one_thread_does(played, label):
    found = played[label]
    assert len(set(found["alone"])) > 1
    for decisions in found["together"]:
        assert decisions == found["alone"]
    assert found["meetings"] > 100


def test_every_policy_that_plays_in_teams_is_tried():
    declared = {name for name, kind in POLICIES.items() if kind.in_teams}
    assert declared == {label.partition("(")[0] for label in TEAMS}
