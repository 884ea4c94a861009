"""Checks that every policy must pass. They find the policies by themselves.

A new policy needs no line here, unless it has parameters without a usable default: those go into `NEEDS`.
"""

import dataclasses
import json
import re
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rotting
import rotting.policies
from rotting import simulate
from rotting._core.randomness import CHOICE, NOISE, normal, stream_key
from rotting.policies import Agent, Policy, parse_policy
from rotting.policies._engine.contract import fresh_state
from rotting.policies._engine.kernel import decide
from rotting.problems import Drop, Problem
from rotting.problems.curves import Constant, Power

# What a policy cannot do without, as a function of the number of arms.
NEEDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "CTO": lambda n_arms: {"curves": (Power(theta=0.1), Power(theta=0.5), Constant(0.4))},
    "Oracle": lambda n_arms: {"problem": Problem([Power(theta=0.2 * (arm + 1)) for arm in range(n_arms)])},
}
# Parameters that lead to other compiled code or to another kind of state than the defaults do.
VARIANTS = [
    ("AdwinUCB", {"bonus": False}),
    ("DiscountedUCB", {"force_below_one": True}),
    ("EffFEWA", {"refresh": "blocks"}),
    ("EffFEWA", {"grid": 1.3}),
    ("EffRAWUCB", {"grid": 1.3}),
    ("EffRAWUCBPlus", {"grid": 1.3}),
    ("WSWA", {"restart": True}),
]
# An oracle is the problem that it knows, and problems are not written to disk.
NOT_SAVED = {"Oracle"}

ARMS = 3
CLASSES = rotting.policies.POLICIES
CASES = [(name, {}) for name in CLASSES] + VARIANTS


def build(case: tuple[str, dict[str, Any]], n_arms: int = ARMS) -> Policy:
    """Return the policy of a case, able to start with that many arms."""
    name, chosen = case
    try:
        told = {"horizon": 500} if "horizon" in CLASSES[name].knows else {}
        policy = CLASSES[name](**{**NEEDS.get(name, lambda n_arms: told)(n_arms), **chosen})
        policy.initial_state(n_arms)
    except Exception as error:
        pytest.fail(f"{name} cannot be built for these checks ({error}); say in NEEDS what it needs")
    return policy


def title(case: tuple[str, dict[str, Any]]) -> str:
    return case[0] + "".join(f"-{key}={value}" for key, value in case[1].items())


@pytest.fixture(params=CASES, ids=title)
def case(request):
    return request.param


@pytest.fixture
def policy(case):
    return build(case)


def reward_of(arm: int, n: int) -> float:
    """Return the reward of an arm's pull number n: noisy, rotting, and the same for everybody."""
    return 1.0 / (1 + arm) - 0.01 * n + 0.3 * np.sin(12.9898 * n + 78.233 * arm)


def play(agent: Agent, rounds: int) -> list[int]:
    """Let the agent play; return its choices."""
    choices = []
    for _ in range(rounds):
        arm = agent.select()
        agent.update(arm, float(reward_of(arm, agent.pulls[arm])))
        choices.append(arm)
    return choices


