"""What the service uses of uvicorn that uvicorn does not promise: `serve/protocol.py` limits heads with it.

uvicorn has an upper bound in pyproject.toml for this. Before it is raised, these tests and test_durability.py must pass
with the new version.
"""

import re
import tomllib
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

# What is overridden or called.
USED = "connection_made connection_lost data_received on_message_begin on_headers_complete on_body on_message_complete"


def test_what_is_used_of_uvicorn_is_there():
    assert [name for name in USED.split() if not callable(getattr(HttpToolsProtocol, name, None))] == []
    found = HttpToolsProtocol.__init__.__code__.co_names
    assert {"config", "cycle", "loop", "transport"} <= set(found)
    assert "response_complete" in RequestResponseCycle.__init__.__code__.co_names


def test_the_installed_uvicorn_is_within_what_was_tried():
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())["project"]
    [asked] = [each for each in project["optional-dependencies"]["serve"] if each.startswith("uvicorn")]
    lowest, bound = (tuple(map(int, each.split("."))) for each in re.findall(r"[\d.]+", asked))
    assert lowest <= tuple(map(int, uvicorn.__version__.split(".")[:2])) < bound
