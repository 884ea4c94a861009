"""Whatever hangs, a call returns within its deadline, and says whether something may have been written."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit import AsyncBandit, StorageError, TimedOut, UnknownArm, UnknownDecision
from rotting.bandit.store import BanditRow, Deadline, Event, Snapshot
from rotting.bandit.store.addresses import open_store

HALF = EffFEWA(sigma=0.5)
LATE = 0.2  # seconds after its deadline within which a call returns
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="NOT TESTED: this system has no SIGSTOP")


class Link:
    """A way to a server on which packets can be dropped: nothing comes through, and nobody is told."""

    def __init__(self, port):
        self._to = ("127.0.0.1", port)
        self.passes = threading.Event()
        self.passes.set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(self._to)
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source, target):
        with contextlib.suppress(OSError):
            while content := source.recv(65536):
                self.passes.wait()
                target.sendall(content)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.passes.set()
        self._listening.close()


def port_of(url):
    return int(url.partition("@")[2].partition(":")[2].partition("/")[0])


def backends(port):
    """Return the processes of the server that listens on a port: the first one, and one per connection."""
    found = subprocess.run(["pgrep", "-f", f"postgres.* -p {port} "], capture_output=True, text=True, check=True)
    first = int(found.stdout.split()[0])
    children = subprocess.run(["pgrep", "-P", str(first)], capture_output=True, text=True, check=False)
    return [first, *map(int, children.stdout.split())]


class Stopped:
    """A server all of whose processes are stopped while this is entered."""

    def __init__(self, url):
        self._url = url

    def __enter__(self):
        self._processes = backends(port_of(self._url))
        for process in self._processes:
            os.kill(process, signal.SIGSTOP)

    def __exit__(self, *_):
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


@pytest.fixture
def link(postgres):
    made = Link(port_of(postgres))
    yield made
    made.close()


class Dropped:
    def __init__(self, link):
        self._link = link

    def __enter__(self):
        self._link.passes.clear()

    def __exit__(self, *_):
        self._link.passes.set()


@pytest.fixture(params=["stopped", "dropped"])
def hanging(request, postgres):
    """Return the address of a database, and what makes it hang while it is entered."""
    if request.param == "stopped":
        return postgres, Stopped(postgres)
    link = request.getfixturevalue("link")
    return postgres.replace(f":{port_of(postgres)}/", f":{link.port}/"), Dropped(link)


def late(call, timeout):
    """Return how many seconds after its deadline a call returned, and what it raised."""
    start = time.monotonic()
    with pytest.raises(StorageError) as raised:
        call(timeout=timeout)
    return time.monotonic() - start - timeout, raised.value


def test_a_hanging_server_keeps_nobody_longer_than_the_deadline(hanging):
    url, hangs = hanging
    with Bandit.open(url, "hero", HALF, ["red", "green"]) as bandit:
        waiting = bandit.decide()
        with hangs:
            found = [late(bandit.decide, 0.05), *(late(bandit.decide, timeout) for timeout in (0.0, 0.05, 0.3))]
            found.append(late(lambda timeout: bandit.reward(waiting.id, 1.0, timeout=timeout), 0.05))
            found.append(late(lambda timeout: bandit.change_arms(add=["blue"], timeout=timeout), 0.05))
        assert max(seconds for seconds, _ in found) < LATE
        assert {type(error) for _, error in found} == {TimedOut}
        assert found[0][1].may_be_written  # the statement was sent
        bandit.decide()
        assert bandit.reward(waiting.id, 1.0) in (True, False)
        assert bandit.verify().rewards == 1


def test_of_many_callers_each_keeps_its_own_deadline(hanging):
    url, hangs = hanging
    with Bandit.open(url, "hero", HALF, ["red", "green"]) as bandit:
        bandit.decide()
        results = {}
        with hangs:
            threads = [
                threading.Thread(target=lambda wait=wait: results.__setitem__(wait, late(bandit.decide, wait)))
                for wait in (0.05, 0.2, 0.4, 0.8, 0.1, 0.6)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert max(seconds for seconds, _ in results.values()) < LATE
        bandit.decide()
        bandit.verify()


def test_a_connection_that_nobody_answers(hanging):
    """The port takes connections, as the kernel does for a stopped server, and the greeting never comes."""
    url, hangs = hanging
    with Bandit.open(url, "hero", HALF, ["red", "green"]) as bandit:
        bandit._log.store.disconnect()
        with hangs:
            found = [late(bandit.decide, timeout) for timeout in (0.05, 0.3)]
        assert max(seconds for seconds, _ in found) < LATE
        assert not any(error.may_be_written for _, error in found)
        assert bandit.decide().id.split("-")[1] == "3"


def test_what_is_written_without_a_bandit_keeps_its_deadline(hanging):
    """As the service does when it is asked whether it can write."""
    url, hangs = hanging
    with contextlib.closing(open_store(url)) as store:
        store.prepare()
        row = store.add(BanditRow(0, "hero", "token", "", "{}"), [Event(1, "added", 1.0, 0, "red")])
        with hangs:
            calls = [
                lambda timeout: store.add(row._replace(name="other"), [], deadline=Deadline(timeout)),
                lambda timeout: store.delete_events(row.id, 1, 1, deadline=Deadline(timeout)),
                lambda timeout: store.delete_rest(row.id, deadline=Deadline(timeout)),
                lambda timeout: store.put_snapshot(row.id, Snapshot(1, "", b""), deadline=Deadline(timeout)),
            ]
            found = [late(call, 0.05) for call in calls]
        assert max(seconds for seconds, _ in found) < LATE
        assert {type(error) for _, error in found} == {TimedOut}
        store.delete_events(row.id, 1, 1)
        store.delete_rest(row.id)
        with store.reading():
            assert store.bandits() == []


def test_who_holds_the_store_keeps_nobody_beyond_the_deadline(sqlite):
    """Another thread that reports, or leads with more time than others have."""
    with Bandit.open(sqlite, "hero", HALF, ["red", "green"]) as bandit:
        held, done = threading.Event(), threading.Event()

        def hold():
            with bandit._log.commits.held():
                held.set()
                done.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        assert held.wait(60)
        found = [late(bandit.decide, 0.05)]
        found.append(late(lambda timeout: bandit.change_arms(add=["blue"], timeout=timeout), 0.05))
        done.set()
        thread.join()
        assert max(seconds for seconds, _ in found) < LATE
        assert {(type(error), error.may_be_written) for _, error in found} == {(TimedOut, False)}
        assert bandit.change_arms(add=["blue"], timeout=5.0) == 1


def test_a_fallback_is_shown_when_the_deadline_passes_and_is_not_a_decision(hanging):
    url, hangs = hanging
    with Bandit.open(url, "hero", HALF, ["red", "green"]) as bandit:
        bandit.decide()
        shop = AsyncBandit(bandit)
        with hangs:
            start = time.monotonic()
            one, many = bandit.decide(timeout=0.1, fallback="green"), bandit.decide(2, timeout=0.1, fallback="green")
            awaited = asyncio.run(shop.decide(timeout=0.1, fallback="green"))
            assert time.monotonic() - start < 0.3 + 3 * LATE
        assert [(each.id, each.arm) for each in many] == [("", "green")] * 2
        assert (
            (one.id, one.arm, one.probability) == (awaited.id, awaited.arm, awaited.probability) == ("", "green", None)
        )
        assert one.why.startswith("fallback: no answer within 0.1 s")
        with pytest.raises(UnknownDecision):
            bandit.reward(one.id, 1.0)
        assert bandit.decide(fallback="green").id
        with pytest.raises(UnknownArm):  # a misspelt one is found while all is well
            bandit.decide(fallback="gren")
        bandit.verify()
