"""Several processes: those that speak HTTP ask the one that writes. Any of them may die at any time."""

import asyncio
import contextlib
import os
import re
import signal
from functools import partial
from pathlib import Path

import httpx
import pytest

from rotting import Bandit
from rotting.bandit import BadReward, Choice, Decide, Reward, Shown, StorageError, TimedOut
from rotting.serve import link
from serve.test_durability import Load, server_process
from serving import bearer, free_port, make_bandit, make_key, postgres, postgres_server, sqlite, wait_until

TWO = ("--processes", "2")


def children(process):
    """Return the numbers of the processes that a supervisor keeps: first of the one that writes."""
    return [int(number) for number in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def reached(port):
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30.0)


def test_all_that_one_process_answers_several_do(sqlite):
    port = free_port()
    with server_process(sqlite, port, *TWO, "--allow-origin", "https://shop.example"):
        made = {"arms": ["red", "green"], "reward_range": [0, 1]}
        with reached(port) as maker:
            assert maker.put("/v1/bandits/a%2Fb", json=made).status_code == 201
        for _ in range(8):  # each time another process may answer
            with reached(port) as client:
                replies = [client.post("/v1/bandits/a%2Fb/decisions", json={"n": 2}) for _ in range(2)]
                [choice, other] = replies[0].json()["decisions"]
                assert client.put(f"/v1/decisions/{choice['id']}/reward", json={"value": 1}).status_code == 201
                assert client.put(f"/v1/decisions/{choice['id']}/reward", json={"value": 0}).status_code == 409
                refused = client.put(f"/v1/decisions/{other['id']}/reward", json={"value": 7})
                assert (refused.status_code, "reward_range" in refused.json()["detail"]) == (422, True)
                asked = client.post("/v1/bandits/a%2Fb/decisions", json={"among": ["blue"]})
                assert (asked.status_code, "'blue'" in asked.json()["detail"]) == (404, True)
                assert client.post("/v1/bandits/nobody/decisions").status_code == 404
                page = client.get("/bandits/a%2Fb", headers={"Origin": "https://shop.example"})
                assert "The last decisions" in page.text
                assert "decided by another server" not in page.text  # whoever answered it
                assert page.headers.get_list("access-control-allow-origin") == ["https://shop.example"]
                assert client.get("/bandits/a%2Fb", headers={"If-None-Match": page.headers["etag"]}).status_code in (
                    200,
                    304,
                )
                assert client.get("/v1/bandits/a%2Fb/report").json()["bandit"] == "a/b"
                assert len(client.get("/v1/bandits/a%2Fb/events").json()["events"]) > 2
                assert client.get("/readyz").json() == {"status": "ok"}
                assert client.request("PUT", "/v1/bandits/c", content=b"{").status_code == 415
        with reached(port) as client:
            wait_until(lambda: decisions_counted(client) == 16 + 8 + 8)


def decisions_counted(client):
    name = r'rotting_request_seconds_count\{method="POST",process="\d",route="/v1/bandits/{bandit}/decisions".*\} (.+)'
    return sum(map(float, re.findall(name, client.get("/metrics").text)))


def test_keys_hold_for_all_processes(sqlite):
    make_bandit(sqlite)
    keys = {role: make_key(sqlite, role) for role in ("client", "reader")}
    port = free_port()
    with server_process(sqlite, port, *TWO):
        for _ in range(4):
            with reached(port) as client:
                page, ask = "/bandits/hero", "/v1/bandits/hero/decisions"
                codes = [client.get(page).status_code, client.get(page, headers=bearer(keys["client"])).status_code]
                codes += [client.post(ask).status_code, client.post(ask, headers=bearer(keys["reader"])).status_code]
                assert codes == [303, 403, 401, 403]
                assert client.post(ask, headers=bearer(keys["client"])).status_code == 201
                assert client.get(page, headers=bearer(keys["reader"])).status_code == 200


def test_any_process_may_be_killed_under_load(sqlite):
    make_bandit(sqlite)
    port = free_port()
    with server_process(sqlite, port, *TWO) as process, Load(port) as load:
        for turn in range(6):
            load.wait_for(20 * (turn + 1))
            every = children(process)
            os.kill(every[turn % len(every)], signal.SIGKILL)
            wait_until(lambda every=every: len(children(process)) == 3 and children(process) != every)
        load.wait_for(len(load.decided) + 20)
        load.stop()
        assert set(load.refused) <= {503}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    load.check(sqlite)


