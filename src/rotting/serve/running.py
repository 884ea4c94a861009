"""Listening: uvicorn with our limits, processes that are kept running, and what is said when they answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Any
from urllib.parse import quote

import uvicorn

from rotting.bandit import BanditError, Store, open_store
from rotting.errors import BadValue, FileError
from rotting.serve.access import is_loopback
from rotting.serve.answering import Answering
from rotting.serve.app import Application, settle
from rotting.serve.front import Front
from rotting.serve.keys import read_keys
from rotting.serve.problems import log, note
from rotting.serve.protocol import PatientForAWhile
from rotting.serve.service import DRAIN_SECONDS, Options, Service
from rotting.serve.writer import Writer

__all__ = ["check_listening", "is_loopback", "listen", "serve"]

KEEP_ALIVE = 75  # seconds that a connection may idle, longer than proxies' own limit
SIGNALS = (signal.SIGTERM, signal.SIGINT)
STARTUP_FAILURE = 3  # the exit code of a process that would fail in the same way again; uvicorn's
LOOK_AGAIN = 0.2  # seconds after which a process that has ended is started again
METHOD = "fork" if sys.platform == "linux" else "spawn"  # a fork need not import everything


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


def cores() -> int:
    """Return how many processes may run at once; 1 where they could not meet."""
    if not hasattr(socket, "AF_UNIX"):
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def serve(options: Options, host: str, port: int, say: Callable[[str], None]) -> bool:
    """Serve until SIGTERM or SIGINT, then carry out what waits; False if the server could not start."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    with listen(host, port) as listening:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"

        def started() -> None:
            say(greeting(options, address))

        if options.processes == 1:
            return _answer(Writer(options), listening, started)
        return _supervise(options, listening, started)


def _answer(service: Service, listening: socket.socket, started: Callable[[], None]) -> bool:
    """Answer requests over HTTP in this process; False if it could not start."""
    for each in SIGNALS:  # uvicorn raises them again afterwards; an orderly end is a success
        signal.signal(each, lambda *_: None)
    server = make_server(Application(service, started))
    server.run(sockets=[listening])
    return bool(server.started)


def _write(options: Options, meeting: socket.socket) -> None:
    """Carry out what other processes ask, who find this one at a socket; at SIGTERM, until they have gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        try:
            runner.run(_answer_fronts(options, meeting))
        except BanditError as error:
            note(error, "start")
            sys.exit(STARTUP_FAILURE)


async def _answer_fronts(options: Options, meeting: socket.socket) -> None:
    writer, stop, loop = Writer(options, "writer"), asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    await writer.start()
    application = Application(writer, origins=())  # whoever sends replies says who may read them
    server = await loop.create_unix_server(lambda: Answering(writer, application), sock=meeting)
    settle()
    await stop.wait()
    await writer.stop()
    server.close()


def _supervise(options: Options, listening: socket.socket, started: Callable[[], None]) -> bool:
    """Keep processes running until SIGTERM or SIGINT; False if they could not start."""
    context: Any = multiprocessing.get_context(METHOD)
    answers, stop = context.Event(), threading.Event()
    for each in SIGNALS:
        signal.signal(each, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="rotting-") as folder, socket.socket(socket.AF_UNIX) as meeting:
        # It stays while the process that writes is started again: what is asked meanwhile waits there.
        meeting.bind(path := f"{folder}/writer")
        meeting.listen()
        answer = partial(_answer_as, options, path, listening, answers.set)
        works = [partial(_write, options, meeting), *(partial(answer, str(n)) for n in range(options.processes))]
        running: list[BaseProcess] = [_begun(context, work) for work in works]
        while not (stop.is_set() or answers.is_set() or any(process.exitcode for process in running)):
            stop.wait(LOOK_AGAIN)
        if answers.is_set():
            started()
        while answers.is_set() and not stop.wait(LOOK_AGAIN):
            for place, process in enumerate(running):
                if not process.is_alive():
                    log.error("a process has ended (%s) and is started again", process.exitcode)
                    running[place] = _begun(context, works[place])
        _end(running, 2 * DRAIN_SECONDS if stop.is_set() else 1.0)
    return stop.is_set()


def _end(running: list[BaseProcess], patience: float) -> None:
    """Tell processes to end, again and again: one that was just begun does not listen yet. Then kill them."""
    until = time.monotonic() + patience
    while (alive := [process for process in running if process.is_alive()]) and time.monotonic() < until:
        for process in alive:
            process.terminate()
        alive[0].join(LOOK_AGAIN)
    for process in running:
        process.kill()
        process.join()


def _begun(context: Any, work: Callable[[], object]) -> Any:
    process = context.Process(target=_with_parent, args=(work,))
    process.start()
    return process


def _answer_as(
    options: Options, path: str, listening: socket.socket, started: Callable[[], None], process: str
) -> None:
    if not _answer(Front(options, path, process), listening, started):
        sys.exit(STARTUP_FAILURE)


def _with_parent(work: Callable[[], object]) -> None:
    """Do some work in a process that ends when its parent does, even if that is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()
    work()


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
