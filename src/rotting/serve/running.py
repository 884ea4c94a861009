"""Listening: uvicorn with our limits, one process or several, and what is said when it is ready."""

from __future__ import annotations

import contextlib
import json
import logging
import multiprocessing
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from urllib.parse import quote

import uvicorn

from rotting.bandit import Store, is_shared, open_store
from rotting.errors import BadValue, FileError
from rotting.serve.access import is_loopback
from rotting.serve.app import Application
from rotting.serve.keys import read_keys
from rotting.serve.protocol import PatientForAWhile
from rotting.serve.service import Options, Service

__all__ = ["check_listening", "check_workers", "is_loopback", "listen", "serve"]

KEEP_ALIVE = 75  # seconds that a connection may idle, longer than proxies' own limit
DRAIN_SECONDS = 30  # in which requests in progress must end after SIGTERM
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def _looking(url: str) -> Iterator[Store]:
    with contextlib.closing(open_store(url)) as store, store.lock:
        yield store


def check_listening(url: str, host: str) -> None:
    """Refuse to listen where others can connect while there are no keys."""
    with _looking(url) as store:
        if is_loopback(host) or not (store.is_missing() or not read_keys(store)):
            return
    hint = "make a key first: rotting serve keys add URL --role admin"
    raise BadValue("can be reached from elsewhere, and there are no keys", name="host", value=host, hint=hint)


def check_workers(url: str, workers: int) -> None:
    """Refuse several processes where they would only wait for each other."""
    if workers > 1 and not is_shared(url):
        problem = "does not go with a database in a file, which has one writer at a time"
        raise BadValue(problem, name="workers", value=workers, hint="use PostgreSQL for several processes")


def serve(options: Options, host: str, port: int, say: Callable[[str], None]) -> bool:
    """Serve until SIGTERM or SIGINT, then carry out what waits; False if the server could not start."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    with listen(host, port) as listening:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        if options.workers == 1:
            return run(options, listening, lambda: say(greeting(options, address)))
        say(greeting(options, address))
        _supervise(options, listening)
        return True


def run(options: Options, listening: socket.socket, started: Callable[[], None] = lambda: None) -> bool:
    """Serve in this process; False if it could not start."""
    for each in SIGNALS:  # uvicorn raises them again afterwards; an orderly end is a success
        signal.signal(each, lambda *_: None)
    server = make_server(Application(Service(options), started))
    server.run(sockets=[listening])
    return bool(server.started)


def _supervise(options: Options, listening: socket.socket) -> None:
    """Keep so many processes running until SIGTERM or SIGINT, and wait for them to carry out what waits."""
    context, stop = multiprocessing.get_context("spawn"), threading.Event()
    for each in SIGNALS:
        signal.signal(each, lambda *_: stop.set())
    processes: list[BaseProcess] = []
    while not stop.is_set():
        processes = [process for process in processes if process.is_alive()]
        while len(processes) < options.workers:
            processes.append(context.Process(target=run, args=(options, listening)))
            processes[-1].start()
        stop.wait(1.0)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens: the port is known before anything starts (0: any that is free)."""
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise FileError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from None
    listening.set_inheritable(True)
    return listening


def make_server(application: Application) -> uvicorn.Server:
    """Return a server that runs in any thread."""
    return uvicorn.Server(
        uvicorn.Config(
            application,
            access_log=False,  # a key in a mistyped address would be in it
            log_level="warning",
            http=PatientForAWhile,
            server_header=False,
            ws="none",
            lifespan="on",
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            proxy_headers=False,
        )
    )


def greeting(options: Options, address: str) -> str:
    """Return what to say when the server is ready: where it listens, and a command to try it that can be pasted."""
    with _looking(options.url) as store, store.reading():
        is_ready = store.condition() == "ready"
        names = sorted(row.name for row in store.bandits()) if is_ready else []
        needs_key = is_ready and bool(store.access_keys())
    address += options.prefix
    key = ' -H "Authorization: Bearer $ROTTING_KEY"' if needs_key else ""
    if options.demo or names:
        name = quote("demo" if options.demo else names[0], safe="")
        command = f"curl -X POST{key} {address}/v1/bandits/{name}/decisions"
    else:
        body = json.dumps({"arms": ["red", "green"]})
        command = f"curl -X PUT{key} {address}/v1/bandits/hero -H 'Content-Type: application/json' -d '{body}'"
    return f"Serving {store.address}\n  page       {address}/\n  reference  {address}/reference\n  try        {command}"
