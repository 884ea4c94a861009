"""Every client in docs/service.md is run against a real server, where its tool is there."""

import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from rotting import Bandit
from serving import make_bandit, make_key, serving, sqlite

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
CLIENTS = dict(re.findall(r"^```\w+ run=(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
# How each is run: the program, the name of its file, what is called, and whether it reports a reward.
RUNS = {
    "curl": ("bash", "client.sh", ["bash", "client.sh"], True),
    "python": (sys.executable, "client.py", [sys.executable, "client.py"], True),
    "openfeature": (sys.executable, "client.py", [sys.executable, "client.py"], False),
    "node": ("node", "client.mjs", ["node", "client.mjs"], True),
    "go": ("go", "client.go", ["go", "run", "client.go"], True),
}
WEB = """
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature } from "@openfeature/server-sdk";
const headers = [["Authorization", `Bearer ${process.env.ROTTING_KEY}`]];
await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: process.env.ROTTING_URL, headers }));
const found = await OpenFeature.getClient().getStringDetails("hero", "fallback", { targetingKey: "visitor 17" });
console.log(found.value, found.flagMetadata.decisionId);
const missing = await OpenFeature.getClient().getStringDetails("nobody", "fallback");
if (missing.errorCode !== "FLAG_NOT_FOUND" || !found.flagMetadata.decisionId) process.exit(1);
"""


def skip_loudly(reason):
    warnings.warn(f"A CLIENT IS NOT TESTED: {reason}", stacklevel=2)
    pytest.skip(reason)


def run(command, folder, address, key):
    environment = os.environ | {"ROTTING_URL": address, "ROTTING_KEY": key}
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_every_client_has_a_way_to_be_run():
    assert set(CLIENTS) == set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_client_of_the_docs(name, sqlite, tmp_path):
    program, file, command, rewards = RUNS[name]
    if shutil.which(program) is None or (name == "curl" and shutil.which("curl") is None):
        skip_loudly(f"there is no {program}")
    make_bandit(sqlite)
    key = make_key(sqlite, "client")
    (tmp_path / file).write_text(CLIENTS[name])
    with serving(sqlite) as client:
        run(command, tmp_path, str(client.base_url), key)
    with Bandit.open(sqlite, "hero") as bandit:
        found = bandit.verify()
    assert (found.decisions, found.rewards) == (1, int(rewards))


@pytest.mark.soak
def test_the_javascript_client_of_openfeature(sqlite, tmp_path):
    """Installs packages from npm's registry, which is why it is not run every time."""
    if shutil.which("npm") is None:
        skip_loudly("there is no npm")
    packages = ["@openfeature/server-sdk", "@openfeature/ofrep-provider", "@openfeature/ofrep-core"]
    installed = subprocess.run(
        ["npm", "install", "--silent", *packages], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if installed.returncode != 0:
        skip_loudly(f"npm cannot install OpenFeature's packages: {installed.stderr[:200]}")
    (tmp_path / "client.mjs").write_text(WEB)
    make_bandit(sqlite)
    key = make_key(sqlite, "client")
    with serving(sqlite) as client:
        assert "red" in run(["node", "client.mjs"], tmp_path, str(client.base_url), key)
