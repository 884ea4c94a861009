"""Tiers of exact FEWA's proofs save time and decide nothing: without any of them, every decision is the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TIERS = ["SHORT_SUMS", "ROWS", "BANDS", "PAIRS"]


def decisions(folder: Path, *off: str) -> dict[str, str]:
    """Return a digest of the decisions of each game, played where nothing has been compiled with these tiers."""
    script = Path(__file__).with_name("without_tiers.py")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, str(script), *off]
    said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(said)


@pytest.fixture(scope="module")
def literally(tmp_path_factory):
    """Return what the rule alone decides: every window of every round is filtered."""
    return decisions(tmp_path_factory.mktemp("rule"), *TIERS)


@pytest.mark.parametrize("off", [[], *([tier] for tier in TIERS), TIERS[2:]], ids=lambda off: " ".join(off) or "none")
def test_decisions_are_the_same_without_a_tier(off, literally, tmp_path):
    assert len(set(literally.values())) == len(literally)
    assert decisions(tmp_path, *off) == literally
