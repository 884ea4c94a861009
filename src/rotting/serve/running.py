"""Listening: uvicorn with our limits, one process or several, and what `rotting serve` says when it is ready."""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import multiprocessing
import multiprocessing.process
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn

from rotting.bandit import good_name, is_shared, open_store
from rotting.errors import BadValue, FileError
from rotting.serve.access import is_loopback
from rotting.serve.app import Options, Service
from rotting.serve.bandits import Directory
from rotting.serve.keys import read_keys
from rotting.serve.protocol import PatientForAWhile

__all__ = ["check_listening", "check_workers", "is_loopback", "serve"]

KEEP_ALIVE = 75  # seconds that a connection may idle, longer than proxies' own limit
DRAIN_SECONDS = 30  # in which requests in progress must end after SIGTERM


def check_listening(url: str, host: str) -> None:
    """Refuse to listen where others can connect while there are no keys."""
    store = open_store(url)
    try:
        if not is_loopback(host) and (store.is_missing() or read_keys(store).is_empty):
            raise BadValue(
                "can be reached from elsewhere, and there are no keys",
                name="host",
                value=host,
                hint="make a key first: rotting serve keys add URL --role admin",
            )
    finally:
        store.close()


def check_workers(url: str, workers: int) -> None:
    """Refuse several processes where they would only wait for each other."""
    if workers > 1 and not is_shared(url):
        raise BadValue(
            "does not go with a database in a file, which has one writer at a time",
            name="workers",
            value=workers,
            hint="use PostgreSQL for several processes",
        )


def serve(options: Options, host: str, port: int, say: Callable[[str], None]) -> bool:
    """Serve until SIGTERM or SIGINT, then carry out what waits; False if the server could not start."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    with _listen(host, port) as listening:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        if options.workers == 1:
            server = Server(Service(options), lambda: say(greeting(options, address)))
            server.run(sockets=[listening])
            return bool(server.started)
        say(greeting(options, address))
        _supervise(options, listening)
        return True


def _supervise(options: Options, listening: socket.socket) -> None:
    """Keep so many processes running until SIGTERM or SIGINT, and wait for them to carry out what waits."""
    context = multiprocessing.get_context("spawn")
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    processes: list[multiprocessing.process.BaseProcess] = []
    while not stop.is_set():
        processes = [process for process in processes if process.is_alive()]
        while len(processes) < options.workers:
            processes.append(context.Process(target=_work, args=(options, listening)))
            processes[-1].start()
        stop.wait(1.0)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()


def _work(options: Options, listening: socket.socket) -> None:
    Server(Service(options)).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens: the port is known before anything starts (0: any that is free)."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise FileError(f"{host}:{port} cannot be listened on: {error.strerror or error}") from None
    listening.set_inheritable(True)
    return listening


def _config(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        service,
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


class Server(uvicorn.Server):
    """Says when it has started; ends the streams of open pages first when it stops, or it would wait for them."""

    def __init__(self, service: Service, started: Callable[[], None] = lambda: None):
        super().__init__(_config(service))
        self._service = service
        self._say = started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT. uvicorn would raise them again afterwards; here, an orderly end is a success."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.changes.close()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Compilers and libraries leave some hundred thousand objects behind, which stay as long as the server does.
        # Without this, all clients wait a tenth of a second whenever the garbage collector looks at them.
        gc.collect()
        gc.freeze()
        if self.started:
            self._say()


def greeting(options: Options, address: str) -> str:
    """Return what to say when the server is ready: where it listens, and a command to try it that can be pasted."""
    store = open_store(options.url)
    try:
        directory = Directory(store)
        directory.refresh()
        names, needs_key = directory.names(), not read_keys(store).is_empty
        where = store.address
    finally:
        store.close()
    key = ' -H "Authorization: Bearer $ROTTING_KEY"' if needs_key else ""
    if options.demo or names:
        name = "demo" if options.demo else names[0]
        command = f"curl -X POST{key} {address}/v1/bandits/{_in_path(name)}/decisions"
    else:
        body = json.dumps({"arms": ["red", "green"]})
        command = f"curl -X PUT{key} {address}/v1/bandits/hero -H 'Content-Type: application/json' -d '{body}'"
    return f"Serving {where}\n  page       {address}/\n  reference  {address}/reference\n  try        {command}"


def _in_path(name: str) -> str:
    from urllib.parse import quote

    return quote(good_name("bandit", name), safe="")
