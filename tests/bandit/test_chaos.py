"""A month in a minute: writers that are killed, connections that are cut, arms and settings that change meanwhile."""

import os
import random
import signal
import sys
import time

import pytest
import sqlalchemy
from test_processes import CONTEXT

from rotting import Bandit, EffFEWA
from rotting.bandit import BanditError
from rotting.bandit.event_log import warm_up

WRITERS, SECONDS = 8, 60.0


def work(url, number, acknowledged):
    """Decide, reward and change things at full speed; say so after each call has returned."""
    dice = random.Random(f"{number} {os.getpid()}")
    said = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        try:
            with Bandit.open(url, "hero") as bandit:
                while True:
                    step(bandit, dice, lambda line: os.write(said, f"{line}\n".encode()))
        except BanditError as error:
            print(f"writer {number}: {error}", file=sys.stderr)


def step(bandit, dice, say):
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


def cut_connections(url):
    """End every session of the server, in whatever it is doing."""
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND pid <> pg_backend_pid()"
        )
    engine.dispose()


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
                cut_connections(url)
    finally:
        for process in running:
            process.kill()
            process.join()
    with Bandit.open(url, "hero") as bandit:
        bandit.verify()
        log = bandit.history()
    decided = log[log.kind == "decided"].decision
    assert decided.is_unique
    check(acknowledged.read_text().splitlines(), set(decided), log.set_index("decision").reward.dropna().to_dict())


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
