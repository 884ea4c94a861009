"""The description of the API is true: Schemathesis derives requests from it, good, bad and one after the other."""

import json
import subprocess
import sys

import pytest

from rotting import Bandit
from serving import bearer, client, make_bandit, make_key, serving, sqlite

# Which policies and combinations of settings make sense is known to the library, not to a schema.
CONFIGURATION = """
[[operations]]
include-path = "/v1/bandits/{bandit}"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-path = "/v1/bandits/{bandit}/arms"
checks.positive_data_acceptance.enabled = false

# Probabilities are filled in for all of the log, so with a format only.
[[operations]]
include-path = "/v1/bandits/{bandit}/events"
checks.positive_data_acceptance.enabled = false

# An invalid event is refused in its own result, and the reply is 200 for the sake of the others.
[[operations]]
include-path = "/v1/events"
checks.negative_data_rejection.enabled = false
"""


def attack(url, folder, examples, seed=1):
    """Let Schemathesis loose on a server; returns what it says if it finds anything."""
    make_bandit(url)
    key = make_key(url, "admin")
    (folder / "schemathesis.toml").write_text(CONFIGURATION)
    with serving(url, rate_limit=0.0) as opened:
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(folder / "schemathesis.toml")]
        command += [
            "run",
            f"{opened.base_url}/openapi.json",
            "--header",
            f"Authorization: {bearer(key)['Authorization']}",
        ]
        command += ["--max-examples", str(examples), "--seed", str(seed), "--no-color"]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        assert opened.get("/livez").status_code == 200
        metrics = opened.get("/metrics", headers=bearer(key)).text
    assert 'status="500"' not in metrics
    assert 'status="503"' not in metrics
    with Bandit.open(url, "hero") as bandit:
        bandit.verify()
    return "" if ended.returncode == 0 else ended.stdout + ended.stderr


def test_schemathesis_finds_nothing(sqlite, tmp_path):
    assert attack(sqlite, tmp_path, examples=5) == ""


@pytest.mark.soak
def test_schemathesis_finds_nothing_for_long(sqlite, tmp_path):
    assert attack(sqlite, tmp_path, examples=700) == ""


def test_the_reference_describes_every_operation_and_every_problem(client):
    document, page = client.get("/openapi.json").json(), client.get("/reference").text
    for path, operations in document["paths"].items():
        assert path in page
        for operation in operations.values():
            assert f'id="{operation["operationId"]}"' in page
    for problem in ("UnknownArm", "RewardConflict", "StorageError", "TooLarge", "NotAllowed", "KeyConflict"):
        assert f'id="{problem}"' in page
    assert "http" not in page.replace("http://127.0.0.1:8000", "").replace("HTTP", "")  # needs no network


def test_nothing_is_described_that_is_not_checked(client):
    """A field that the description has is known to the check: the description is made of the same classes."""
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["Decide"]["additionalProperties"] is False
    n = {"type": "number", "multipleOf": 1, "minimum": 1, "maximum": 1000, "default": 1}
    assert schemas["Decide"]["properties"]["n"] == n
    assert json.dumps(schemas).count("$ref") > 5
