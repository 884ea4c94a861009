"""Servers for the tests of the service: real ones, on a port of their own; and fixtures, which tests import."""

import asyncio
import contextlib
import socket
import threading
import time

import httpx
import pytest

from bandit.conftest import postgres, postgres_server, sqlite  # noqa: F401 - fixtures, too
from rotting import Bandit, EffFEWA
from rotting.bandit.store.addresses import open_store
from rotting.serve import keys, running
from rotting.serve.app import Application
from rotting.serve.service import Options
from rotting.serve.writer import Writer

ARMS = ["red", "green", "blue"]


@contextlib.contextmanager
def serving(url, **options):
    """Yield a client of a server that runs in a thread of this process."""
    started = threading.Event()
    service = Writer(Options(url=url, **options))
    loops = []

    def note_loop():
        loops.append(asyncio.get_running_loop())
        started.set()

    server = running.make_server(Application(service, note_loop))
    with running.listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not started.wait(1.0):
                assert thread.is_alive(), "the server did not start"
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with httpx.Client(base_url=address, timeout=30.0) as client:
                client.service = service
                client.wait_for = lambda work: asyncio.run_coroutine_threadsafe(work, loops[0]).result()
                yield client
        finally:
            server.should_exit = True
            thread.join()


def make_bandit(url, name="hero", **settings):
    Bandit.open(url, name, EffFEWA(sigma=0.5), ARMS, **settings).close()


def make_key(url, role, bandit=None):
    store = open_store(url)
    with store.lock:
        store.prepare()
    key = keys.add_key(store, role, bandit)
    store.close()
    return key


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def wait_until(condition, seconds=60.0):
    """Wait until a condition holds, which is asked for twenty times a second."""
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        pause.wait(0.05)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def client(sqlite):  # noqa: F811
    """Return a client of a server without keys that has one bandit."""
    make_bandit(sqlite)
    with serving(sqlite) as opened:
        yield opened
