"""Databases for the tests: a SQLite file, and a PostgreSQL server that is started for them."""

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import pytest
import sqlalchemy

NO_SERVER = "PostgreSQL NOT TESTED: found no initdb and postgres on PATH or in /usr/lib/postgresql/*/bin"


def server_programs() -> tuple[str, str] | None:
    folders = [*os.environ["PATH"].split(os.pathsep), *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
    path = os.pathsep.join(folders)
    initdb, postgres = shutil.which("initdb", path=path), shutil.which("postgres", path=path)
    return (initdb, postgres) if initdb and postgres else None


@contextlib.contextmanager
def running_server(initdb: str, postgres: str):
    """Yield the address of a server with an empty database, as safe as a real one: nothing about durability is off."""
    # The server refuses to be run by root.
    user = "nobody" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="rotting-postgres-"))
    if user:
        shutil.chown(folder, user)
    account = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    command = [initdb, "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, **account)
    with (folder / "log").open("w") as log:
        command = [postgres, "-D", data, "-k", folder, "-p", str(port), "-c", "listen_addresses=127.0.0.1"]
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **account)
    try:
        url = f"postgresql+psycopg://tester@127.0.0.1:{port}/postgres"
        wait_for(url, server, folder / "log")
        yield url
    finally:
        server.send_signal(signal.SIGQUIT)  # at once: nothing in it is needed any more
        server.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(url: str, server: subprocess.Popen, log: Path) -> None:
    engine = sqlalchemy.create_engine(url)
    for _ in range(300):
        assert server.poll() is None, log.read_text()
        with contextlib.suppress(sqlalchemy.exc.OperationalError):
            engine.connect().close()
            engine.dispose()
            return
        time.sleep(0.1)
    raise AssertionError(f"the server does not answer: {log.read_text()}")


@pytest.fixture(scope="session")
def postgres_server():
    programs = server_programs()
    if programs is None:
        warnings.warn(NO_SERVER, stacklevel=1)
        pytest.skip(NO_SERVER)
    with running_server(*programs) as url:
        yield url


_NUMBERS = itertools.count()


@pytest.fixture
def postgres(postgres_server):
    """Return the address of an empty schema: much quicker than a database of its own."""
    name = f"test{next(_NUMBERS)}"
    engine = sqlalchemy.create_engine(postgres_server)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return f"{postgres_server}?options=-csearch_path%3D{name}"


@pytest.fixture
def sqlite(tmp_path):
    """Return the address of a SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'bandits.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request):
    """Return the address of an empty database, of either kind."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def tamper():
    """Return a function that changes rows behind the bandit's back."""

    def change(url, *statements):
        engine = sqlalchemy.create_engine(url)
        with engine.begin() as connection:
            for statement in statements:
                assert connection.execute(statement).rowcount > 0
        engine.dispose()

    return change


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that stands still until it is set."""
    from bandit.tables import set_clock  # benchmarks import this module, and have a `bandit` of their own

    class Clock:
        now = 1_000_000.0

    set_clock(monkeypatch, lambda: Clock.now)
    return Clock
