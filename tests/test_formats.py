"""Files and databases that version 0.1 wrote are opened by this one, with the same content and the same decisions."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray

import rotting
from rotting import Agent, Bandit
from rotting.policies import parse_policy

DATA = Path(__file__).parent / "data" / "v0_1"
AGENTS = json.loads((DATA / "agents" / "expected.json").read_text())


@pytest.mark.parametrize("name", AGENTS)
def test_saved_agents_go_on_as_they_did(name):
    agent = Agent.load(DATA / "agents" / name)
    assert agent.policy == parse_policy(AGENTS[name]["policy"])
    for arm, reward in AGENTS[name]["then"]:
        assert agent.select() == arm
        agent.update(arm, reward)
    assert agent.pulls.tolist() == AGENTS[name]["pulls"]


@pytest.mark.parametrize(("name", "events"), [("hero", 310), ("mail", 334), ("dice", 301)])
@pytest.mark.parametrize("keep_snapshot", [True, False])
def test_bandits_are_opened_replayed_and_continued(tmp_path, name, events, keep_snapshot):
    import sqlite3

    shutil.copy(DATA / "bandits.db", tmp_path / "bandits.db")
    if not keep_snapshot:
        with sqlite3.connect(tmp_path / "bandits.db") as connection:
            connection.execute("DELETE FROM rotting_snapshots")
        connection.close()
    with Bandit.open(f"sqlite:///{tmp_path}/bandits.db", name) as bandit:
        assert list(bandit.arms) == ["red", "green", "blue", "gold"]
        assert bandit.verify().events == events
        choice = bandit.decide()
        assert bandit.reward(choice.id, 1.0)
        bandit.verify()


def test_a_sweep_is_read():
    expected = json.loads((DATA / "sweep.json").read_text())
    result = rotting.open_results(DATA / "sweep")
    assert dict(result.sizes) == expected["dims"]
    np.testing.assert_allclose(result.regret.values, np.array(expected["regret"], float), atol=1e-8)
    assert result.pulls.values.tolist() == expected["pulls"]


def test_results_of_the_paper_are_read_and_replaced(tmp_path):
    from rotting.cli import main

    shutil.copytree(DATA / "paper", tmp_path / "data")
    files = sorted((tmp_path / "data" / "appendix").glob("*.nc"))
    assert files
    old = {file.name: xarray.load_dataset(file, engine="scipy") for file in files}
    with pytest.raises(SystemExit) as ended:
        main(["paper", "--only", "appendix", "--runs", "2", "--out", str(tmp_path)])
    assert ended.value.code == 0
    for file in files:
        new = xarray.load_dataset(file, engine="scipy")
        np.testing.assert_allclose(new.regret.values, old[file.name].regret.values, atol=1e-8)
        assert (new.pulls.values == old[file.name].pulls.values).all()
