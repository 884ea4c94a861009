"""Without SQLAlchemy, everything but opening a bandit works."""

import subprocess
import sys

import pytest

BLOCK = "import sys\nsys.modules['sqlalchemy'] = None\nimport rotting\n"
OPEN = """
from rotting.errors import MissingExtra, RottingError
try:
    rotting.Bandit.open("sqlite:///x.db", "hero", rotting.EffFEWA(), ["red"])
except MissingExtra as error:
    print(error)
    assert isinstance(error, ImportError) and isinstance(error, RottingError)
    assert error.hint == "pip install 'rotting[sql]'"
"""


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("from rotting import *\nprint(sigma_for(0, 1))", "0.5"),
        ("print(hasattr(rotting, 'Bandit'), hasattr(rotting, 'sigma_for'))", "True True"),
        ("from rotting.bandit import *\nprint(issubclass(UnknownArm, BanditError))", "True"),
        ("print(rotting.bandit.sigma_for(0, 4))", "2.0"),
        (OPEN, "a Bandit keeps its log with SQLAlchemy, which is not installed; pip install 'rotting[sql]'"),
    ],
    ids=["star", "hasattr", "errors", "sigma_for", "open"],
)
def test_what_works(code, printed):
    done = subprocess.run([sys.executable, "-c", BLOCK + code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr


def test_postgresql_without_its_driver():
    code = (
        "import sys\nsys.modules['psycopg'] = None\nfrom rotting import Bandit, EffFEWA\n"
        "from rotting.errors import MissingExtra\n"
        "try: Bandit.open('postgresql://host/database', 'hero', EffFEWA(), ['red'])\n"
        "except MissingExtra as error: print(error.hint)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "pip install 'rotting[sql]'\n", done.stderr