def contents(state: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    """Return every array of a state, bit by bit."""
    found = []
    for value in state:
        if isinstance(value, tuple):
            found.extend(contents(value))
        else:
            found.append((value.dtype.str, value.shape, value.tobytes()))
    return found


# Discovery


def test_every_policy_of_the_package_is_listed():
    import pkgutil
    from importlib import import_module

    for module in pkgutil.iter_modules(rotting.policies.__path__, "rotting.policies."):
        import_module(module.name)
    own = {name for name, known in Policy.known.items() if known.__module__.startswith("rotting.policies.")}
    assert own == set(CLASSES)
    assert own <= set(rotting.__all__)
    for name in own:
        assert getattr(rotting, name) is CLASSES[name]


def test_a_policy_that_cannot_be_built_is_reported_by_name(monkeypatch):
    monkeypatch.delitem(NEEDS, "CTO")
    with pytest.raises(pytest.fail.Exception, match=r"CTO cannot be built .*curves.* NEEDS"):
        build(("CTO", {}))


def test_every_variant_differs_from_the_default():
    for name, chosen in VARIANTS:
        assert build((name, chosen)) != build((name, {}))


# Parameters


def neighbours(policy: Policy) -> list[Policy]:
    """Return policies that differ from this one in a single number, by as little as a double can."""
    found = []
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        for toward in (-np.inf, np.inf):
            if type(value) is float:
                changed = float(np.nextafter(value, toward))
            elif type(value) is int:
                changed = value + (1 if toward > 0 else -1)
            else:
                continue
            try:
                found.append(dataclasses.replace(policy, **{field.name: changed}))
            except ValueError:
                continue
    return found


def test_repr_can_be_read_back_to_the_last_digit(policy):
    assert parse_policy(repr(policy)) == policy
    for other in neighbours(policy):
        assert parse_policy(repr(other)) == other != policy


def test_policies_are_equal_when_their_parameters_are(policy):
    twin = dataclasses.replace(policy)
    assert twin is not policy
    assert twin == policy
    assert hash(twin) == hash(policy)
    assert len({policy, twin, *neighbours(policy)}) == 1 + len(neighbours(policy))
    assert all(policy != build(other) for other in CASES if title(other) != title_of(policy))


def title_of(policy: Policy) -> str:
    return next(title(other) for other in CASES if build(other) == policy)


def test_policies_are_frozen(policy):
    for name in [field.name for field in dataclasses.fields(policy)] + ["anything"]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(policy, name, 1)


def test_unknown_parameters_are_refused(case):
    with pytest.raises(TypeError):
        CLASSES[case[0]](no_such_parameter=1)


# Agents


def test_same_seed_same_run(policy):
    assert play(policy.start(ARMS, seed=5), 300) == play(policy.start(ARMS, seed=5), 300)


def depends_on_chance(policy: Policy) -> bool:
    """Say whether some decision depends on the random stream, the state being the same; or on an earlier draw."""
    if isinstance(policy, rotting.AUCBTP):  # it draws how patient to be with arms, and no arm
        return len({tuple(play(policy.start(ARMS, seed=seed), 300)) for seed in range(4)}) > 1
    agent = policy.start(ARMS, seed=0)
    compiled = decide.compiled_for(agent._state)
    for _ in range(60):
        if len({compiled(agent._state, agent.t + 1, np.uint64(key)) for key in range(20)}) > 1:
            return True
        play(agent, 1)
    return False


def test_different_seeds_differ_if_the_policy_is_randomised(policy):
    runs = {tuple(play(policy.start(ARMS, seed=seed), 300)) for seed in range(4)}
    assert len(runs) == (4 if depends_on_chance(policy) else 1)


def test_without_a_seed_a_randomised_policy_is_different_every_time(policy):
    runs = {tuple(play(policy.start(ARMS), 300)) for _ in range(2)}
    assert len(runs) == (2 if depends_on_chance(policy) else 1)


def test_randomised_policies_are_recognised():
    randomised = {name for name in CLASSES if depends_on_chance(build((name, {})))}
    assert randomised >= {"BetaThompson", "EpsilonGreedy", "Exp3", "GaussianThompson", "Rexp3", "Uniform"}
    assert not randomised & {"FEWA", "EffFEWA", "Greedy", "Oracle", "RAWUCB", "UCB1"}


def test_asking_again_gives_the_same_arm(policy):
    agent = policy.start(ARMS, seed=1)
    for _ in range(100):
        answers = [agent.select() for _ in range(4)]
        assert len(set(answers)) == 1
        assert type(answers[0]) is int
        play(agent, 1)


def test_asking_often_changes_nothing(policy):
    asked, quiet = policy.start(ARMS, seed=1), policy.start(ARMS, seed=1)
    for _ in range(150):
        for _ in range(3):
            asked.select()
        assert play(asked, 1) == play(quiet, 1)


def test_t_and_pulls_count_what_was_played(policy):
    agent = policy.start(ARMS, seed=2)
    assert agent.t == 0
    assert agent.n_arms == ARMS
    counts = [0] * ARMS
    # Rewards may come for any arm, chosen or not.
    arms = [*play(agent, 50), 2, 2, 0]
    for arm in arms[50:]:
        agent.update(arm, 0.5)
    for arm in arms:
        counts[arm] += 1
    assert agent.t == 53
    assert agent.pulls.dtype == np.int64
    assert agent.pulls.tolist() == counts


def test_pulls_are_a_copy(policy):
    agent, untouched = policy.start(ARMS, seed=2), policy.start(ARMS, seed=2)
    play(agent, 40)
    play(untouched, 40)
    agent.pulls[:] = 1_000_000
    assert agent.pulls.sum() == agent.t == 40
    assert play(agent, 40) == play(untouched, 40)


def test_one_arm_alone(case):
    agent = build(case, n_arms=1).start(1, seed=0)
    assert play(agent, 50) == [0] * 50
    assert agent.pulls.tolist() == [50]


@pytest.mark.parametrize("n_arms", [0, -1, 1.5, "3", None])
def test_a_number_of_arms_that_is_none_is_refused(policy, n_arms):
    with pytest.raises((TypeError, ValueError), match="n_arms"):
        policy.start(n_arms)


def test_a_seed_that_is_none_is_refused(policy):
    for seed in (-1, 1.5, "0", True):
        with pytest.raises(ValueError, match="seed"):
            policy.start(ARMS, seed=seed)


# Bad input

BAD_REWARDS = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": -float("inf"),
    "1.1e100": 1.1e100,
    "-1e300": -1e300,
    "float32 nan": np.float32("nan"),
    "float64 inf": np.float64("inf"),
    "10**200": 10**200,
    "None": None,
    "text": "1",
    "list": [1.0],
    "array": np.array([1.0]),
    "complex": 1j,
}


