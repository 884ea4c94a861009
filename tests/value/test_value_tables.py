"""The page says what was measured."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_holds_what_was_measured():
    command = [sys.executable, ROOT / "benchmarks" / "value_tables.py"]
    written = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    page = (ROOT / "docs" / "value.md").read_text().splitlines()
    assert len(written) > 20
    assert set(written) <= set(page)
