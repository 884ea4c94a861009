"""Saved states with any values in them: they work, or they are refused; nothing crashes the process."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rotting
from rotting import Agent
from rotting.errors import DamagedFile
from rotting.policies import POLICIES, Policy

PACKAGE = Path(rotting.__file__).parent

# Plays every damaged file in some folders, in a process of its own: an index out of range could end it.
PLAY = textwrap.dedent("""
    import sys
    from pathlib import Path
    from rotting import Agent
    for folder in sys.argv[1:]:
        outcomes = {"refused": 0, "played": 0}
        for path in sorted(Path(folder).glob("*.npz")):
            print(path, file=sys.stderr, flush=True)
            try:
                agent = Agent.load(path)
            except ValueError as error:
                assert path.name in str(error), error
                outcomes["refused"] += 1
                continue
            for t in range(80):
                arm = agent.select()
                assert 0 <= arm < agent.n_arms
                agent.update(t % 3 if t % 5 == 0 else arm, (t % 7) / 7)
            agent.select_among([0, 2], agent._key)
            if agent.policy.explains:
                agent.explain()
            outcomes["played"] += 1
        print(folder, outcomes["refused"], outcomes["played"], sep="\\t", flush=True)
""")
NUMBERS = {
    "i": [-1, -(2**40), 1, 3, 255, 256, 10**6, 2**31, 2**47, 2**62, -(2**63)],
    "u": [0, 1, 255],
    "f": [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, -1e300, 1e-300, 0.5],
    "b": [0, 1],
}


def damaged(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a copy with one entry, some entries or all of them changed to something that may not be."""
    worse = array.copy()
    values = np.array(NUMBERS[array.dtype.kind]).astype(array.dtype)
    how = rng.integers(3)
    if how == 0 and worse.size:
        worse.flat[rng.integers(worse.size)] = rng.choice(values)
    elif how == 1:
        worse[...] = rng.choice(values, worse.shape)
    else:
        worse[...] = rng.choice(values)
    return worse


SAVED = [name for name in POLICIES if name != "Oracle"]


def save_damaged(name: str, build_policy: Callable[..., Policy], folder: Path) -> int:
    """Save agents of a policy as they are and with changed arrays; return how many files there are."""
    rng = np.random.default_rng(sum(map(ord, name)))
    variants = {"EffFEWA": [{}, {"grid": 1.3}], "EffRAWUCB": [{}, {"grid": 1.3}], "WSWA": [{}, {"restart": True}]}
    made = 0
    for chosen in variants.get(name, [{}]):
        agent = build_policy(name, **chosen).start(3, seed=1)
        for t in range(600):
            agent.update(t % 3 if t % 4 == 0 else agent.select(), (t % 11) / 11)
        agent.save(folder / "whole.npz")
        with np.load(folder / "whole.npz") as file:
            arrays = dict(file)
        for field, array in arrays.items():
            if field == "header":
                continue
            for _ in range(6):
                made += 1
                np.savez(folder / f"{made:04d}-{field}.npz", **{**arrays, field: damaged(array, rng)})
    return made + 1


