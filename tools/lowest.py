"""Prints the lowest versions that pyproject.toml allows, as requirements: `make test-lowest` installs and tests them.

>>> lowest("numpy>=2.0")
'numpy==2.0'
>>> lowest("psycopg[binary]>=3.2")
'psycopg[binary]==3.2'
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = {"test"}  # needed to run the tests, at any version that is allowed
# A GPU; what the tests do without; and river, which itself asks for a newer NumPy and SciPy than the package does.
NOT_HERE = {"cuda", "bench", "docs", "lint", "release", "river"}


def lowest(requirement: str) -> str:
    """Return a requirement of exactly the lowest version that another allows."""
    return re.sub(r">=([\d.]+).*", r"==\1", requirement)


def requirements() -> list[str]:
    """Return those of the package and of its extras, and what the tests need."""
    extras = PROJECT["optional-dependencies"]
    listed = {lowest(line) for line in PROJECT["dependencies"]}
    for name in extras.keys() - NOT_HERE:
        listed |= {line if name in TOOLS else lowest(line) for line in extras[name]}
    tools = (ROOT / "requirements.in").read_text(encoding="utf-8").splitlines()  # some tests build the wheel
    return sorted(line for line in (*listed, *tools) if not line.startswith(("rotting[", "#")))


if __name__ == "__main__":
    print("\n".join(requirements()))
