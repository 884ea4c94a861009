"""Several processes at one bandit, and processes that die in the middle of it."""

import multiprocessing
import os
import random
import signal
import time
import traceback

import numpy as np
import pytest

from rotting import Bandit, EffFEWA
from rotting.bandit.log import snapshotting

COLOURS = ["red", "green", "blue"]
POLICY = EffFEWA(sigma=0.5)
# Forked processes start at once; where there is no fork, they import everything first.
CONTEXT = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")


def work(url, number, rounds, errors):
    """Decide and reward; whatever goes wrong goes into the queue."""
    try:
        bandit = Bandit.open(url, "hero", POLICY, COLOURS)
        for place in range(rounds):
            choice = bandit.decide()
            bandit.reward(choice.id, float((place * number) % 3 == 0))
            if place % 10 == number:  # batches, and arms that come and go, in between
                batch = bandit.decide(2, among=["red", "blue"])
                bandit.reward_many({one.id: 0.5 for one in batch})
                bandit.retire_arm("green")
                bandit.restore_arm("green")
        bandit.close()
    except BaseException:
        errors.put(traceback.format_exc())


def together(url, processes, rounds):
    POLICY.start(3).select_among([0, 1, 2], np.uint64(0))  # loads machine code once, before the processes are forked
    errors = CONTEXT.Queue()
    running = [CONTEXT.Process(target=work, args=(url, number, rounds, errors)) for number in range(processes)]
    for process in running:
        process.start()
    for process in running:
        process.join(timeout=1000)
    assert [process.exitcode for process in running] == [0] * processes
    assert errors.empty(), errors.get()
    batches = 2 * sum(place % 10 == number for number in range(processes) for place in range(rounds))
    return processes * rounds + batches


def check_together(url, processes, rounds):
    """Nothing is lost, doubled or incomplete, though the processes even race to make the bandit."""
    expected = together(url, processes, rounds)
    bandit = Bandit.open(url, "hero")
    verified = bandit.verify()
    assert (verified.decisions, verified.rewards) == (expected, expected)
    log = bandit.history()
    decided = log[log.kind == "decided"].decision
    assert decided.is_unique
    assert sorted(decided) == sorted(log[log.kind == "rewarded"].decision)
    assert log.seq.tolist() == list(range(1, len(log) + 1))


def test_eight_processes(url):
    check_together(url, processes=8, rounds=15)


@pytest.mark.soak
def test_eight_processes_for_longer(url):
    check_together(url, processes=8, rounds=625)


# Processes that die.


def work_until_killed(url, acknowledged):
    """Decide and reward at full speed; say so after each call has returned."""
    bandit = Bandit.open(url, "hero")
    said = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for place in range(10**9):
        choice = bandit.decide()
        os.write(said, f"decided {choice.id}\n".encode())
        value = float(place % 7)
        bandit.reward(choice.id, value)
        os.write(said, f"rewarded {choice.id} {value}\n".encode())


def check_kills(url, folder, kills, monkeypatch):
    """After each kill: whatever was acknowledged is there, and the log verifies."""
    monkeypatch.setattr(snapshotting, "EVENTS_PER_SNAPSHOT", 50)  # so that some die while they write one
    monkeypatch.setattr(snapshotting, "BYTES_PER_EVENT", 10**6)
    dice = random.Random(7)
    Bandit.open(url, "hero", POLICY, COLOURS).close()
    acknowledged = folder / "acknowledged"
    for _ in range(kills):
        process = CONTEXT.Process(target=work_until_killed, args=(url, acknowledged))
        process.start()
        before = acknowledged.stat().st_size if acknowledged.exists() else 0
        while not acknowledged.exists() or acknowledged.stat().st_size == before:
            assert process.is_alive()
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.2))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with Bandit.open(url, "hero") as bandit:
            bandit.verify()
            log = bandit.history()
            check_acknowledged(acknowledged.read_text().splitlines(), log)
            pending = set(log[log.kind == "decided"].decision) - set(log[log.kind == "rewarded"].decision)
            for decision in pending:  # that was not acknowledged; it can still be given
                assert bandit.reward(decision, 0.0) is True


def check_acknowledged(lines, log):
    decided = set(log[log.kind == "decided"].decision)
    rewards = log[log.kind == "rewarded"].set_index("decision").reward.to_dict()
    for line in lines:
        what, decision, *value = line.split()
        assert decision in decided
        if what == "rewarded":
            assert rewards[decision] == float(value[0])
    assert lines


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="NOT TESTED: this system has no SIGKILL")
def test_killed_ten_times(url, tmp_path, monkeypatch):
    check_kills(url, tmp_path, 10 if url.startswith("sqlite") else 5, monkeypatch)


@pytest.mark.soak
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="NOT TESTED: this system has no SIGKILL")
def test_killed_fifty_times(url, tmp_path, monkeypatch):
    check_kills(url, tmp_path, 50, monkeypatch)