@pytest.fixture(scope="module")
def outcomes(build_policy, tmp_path_factory):
    """Return by policy: how many files there are, and how many were refused and played, or what ended the process.

    One process plays them all, as starting one takes longer than playing; where it ends, another goes on.
    """
    root = tmp_path_factory.mktemp("damaged")
    folders = {name: root / name for name in SAVED}
    made, found = {}, {}
    for name, folder in folders.items():
        folder.mkdir()
        made[name] = save_damaged(name, build_policy, folder)
    left = list(SAVED)
    while left:
        command = [sys.executable, "-c", PLAY, *(str(folders[name]) for name in left)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        for line in done.stdout.splitlines():
            folder, refused, played = line.split("\t")
            found[Path(folder).name] = (int(refused), int(played))
        left = [name for name in left if name not in found]
        if left:
            found[left.pop(0)] = done.stderr[-500:]
    return {name: (made[name], found[name]) for name in SAVED}


@pytest.mark.parametrize("name", SAVED)
def test_any_value_in_any_array_is_played_or_refused(name, outcomes):
    made, found = outcomes[name]
    assert not isinstance(found, str), f"{name}: {found}"
    refused, played = found
    assert refused + played == made
    assert played >= 1  # the whole one


@pytest.mark.parametrize(
    ("policy", "array", "change", "says"),
    [
        (rotting.SlidingWindowUCB(tau=50), "state.place", lambda a: a + 10**6, "arms that do not exist"),
        (rotting.RAWUCB(), "state.window", lambda a: a + 10**6, "has no rewards"),
        (rotting.UCB1(), "state.pulls", lambda a: -a - 1, "pulls"),
        (rotting.UCB1(), "state.settings", lambda a: a + 1, "settings are not those of UCB1"),
        (rotting.UCB1(), "state.totals", lambda a: a * np.nan, "not a number"),
        (rotting.FEWA(), "state.history.page", lambda a: a * 0, "history"),
        (rotting.FEWA(), "state.short", lambda a: a + 1.0, "last 1 rewards"),
        (rotting.AdwinUCB(), "state.rows", lambda a: a + 30, "windows"),
        (rotting.WSWA(), "state.counted", lambda a: a + 10**6, "counts"),
        (rotting.EffFEWA(), "state.windows.sizes", lambda a: a // 2, "windows"),
    ],
)
def test_the_reason_is_given(policy, array, change, says, tmp_path):
    agent = policy.start(3, seed=1)
    for t in range(200):
        agent.update(agent.select(), (t % 11) / 11)
    agent.save(tmp_path / "agent.npz")
    with np.load(tmp_path / "agent.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "agent.npz", **{**arrays, array: change(arrays[array])})
    with pytest.raises(DamagedFile, match=says):
        Agent.load(tmp_path / "agent.npz")


def test_working_memory_is_blank_after_loading(tmp_path):
    """What it holds decides nothing, so it need not be trusted."""
    agent = rotting.FEWA(alpha=5.0, sigma=0.1).start(2)
    for t in range(3000):
        agent.update(agent.select(), (t % 11) / 11)
    agent.save(tmp_path / "agent.npz")
    loaded = Agent.load(tmp_path / "agent.npz")
    assert loaded.same_as(agent)
    assert loaded._state.proofs.notes.tolist() == rotting.FEWA().initial_state(2).proofs.notes.tolist()
    for t in range(500):
        assert loaded.select() == agent.select()
        agent.update(agent.select(), (t % 13) / 13)
        loaded.update(loaded.select(), (t % 13) / 13)


def test_too_many_arms_are_refused_without_taking_the_memory(tmp_path):
    import json

    rotting.UCB1().start(2).save(tmp_path / "agent.npz")
    with np.load(tmp_path / "agent.npz") as file:
        arrays = dict(file)
    header = json.loads(bytes(arrays["header"])) | {"n_arms": 10**15}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(tmp_path / "agent.npz", **arrays)
    with pytest.raises(DamagedFile, match="1000000000000000 arms"):
        Agent.load(tmp_path / "agent.npz")


def test_a_loaded_agent_goes_on_without_copying_its_history(tmp_path):
    agent = rotting.FEWA().start(2)
    agent.update_many([0, 1] * 40_000, [0.5] * 80_000)
    agent.update_many([0] * 3000, [0.5] * 3000)  # grows by an eighth, of which this takes a part
    agent.save(tmp_path / "agent.npz")
    loaded = type(agent).load(tmp_path / "agent.npz")
    before = loaded._state.history.high
    loaded.update(0, 0.5)
    assert loaded._state.history.high is before
    loaded.update_many([0] * 20_000, [0.5] * 20_000)
    assert loaded._state.history.high is not before
