"""What was answered is in the log, whatever happens to the server, its clients, its disk, its clock."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial

import httpx
import pytest

from rotting import Bandit
from rotting.bandit import open_store
from rotting.bandit.core import clocks
from rotting.serve import keys, together
from serving import (
    bearer,
    client,
    free_port,
    make_bandit,
    make_key,
    postgres,
    postgres_server,
    serving,
    sqlite,
    wait_until,
)


@contextlib.contextmanager
def server_process(url, port, *options):
    """Yield a server in a process of its own, once it answers."""
    command = [sys.executable, "-m", "rotting", "serve", url, "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline(), process.stderr.read()  # it says when it answers
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Load:
    """Clients that decide and reward, and remember what they were told."""

    def __init__(self, port, clients=6):
        # Keys of two loads on one bandit must not meet.
        self._name = f"{port}"
        self.decided, self.rewarded, self.refused = {}, {}, []
        self._stop = threading.Event()
        self._address = f"http://127.0.0.1:{port}"
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(clients)]
        for thread in self._threads:
            thread.start()

    def _run(self, number):
        with httpx.Client(base_url=self._address, timeout=30.0) as http:
            turn = 0
            while not self._stop.is_set():
                turn += 1
                key = f"{self._name}-{number}-{turn}"
                with contextlib.suppress(httpx.TransportError):
                    reply = http.post("/v1/bandits/hero/decisions", headers={"Idempotency-Key": key})
                    if reply.status_code != 201:
                        self.refused.append(reply.status_code)
                        continue
                    [choice] = reply.json()["decisions"]
                    self.decided[key] = choice["id"]
                    value = turn % 3 / 2
                    if http.put(f"/v1/decisions/{choice['id']}/reward", json={"value": value}).status_code == 201:
                        self.rewarded[choice["id"]] = value
                    continue
                self._stop.wait(0.05)

    def wait_for(self, decisions):
        wait_until(lambda: len(self.decided) >= decisions)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def check(self, url):
        """All that was acknowledged is in the log, once, and the log is right."""
        with Bandit.open(url, "hero") as bandit:
            bandit.verify()
            log = bandit.history()
        decisions = set(log.decision[log.kind == "decided"])
        assert len(decisions) == (log.kind == "decided").sum()
        assert set(self.decided.values()) <= decisions
        rewards = log[log.kind == "rewarded"].set_index("decision").reward.to_dict()
        assert {decision: rewards[decision] for decision in self.rewarded} == self.rewarded


def test_a_killed_server_has_kept_what_it_answered_and_keys_give_the_same_decision_later(sqlite):
    make_bandit(sqlite)
    port = free_port()
    with server_process(sqlite, port) as process, Load(port) as load:
        load.wait_for(60)
        process.send_signal(signal.SIGKILL)
        process.wait()
    load.check(sqlite)
    key, decision = next(iter(load.decided.items()))
    with serving(sqlite) as again:
        repeated = again.post("/v1/bandits/hero/decisions", headers={"Idempotency-Key": key}).json()
    assert repeated["decisions"][0]["id"] == decision


def test_a_terminated_server_carries_out_what_waits(sqlite):
    make_bandit(sqlite)
    port = free_port()
    with server_process(sqlite, port) as process, Load(port) as load:
        load.wait_for(30)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    assert load.refused == []
    load.check(sqlite)


def test_two_servers_share_one_postgresql(postgres):
    make_bandit(postgres)
    ask = {"url": "/v1/bandits/hero/decisions", "headers": {"Idempotency-Key": "the same"}}
    with serving(postgres) as one, serving(postgres) as other:
        first, second = one.post(**ask).json(), other.post(**ask).json()
        assert first["decisions"][0]["id"] == second["decisions"][0]["id"]
        assert [each.get("/readyz").status_code for each in (one, other)] == [200, 200]
        with Load(one.base_url.port, clients=2) as here, Load(other.base_url.port, clients=2) as there:
            here.wait_for(20)
            there.wait_for(20)
        [choice] = one.post("/v1/bandits/hero/decisions").json()["decisions"]
        assert other.put(f"/v1/decisions/{choice['id']}/reward", json={"value": 1}).status_code == 201
        one.put("/v1/bandits/later", json={"arms": ["x", "y"]})
        wait_until(lambda: other.post("/v1/bandits/later/decisions").status_code == 201)
        assert "hero" in other.get("/").text
    here.check(postgres)
    there.check(postgres)


def test_slow_and_half_open_clients_keep_nobody_waiting(sqlite):
    make_bandit(sqlite)
    with serving(sqlite, patience=0.5) as client:
        check_slow_clients(client)


def check_slow_clients(client):
    address = (client.base_url.host, client.base_url.port)
    head = b"POST /v1/bandits/hero/decisions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    beginnings = [b"", b"POST /v1", head, head + b"Content-Length: 100\r\n\r\n", head + b"Content-Length: 100\r\n\r\n{"]
    sockets = [socket.create_connection(address) for _ in range(10) for _ in beginnings]
    for place, each in enumerate(sockets):
        each.sendall(beginnings[place % len(beginnings)])
    assert client.post("/v1/bandits/hero/decisions").status_code == 201
    replies = [_rest(each) for each in sockets]
    assert all(reply.startswith(b"HTTP/1.1 408") or reply == b"" for reply in replies), set(replies)
    assert sum(reply.startswith(b"HTTP/1.1 408") for reply in replies) == 20


def _rest(connection):
    connection.settimeout(20)
    with connection, contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: connection.recv(65536), b""))
    return b""


def test_a_head_that_does_not_end_is_refused(client):
    head = b"POST /v1/bandits/hero/decisions HTTP/1.1\r\nHost: localhost\r\n"
    trailers = head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
    for begun, says in ((head + b"X: ", b"HTTP/1.1 431 "), (b"GET /", b"HTTP/1.1 431 "), (trailers + b"X: ", b"")):
        with socket.create_connection((client.base_url.host, client.base_url.port), timeout=5.0) as connection:
            connection.sendall(begun + b"a" * 40_000)
            assert connection.recv(13) == says
    long = {"X": "a" * 15_000}  # two requests of one connection are counted for themselves
    assert [client.get("/livez", headers=long).status_code for _ in range(2)] == [200, 200]
    large = client.post(
        "/v1/bandits/hero/decisions", content=b" " * 900_000 + b"{}", headers={"Content-Type": "application/json"}
    )
    assert large.status_code == 201


def limit_room(*stores):
    """Let SQLite stores say that the disk is full soon; returns the limit, which may be changed."""
    with stores[0].lock:
        room = [stores[0].driver.execute("PRAGMA page_count").fetchone()[0] + 10]

    def limited(dial, deadline):
        made = dial(deadline)
        made.execute(f"PRAGMA max_page_count = {room[0]}")
        return made

    for store in stores:
        store._dial = partial(limited, store._dial)
        store.disconnect()
    return room


def test_a_full_disk_is_said_and_survived(client, caplog):
    client.post("/v1/bandits/hero/decisions")
    store = client.service.bandits._commits[0].store
    room = limit_room(store)
    replies = [client.post("/v1/bandits/hero/decisions", json={"n": 1000}) for _ in range(3)]
    full = [reply for reply in replies if reply.status_code != 201]
    assert {reply.status_code for reply in full} == {503}
    assert full[0].headers["retry-after"] == "1"
    assert "database cannot be used now" in full[0].json()["detail"]
    assert "sqlite" not in full[0].text
    assert "full" in caplog.text  # the operator is told
    room[0] = 1_000_000
    store.disconnect()
    assert client.post("/v1/bandits/hero/decisions", json={"n": 1000}).status_code == 201
    with Bandit.open(client.service.options.url, "hero") as bandit:
        assert bandit.verify().decisions == 1 + 1000 * (1 + sum(reply.status_code == 201 for reply in replies))


def test_a_fallback_is_given_while_the_database_cannot_be_used(client):
    path = "/v1/bandits/hero/decisions"
    limit_room(client.service.bandits._commits[0].store)
    for _ in range(20):
        reply = client.post(path, json={"n": 1000, "fallback": "green"})
        if reply.status_code == 200:
            break
    instead = {"id": "", "arm": "green", "probability": None}
    instead["why"] = "fallback: the database cannot be used now: the server's log says why"
    assert reply.json()["decisions"] == [instead] * 1000
    assert client.post(path, json={"n": 1000}).status_code == 503
    assert 'rotting_refused_total{reason="StorageError"}' in client.get("/metrics").text


def test_readiness_ends_when_the_disk_is_full(client):
    """The probe needs the room that a decision needs, not a row that is there already."""
    ask = {"url": "/v1/bandits/hero/decisions", "json": {"n": 20}}
    service = client.service
    assert (client.post(**ask).status_code, client.get("/readyz").status_code) == (201, 200)
    limit_room(service.bandits._commits[0].store, service.probing.store)
    assert 503 in (client.post(**ask).status_code for _ in range(200))
    service.shared.forget()
    assert client.get("/readyz").json() == {"status": "failing"}
    with Bandit.open(service.options.url, "hero") as bandit:
        bandit.verify()


def test_reports_hold_up_neither_probes_nor_keys(sqlite):
    make_bandit(sqlite)
    key, done = make_key(sqlite, "client"), threading.Event()
    with serving(sqlite, keys_seconds=0.05) as client:
        for _ in range(8):  # as reports on a long log would
            client.service._threads.submit(done.wait)
        try:
            ask = {"url": "/v1/bandits/hero/decisions", "headers": bearer(key)}
            assert (client.post(**ask).status_code, client.get("/readyz").status_code) == (201, 200)
            with contextlib.closing(open_store(sqlite)) as store:
                keys.revoke_key(store, key.split("_")[1])
            wait_until(lambda: client.post(**ask).status_code == 401)
        finally:
            done.set()


def test_a_clock_that_jumps_does_no_harm(client, monkeypatch):
    now = time.time()
    for jump in (0, 3600, -7200, 30):
        monkeypatch.setattr(clocks.time, "time", lambda jump=jump: now + jump)
        [choice] = client.post("/v1/bandits/hero/decisions").json()["decisions"]
        assert client.put(f"/v1/decisions/{choice['id']}/reward", json={"value": 1}).status_code == 201
    assert client.get("/bandits/hero").status_code == 200
    with Bandit.open(client.service.options.url, "hero") as bandit:
        assert bandit.history()["at"].is_monotonic_increasing
        bandit.verify()


def test_a_queue_that_is_full_refuses_instead_of_growing(sqlite, monkeypatch):
    monkeypatch.setattr(together, "LONGEST_QUEUE", 0)
    make_bandit(sqlite)
    with serving(sqlite) as client:
        reply = client.post("/v1/bandits/hero/decisions")
        flag = client.post("/ofrep/v1/evaluate/flags/hero")
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
    assert (flag.status_code, flag.headers["retry-after"]) == (429, "1")


@pytest.mark.soak
def test_a_server_that_is_killed_again_and_again(sqlite):
    """Ten minutes of load, killed every 30 seconds: nothing that was acknowledged is lost, and memory is flat."""
    make_bandit(sqlite, reward_wait=60.0)
    port, sizes = free_port(), []
    load = Load(port, clients=16)
    for _ in range(20):
        with server_process(sqlite, port) as process:
            time.sleep(30)
            sizes.append(_resident(process.pid))
            os.kill(process.pid, signal.SIGKILL)
    load.stop()
    load.check(sqlite)
    assert max(sizes[10:]) < 1.5 * max(sizes[:3])


def _resident(process):
    with open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