def assert_refused(policy: Policy, arm: Any, reward: Any, errors: tuple[type[Exception], ...], match: str) -> None:
    """Assert that an update is refused with a clear message, and that it leaves no trace."""
    for rounds in (0, 64, 90):  # 64: the next update makes room for more pulls
        agent, untouched = policy.start(ARMS, seed=3), policy.start(ARMS, seed=3)
        play(agent, rounds)
        play(untouched, rounds)
        before = contents(agent._state)
        with pytest.raises(errors, match=match):
            agent.update(arm, reward)
        assert contents(agent._state) == before
        assert agent.t == rounds
        assert agent.pulls.tolist() == untouched.pulls.tolist()
        assert play(agent, 30) == play(untouched, 30)


@pytest.mark.parametrize("reward", BAD_REWARDS.values(), ids=BAD_REWARDS)
def test_a_bad_reward_is_refused(policy, reward):
    assert_refused(policy, 0, reward, (TypeError, ValueError), match="reward")


def test_an_integer_beyond_every_float_is_refused_as_a_reward():
    assert_refused(rotting.UCB1(), 0, 10**400, (ValueError,), match="reward")


@pytest.mark.parametrize("arm", [-1, ARMS, 2**70, np.int64(-1), 1.5, 1.0, "a", None, [0]], ids=repr)
def test_an_unknown_arm_is_refused(policy, arm):
    assert_refused(policy, arm, 0.5, (TypeError, IndexError), match="arm=.*expected a whole number from 0 to 2")


def test_numbers_of_every_kind_are_rewards(policy):
    kinds, plain = policy.start(ARMS, seed=3), policy.start(ARMS, seed=3)
    for reward in (1, True, np.float32(0.5), np.int64(0), np.bool_(True), 0.25, 1e100, -1e100):
        kinds.update(np.int64(1), reward)
        plain.update(1, float(reward))
    assert kinds.pulls.tolist() == plain.pulls.tolist() == [0, 8, 0]
    assert play(kinds, 60) == play(plain, 60)


