"""Checks that every policy must pass: agents are saved and loaded as they were, and no damage goes unnoticed."""

import json
import re
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rotting
from every_policy import ARMS, CASES, NOT_SAVED, build, contents, play, reward_of, title
from rotting.policies import Agent, Policy, parse_policy

# Backwards: with the other checks of every policy in another process, each compiles half of the kernels.
SAVED = [case for case in reversed(CASES) if case[0] not in NOT_SAVED]


@pytest.fixture(params=SAVED, ids=title)
def saved_policy(request):
    return build(request.param)


@pytest.mark.parametrize("rounds", [0, 1, 137, 300])
def test_a_loaded_agent_takes_identical_decisions(saved_policy, rounds, tmp_path):
    agent = saved_policy.start(ARMS, seed=4)
    play(agent, rounds)
    agent.save(tmp_path / "agent.npz")
    loaded = Agent.load(tmp_path / "agent.npz")
    assert loaded.policy == agent.policy
    assert (loaded.t, loaded.n_arms) == (agent.t, agent.n_arms) == (rounds, ARMS)
    assert loaded.same_as(agent)
    for t in range(300):
        arm = agent.select()
        assert loaded.select() == arm, f"round {t} after loading"
        # Now and then a reward comes for an arm that was not chosen.
        arm = t % ARMS if t % 7 == 0 else arm
        reward = float(reward_of(arm, agent.pulls[arm]))
        agent.update(arm, reward)
        loaded.update(arm, reward)
    assert loaded.pulls.tolist() == agent.pulls.tolist()
    assert loaded.t == agent.t == rounds + 300


def test_a_loaded_agent_can_be_saved_again(saved_policy, tmp_path):
    agent = saved_policy.start(ARMS, seed=4)
    play(agent, 50)
    agent.save(tmp_path / "agent.npz")
    again = Agent.load(tmp_path / "agent.npz")
    play(again, 50)
    again.save(tmp_path / "agent.npz")
    play(agent, 50)
    assert play(Agent.load(tmp_path / "agent.npz"), 50) == play(agent, 50)
    assert [file.name for file in tmp_path.iterdir()] == ["agent.npz"]


def test_saving_leaves_the_agent_as_it_is(saved_policy, tmp_path):
    agent, untouched = saved_policy.start(ARMS, seed=4), saved_policy.start(ARMS, seed=4)
    play(agent, 70)
    play(untouched, 70)
    agent.save(tmp_path / "agent.npz")
    assert play(agent, 70) == play(untouched, 70)


def test_the_file_holds_plain_arrays_and_nothing_pickled(saved_policy, tmp_path):
    agent = saved_policy.start(ARMS, seed=4)
    play(agent, 20)
    path = tmp_path / "agent.npz"
    agent.save(path)
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    assert all(array.dtype.kind in "iufb" for array in arrays.values())
    assert arrays["state.pulls"].tolist() == agent.pulls.tolist()
    header = json.loads(bytes(arrays["header"]))
    assert parse_policy(header["policy"]) == saved_policy
    assert zipfile.ZipFile(path).testzip() is None
    assert all(name.endswith(".npy") for name in zipfile.ZipFile(path).namelist())


