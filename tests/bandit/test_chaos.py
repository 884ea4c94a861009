"""A month in a minute: writers that are killed, a server that crashes; arms, settings and compactions meanwhile."""

import contextlib
import hashlib
import io
import json
import os
import random
import signal
import sys
import time

import pandas
import pytest
import sqlalchemy
from test_processes import CONTEXT

from rotting import Bandit, EffFEWA
from rotting.bandit import BadSettings, BanditError, StorageError
from rotting.bandit.log.event_log import warm_up

WRITERS, SECONDS = 8, 60.0


def work(url, number, acknowledged):
    """Decide, reward and change things at full speed; say so after each call has returned."""
    dice = random.Random(f"{number} {os.getpid()}")
    said = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        try:
            with Bandit.open(url, "hero") as bandit:
                while True:
                    step(bandit, dice, lambda line: os.write(said, f"{line}\n".encode()), acknowledged.parent)
        except BanditError as error:
            print(f"writer {number}: {error}", file=sys.stderr)


def step(bandit, dice, say, folder):
    choices = bandit.decide(dice.randint(1, 5), key=f"{dice.random()}" if dice.random() < 0.2 else None)
    for choice in choices:
        say(f"decided {choice.id}")
    rewards = {choice.id: float(dice.randrange(7)) for choice in choices if dice.random() < 0.9}
    if rewards:
        bandit.reward_many(rewards)
    for decision, value in rewards.items():
        say(f"rewarded {decision} {value}")
    if dice.random() < 0.01:
        bandit.add_arm(f"arm {dice.random()}")
    if dice.random() < 0.02:
        bandit.retire_arm("blue") if dice.random() < 0.5 else bandit.restore_arm("blue")
    if dice.random() < 0.01:
        bandit.change(epsilon=dice.choice([0.0, 0.1, 0.2]))
    if dice.random() < 0.005:
        with contextlib.suppress(BadSettings):  # somebody else has compacted
            bandit.compact(bandit._log.state.seq - dice.randrange(200), folder / f"{dice.random()}.csv")


def cut_connections(url):
    """End every session of the server, in whatever it is doing."""
    client_sessions(url, "SELECT pg_terminate_backend(pid) FROM")


def crash(url):
    """Kill a process of the server: it ends all the others at once, and recovers from its write-ahead log."""
    (pid,) = client_sessions(url, "SELECT pid FROM")[0]
    os.kill(pid, signal.SIGKILL)


def client_sessions(url, select_from):
    engine = sqlalchemy.create_engine(url)
    mine = "pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(f"{select_from} {mine}").all()
    engine.dispose()
    return rows


@pytest.mark.soak
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="NOT TESTED: this system has no SIGKILL")
def test_a_month_of_chaos(url, tmp_path):
    """Nothing that was acknowledged is lost, doubled or wrong."""
    policy = EffFEWA(sigma=0.5)
    warm_up(policy)  # once, before the processes are forked
    Bandit.open(url, "hero", policy, ["red", "green", "blue"], reward_wait=5.0, default_reward=0.0).close()
    dice, acknowledged, end = random.Random(1), tmp_path / "acknowledged", time.monotonic() + SECONDS
    running = [start(url, number, acknowledged) for number in range(WRITERS)]
    try:
        while time.monotonic() < end:
            time.sleep(dice.uniform(0.1, 0.6))
            victim = dice.randrange(WRITERS)
            os.kill(running[victim].pid, signal.SIGKILL)
            running[victim].join()
            running[victim] = start(url, victim, acknowledged)
            if url.startswith("postgresql") and dice.random() < 0.1:
                with contextlib.suppress(sqlalchemy.exc.OperationalError, IndexError):  # it recovers, or all are away
                    dice.choice([cut_connections, crash])(url)
    finally:
        for process in running:
            process.kill()
            process.join()
    with patiently_opened(url) as bandit:
        bandit.verify()
        log = whole_log(bandit, tmp_path)
    assert log.seq.tolist() == list(range(1, len(log) + 1))
    assert (log.kind == "sealed").sum() > 0
    decided = log[log.kind == "decided"].decision
    assert decided.is_unique
    check(acknowledged.read_text().splitlines(), set(decided), log.set_index("decision").reward.dropna().to_dict())


def patiently_opened(url):
    """Open the bandit once the server has recovered."""
    for _ in range(100):
        with contextlib.suppress(StorageError):
            return Bandit.open(url, "hero")
        time.sleep(0.1)
    raise AssertionError("the server does not come back")


def whole_log(bandit, folder):
    """Return the log with the files that its beginning was moved to, as the log itself names them."""
    parts = [bandit.history()]
    for part in parts:  # it grows meanwhile
        for details in map(json.loads, part[part.kind == "sealed"].details):
            content = (folder / details["export"]).read_bytes()
            assert hashlib.blake2b(content, digest_size=16).hexdigest() == details["export_checksum"]
            parts.append(pandas.read_csv(io.BytesIO(content)))
    return pandas.concat(parts).sort_values("seq", ignore_index=True)


def check(lines, decided, rewards):
    """Compare what was acknowledged with the log. A reward may have come as the default reward, when it was overdue."""
    assert len(lines) > 100
    for line in lines:
        what, decision, *value = line.split()
        assert decision in decided
        assert what == "decided" or rewards[decision] == float(value[0])


def start(url, number, acknowledged):
    process = CONTEXT.Process(target=work, args=(url, number, acknowledged))
    process.start()
    return process