# Saving

SAVED = [case for case in CASES if case[0] not in NOT_SAVED]


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


# Simulations


def test_simulations_repeat(case):
    problem = Problem([Drop(1.0, 0.0, 60), 0.5, 0.3], sigma=0.5)
    first, second = (simulate(build(case), problem, horizon=200, runs=3, seed=9, progress=False) for _ in range(2))
    np.testing.assert_array_equal(first.regret, second.regret)
    np.testing.assert_array_equal(first.pulls, second.pulls)


def test_an_agent_decides_as_the_simulation_does(case):
    """The same rewards, one by one from Python: every round's regret is the same, and so is every decision.

    No two arms are ever worth the same here, so a single different decision would show.
    """
    problem = Problem([Power(theta=0.3), Drop(0.71, 0.13, 40), [0.53, 0.52, 0.5, 0.49, 0.2]], sigma=0.4)
    horizon, seed = 250, 11
    result = simulate(
        build(case), problem, horizon=horizon, runs=2, seed=seed, rounds=range(1, horizon + 1), progress=False
    )
    values = problem.means(np.arange(horizon))
    best = problem.oracle(horizon, np.arange(1, horizon + 1)).reward
    for run in range(2):
        noise = [stream_key(seed, NOISE, run, arm) for arm in range(ARMS)]
        policy = build(case).informed(problem, horizon)
        agent = Agent(policy, fresh_state(policy, ARMS), stream_key(seed, CHOICE, run))
        earned, regret = 0.0, []
        for t in range(horizon):
            arm = agent.select()
            n = int(agent.pulls[arm])
            agent.update(arm, float(values[arm, n] + problem.sigma * normal(noise[arm], n)))
            earned += values[arm, n]
            regret.append(best[t] - earned)
        np.testing.assert_array_equal(agent.pulls, result.pulls.values[0, run])
        np.testing.assert_allclose(result.regret.values[0, run], regret, rtol=0, atol=1e-9)


# Better than random. Runs are paired (common random numbers), so a difference of five standard errors of the paired
# difference would be chance in less than one run in a million; seeds are fixed all the same.


def assert_better_than_uniform(policy: Policy, problem: Problem, horizon: int) -> None:
    result = simulate(
        {"policy": policy, "uniform": rotting.Uniform()}, problem, horizon=horizon, runs=30, seed=3, progress=False
    )
    last = result.regret.isel(round=-1).values
    gain = last[1] - last[0]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    assert gain.mean() > 5 * error, f"regret {last[0].mean():.1f} against {last[1].mean():.1f}"
    # And better by far: these problems are easy.
    assert last[0].mean() < 0.8 * last[1].mean()


# Nothing rots, gaps are large, and rewards are 0 or 1: what every policy is made for, whichever family it belongs to.
# Exp3, Rexp3 and BetaThompson expect rewards in [0, 1]; for all others, 0/1 rewards are sub-Gaussian (1/2 < sigma = 1).
# CTO is told the three constants.
EASY = Problem([0.2, 0.5, 0.9], noise="bernoulli", name="easy")


# These are sure of what is not true here (a known decay, arms without end, arms that improve); their own tests say what
# they are good for.
NOT_EASY = {"AUCBTP", "LevelFilter", "REdUCB", "UCBTASW", "UCBTP", "Uniform"}


@pytest.mark.parametrize("case", [case for case in CASES if case[0] not in NOT_EASY], ids=title)
def test_better_than_uniform_where_nothing_rots(case):
    name, chosen = case
    if name == "CTO":
        chosen = {"curves": (0.2, 0.5, 0.9)}
    if name in ("Greedy", "RisingElimination"):
        # They trust single rewards, so that they are only made for arms without noise.
        assert_better_than_uniform(build(case), dataclasses.replace(EASY, noise="none"), horizon=2000)
        return
    assert_better_than_uniform(build((name, chosen)), EASY, horizon=2000)


