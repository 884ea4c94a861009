"""A SQLite bandit needs nothing but the package itself; only PostgreSQL needs a driver."""

import subprocess
import sys

BLOCK = "import sys\nfor name in ('sqlalchemy', 'psycopg'): sys.modules[name] = None\n"


def run(code, *arguments):
    done = subprocess.run([sys.executable, "-c", BLOCK + code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_sqlite_bandit_needs_no_driver(sqlite):
    code = (
        "from rotting import Bandit, EffFEWA\n"
        "with Bandit.open(sys.argv[1], 'hero', EffFEWA(), ['red']) as bandit:\n"
        "    print(bandit.reward(bandit.decide().id, 1.0), bandit.verify().rewards)"
    )
    assert run(code, sqlite) == "True 1"


def test_postgresql_without_its_driver():
    code = (
        "from rotting import Bandit, EffFEWA\n"
        "from rotting.errors import MissingExtra\n"
        "try: Bandit.open('postgresql://host/database', 'hero', EffFEWA(), ['red'])\n"
        "except MissingExtra as error: print(error.hint)"
    )
    assert run(code) == "pip install 'rotting[sql]'"