def test_when_all_processes_are_told_to_end_they_carry_out_what_waits(sqlite):
    """As systemd tells them."""
    make_bandit(sqlite)
    port = free_port()
    with server_process(sqlite, port, *TWO) as process, Load(port) as load:
        load.wait_for(40)
        for each in (*children(process), process.pid):
            os.kill(each, signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    assert load.refused == []
    load.check(sqlite)


def test_a_process_that_has_just_begun_ends_with_the_others(sqlite):
    """It may be told before it listens to signals."""
    make_bandit(sqlite)
    with server_process(sqlite, free_port(), *TWO) as process:
        every = children(process)
        os.kill(every[1], signal.SIGKILL)
        wait_until(lambda: len(children(process)) == 3 and children(process) != every)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0


def test_nobody_outlives_a_supervisor_that_is_killed(sqlite):
    make_bandit(sqlite)
    port = free_port()
    with server_process(sqlite, port, *TWO) as process:
        every = children(process)
        process.kill()
        process.wait()
        wait_until(
            lambda: not any(Path(f"/proc/{each}/cmdline").read_text("latin-1") for each in every if is_there(each))
        )


def is_there(process):
    return Path(f"/proc/{process}").exists()


def test_what_cannot_start_ends(tmp_path):
    (tmp_path / "other.db").write_bytes(b"SQLite format 3\0" + bytes(84))
    with pytest.raises(AssertionError), server_process(f"sqlite:///{tmp_path}/other.db", free_port(), *TWO):
        pass


# The link between them.


@pytest.mark.parametrize(
    "error", [BadReward("no {arm}", name="value", value=1.5, hint="try {n}"), StorageError("gone")]
)
def test_errors_arrive_as_they_were(error):
    sent = link._decode(link._encode([link.Answered(3, link.Failure.of(error))]))
    found = sent[0].outcomes.error()
    assert (type(found), str(found), vars(found)) == (type(error), str(error), vars(error))


def test_requests_and_outcomes_arrive_as_they_were():
    requests = [Decide(2, ["red"], "key"), Shown("a-1"), Reward("a-1", 0.5), Decide(1)]
    [asked] = link._decode(link._encode([link.Asked.of(1, "hero", requests)]))
    assert asked.unpacked() == requests
    outcomes = [[Choice("a", "red", "why", None)], True, False]
    assert link._decode(link._encode([link.Answered(1, outcomes)]))[0].outcomes == outcomes


def test_whoever_asks_a_process_that_hangs_or_dies_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setattr(link, "SILENCE", 0.2)

    async def ask():
        held = []
        path = f"{tmp_path}/writer"
        server = await asyncio.start_unix_server(lambda reader, writer: held.append(writer), path)
        asker = link.Link(partial(asyncio.get_running_loop().create_unix_connection, path=path))
        kept = asyncio.create_task(asker.keep())
        while not held:
            await asyncio.sleep(0.01)
        late = asker.exchange("hero", [Decide(1)])
        await asyncio.sleep(0.3)
        asker.look()
        with pytest.raises(TimedOut) as caught:
            await late
        assert caught.value.may_be_written
        held.pop()  # it was left
        while not held or asker._transport is None:
            await asyncio.sleep(0.01)
        lost = asker.exchange("hero", [Decide(1)])
        held.pop().close()
        with pytest.raises(StorageError, match="has ended"):
            await lost
        assert asker.waiting == 0
        kept.cancel()
        server.close()

    asyncio.run(asyncio.wait_for(ask(), 10))


class Slow(link.Messages):
    """Lives, and answers nothing."""

    def connection_made(self, transport):
        super().connection_made(transport)
        self.send(link.Hello(b""))

    def got(self, message):
        if isinstance(message, link.Hello):
            self.send(message)


def test_whoever_asks_a_process_that_takes_long_waits(tmp_path, monkeypatch):
    monkeypatch.setattr(link, "SILENCE", 0.3)

    async def ask():
        path, loop = f"{tmp_path}/writer", asyncio.get_running_loop()
        server = await loop.create_unix_server(Slow, path)
        asker = link.Link(partial(loop.create_unix_connection, path=path))
        kept = asyncio.create_task(asker.keep())
        await asker.answers.wait()
        answer = asker.exchange("hero", [Decide(1)])
        for _ in range(20):
            await asyncio.sleep(0.05)
            asker.look()
        assert (answer.done(), asker.lives()) == (False, True)
        kept.cancel()
        server.close()

    asyncio.run(asyncio.wait_for(ask(), 10))