def test_the_file_holds_nothing_that_happened_to_be_in_memory(saved_policy, tmp_path, monkeypatch):
    """Room that is reserved but not used yet must not carry other data of the process into the file."""
    mark, plain_empty = -1.2345678987654321e-77, np.empty

    def marked_empty(*arguments, **named):
        array = plain_empty(*arguments, **named)
        if array.dtype == np.float64:
            array.fill(mark)
        return array

    with monkeypatch.context() as patch:
        patch.setattr(np, "empty", marked_empty)
        agent = saved_policy.start(ARMS, seed=4)
        play(agent, 70)
    agent.save(tmp_path / "agent.npz")
    assert np.float64(mark).tobytes() not in (tmp_path / "agent.npz").read_bytes()


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    for name in NOT_SAVED:
        agent = build((name, {})).start(ARMS, seed=0)
        with pytest.raises(ValueError, match=f"{name}.* cannot be saved"):
            agent.save(tmp_path / "agent.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    agent = rotting.UCB1().start(ARMS)
    agent.save(tmp_path / "agent.npz")
    before = (tmp_path / "agent.npz").read_bytes()
    play(agent, 10)
    monkeypatch.setattr(np, "savez", lambda *arguments, **named: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        agent.save(tmp_path / "agent.npz")
    assert (tmp_path / "agent.npz").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["agent.npz"]


# Damage


def saved_bytes(policy: Policy, path: Any, rounds: int = 30) -> bytes:
    agent = policy.start(ARMS, seed=4)
    play(agent, rounds)
    agent.save(path)
    return path.read_bytes()


def assert_damage_is_noticed(path: Any, damaged: bytes, healthy: Agent) -> bool:
    """Assert that a damaged file is refused, or loads as if it were whole; return whether it was refused.

    Some bytes of a zip file carry nothing (dates, for instance): changing them is no damage.
    """
    path.write_bytes(damaged)
    try:
        loaded = Agent.load(path)
    except ValueError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert str(path) in message
        return True
    assert loaded.policy == healthy.policy
    assert loaded._key == healthy._key
    assert contents(loaded._state) == contents(healthy._state)
    return False


def test_any_flipped_byte_is_noticed_or_harmless(tmp_path):
    """Every single byte of a small file, flipped in several ways."""
    path = tmp_path / "agent.npz"
    healthy_bytes = saved_bytes(rotting.Uniform(), path)
    healthy = Agent.load(path)
    problems = []
    refused = 0
    for mask in (0x01, 0xFF):
        for place in range(len(healthy_bytes)):
            damaged = bytearray(healthy_bytes)
            damaged[place] ^= mask
            try:
                refused += assert_damage_is_noticed(path, bytes(damaged), healthy)
            except AssertionError:
                problems.append(f"byte {place} ^ {mask:#x}: loaded as a different agent")
            except Exception as error:
                problems.append(f"byte {place} ^ {mask:#x}: {type(error).__name__}: {str(error)[:60]}")
    assert problems == []
    assert refused > len(healthy_bytes) / 2


def test_flipped_bytes_of_every_policy_are_noticed_or_harmless(saved_policy, tmp_path):
    """Bytes here and there, in the arrays of every kind of state."""
    path = tmp_path / "agent.npz"
    healthy_bytes = saved_bytes(saved_policy, path)
    healthy = Agent.load(path)
    places = np.random.default_rng(0).integers(len(healthy_bytes), size=40)
    refused = 0
    for place in places.tolist():
        damaged = bytearray(healthy_bytes)
        damaged[place] ^= 0xFF
        refused += assert_damage_is_noticed(path, bytes(damaged), healthy)
    assert refused > 0


def test_a_truncated_file_is_refused(saved_policy, tmp_path):
    path = tmp_path / "agent.npz"
    whole = saved_bytes(saved_policy, path)
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=re.escape(str(path))):
            Agent.load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"\x80\x04N.", b"\x93NUMPY\x01\x00", b"\0" * 1000])
def test_a_file_of_another_kind_is_refused(content, tmp_path):
    path = tmp_path / "agent.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        Agent.load(path)


def test_an_array_file_that_is_no_agent_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    np.savez(path, x=np.zeros(3))
    with pytest.raises(ValueError, match=re.escape(str(path))):
        Agent.load(path)


def rewritten(path: Any, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]) -> None:
    """Write the file anew with a changed header or changed arrays, intact as a zip file."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(bytes(arrays.pop("header")))
    change(header, arrays)
    arrays = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays}
    np.savez(path, **arrays)


CHANGES: dict[str, Callable[[dict[str, Any], dict[str, np.ndarray]], Any]] = {
    "format of the future": lambda header, arrays: header.update(format=999),
    "no format": lambda header, arrays: header.pop("format"),
    "no policy": lambda header, arrays: header.pop("policy"),
    "unknown policy": lambda header, arrays: header.update(policy="NoSuchPolicy()"),
    "policy that is no text": lambda header, arrays: header.update(policy=3),
    "bad parameter": lambda header, arrays: header.update(policy="UCB1(sigma=-1)"),
    "another policy": lambda header, arrays: header.update(policy="FEWA()"),
    "fewer arms": lambda header, arrays: header.update(n_arms=2),
    "more arms": lambda header, arrays: header.update(n_arms=4),
    "no arms": lambda header, arrays: header.update(n_arms=0),
    "arms that are no number": lambda header, arrays: header.update(n_arms="3"),
    "negative key": lambda header, arrays: header.update(key=-1),
    "huge key": lambda header, arrays: header.update(key=2**64),
    "key that is no number": lambda header, arrays: header.update(key="x"),
    "array missing": lambda header, arrays: arrays.pop("state.totals"),
    "array too short": lambda header, arrays: arrays.update({"state.totals": np.zeros(1)}),
    "array too long": lambda header, arrays: arrays.update({"state.totals": np.zeros(7)}),
    "array of another kind": lambda header, arrays: arrays.update({"state.totals": np.zeros(3, np.float32)}),
    "array with more axes": lambda header, arrays: arrays.update({"state.totals": np.zeros((3, 1))}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_does_not_fit_together_is_refused(change, tmp_path):
    """Compiled code trusts the state: an array that is too short would be read beyond its end."""
    path = tmp_path / "agent.npz"
    saved_bytes(rotting.UCB1(), path)
    rewritten(path, lambda header, arrays: None)
    Agent.load(path)  # the rewriting itself is harmless
    rewritten(path, change)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        Agent.load(path)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npz"):
        Agent.load(tmp_path / "nowhere.npz")