# The best arm wears out after 300 pulls, the noise is small: the families made for rotting arms must follow.
ROTTEN = Problem([Drop(1.0, 0.0, 300), 0.6, 0.1], sigma=0.1, name="rotten")
ROTTING = [
    ("AdwinUCB", {"sigma": 0.1}),  # notices the drop
    ("EffFEWA", {"sigma": 0.1}),
    ("EffFEWA", {"sigma": 0.1, "grid": 1.3}),
    ("EffFEWA", {"sigma": 0.1, "refresh": "blocks"}),
    ("EffRAWUCB", {"sigma": 0.1}),
    ("EffRAWUCB", {"sigma": 0.1, "grid": 1.3}),
    ("EffRAWUCBPlus", {"sigma": 0.1}),
    ("FEWA", {"sigma": 0.1}),
    ("Greedy", {}),  # single rewards suffice, the noise being far below the gaps
    ("Oracle", {}),
    ("CUSUMUCB", {"first": 50}),  # notices the drop
    ("DiscountedBetaThompson", {"gamma": 0.99}),
    ("GLRKLUCB", {}),  # notices the drop
    ("GLRKLUCB", {"local": True}),
    ("MUCB", {"window": 50}),  # notices the drop
    ("RAWKLUCB", {}),
    ("SlidingWindowBetaThompson", {}),
    ("SlidingWindowGaussianThompson", {"sigma": 0.3}),
    ("RAWUCB", {"sigma": 0.1}),
    ("RAWUCBPlus", {"sigma": 0.1}),
    ("SWA", {"sigma": 0.1}),
    ("SlidingWindowUCB", {"scale": 0.5}),  # forgets by itself
    ("DiscountedUCB", {"scale": 0.2}),
    ("WSWA", {"sigma": 0.1}),
]


@pytest.mark.parametrize("case", ROTTING, ids=title)
def test_better_than_uniform_where_the_best_arm_rots(case):
    assert_better_than_uniform(build(case), ROTTEN, horizon=2000)


def test_better_than_uniform_where_the_possible_curves_are_known():
    """CTO's own setting: each arm follows one of a few known curves, whose sums move apart."""
    problem = Problem([Power(theta=theta) for theta in (1.0, 0.1, 0.5)], sigma=0.1)
    assert_better_than_uniform(rotting.CTO(curves=problem.curves), problem, horizon=2000)


def test_better_than_uniform_where_all_follow_a_known_trend():
    """AUCB's own setting: every mean is an unknown constant times a known trend."""
    problem = Problem([Power(theta=0.3, start=start) for start in (0.2, 0.5, 1.0)], sigma=0.1)
    assert_better_than_uniform(rotting.AUCB(trend=Power(theta=0.3), sigma=0.1), problem, horizon=2000)


def test_many_rewards_at_once_are_learnt_as_one_by_one(policy):
    arms = np.random.default_rng(3).integers(3, size=500).tolist()
    rewards = np.random.default_rng(4).normal(size=500).clip(0, 1).tolist()
    one_by_one, at_once = policy.start(n_arms=3, seed=1), policy.start(n_arms=3, seed=1)
    for arm, reward in zip(arms, rewards, strict=True):
        one_by_one.update(arm, reward)
    at_once.update_many(arms[:1], rewards[:1])
    at_once.update_many(arms[1:], rewards[1:])
    assert at_once.same_as(one_by_one)
    assert (at_once.t, at_once.select()) == (one_by_one.t, one_by_one.select())


@pytest.mark.parametrize(
    ("arms", "rewards", "error"),
    [([0, 3], [1.0, 1.0], IndexError), ([0, 1], [1.0, float("nan")], ValueError), ([0, 1], [1.0], ValueError)],
)
def test_of_many_rewards_all_are_refused_or_none(arms, rewards, error):
    agent = rotting.FEWA().start(n_arms=3)
    with pytest.raises(error):
        agent.update_many(arms, rewards)
    assert agent.t == agent.pulls.sum() == 0
