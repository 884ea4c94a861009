import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from reference import eff_fewa, fewa
from reference.worlds import WORLDS, rewards_in
from rotting.policies import Agent
from rotting.policies.eff_fewa import EffFEWA
from rotting.policies.fewa import FEWA
from side_by_side import assert_same_run, assert_survives_extremes

KINDS = [(2.0, "nested"), (2.0, "blocks"), (2.0, "printed"), (1.5, "nested"), (1.1, "nested"), (1.01, "nested")]

READINGS = ("nested", "blocks", "printed")


def pair(n_arms, *parameters):
    """Return the policy and its literal transcription."""
    return EffFEWA(*parameters), eff_fewa.EffFEWA(n_arms, *parameters)


def same_filter(agent, reference):
    """Assert that every arm was dropped at the same window, or by none."""
    windows = [verdict.window for verdict in agent.explain().arms]
    assert windows == reference.dropped, f"dropped at {windows} instead of {reference.dropped}, pulls {agent.pulls}"


def stored(agent):
    """Return the stored window sums of an agent with a single arm."""
    return agent._state.windows.sums.ravel().tolist()


@settings(max_examples=80, deadline=None)
@given(
    world=st.sampled_from(sorted(WORLDS)),
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 8),
    rounds=st.integers(1, 350),
    scale=st.sampled_from([1.0, -1.0, 1e12, 1e-12]),
    alpha=st.one_of(st.just(0.06), st.floats(0.01, 5)),
    noise=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    delta0=st.one_of(st.just(1.0), st.floats(0.1, 10)),
    kind=st.one_of(st.sampled_from(KINDS), st.tuples(st.floats(1, 2, exclude_min=True), st.just("nested"))),
    stray=st.sampled_from([0.0, 0.1, 1.0]),
)
def test_decides_as_the_literal_rule(world, seed, n_arms, rounds, scale, alpha, noise, delta0, kind, stray):
    policy, reference = pair(n_arms, alpha, noise * abs(scale), delta0, *kind)
    rewards = rewards_in(world, n_arms, rounds, seed, scale)
    assert_same_run(policy, reference, rewards, rounds=rounds, seed=seed, stray=stray, compare=same_filter)


@pytest.mark.parametrize("world", ["close", "walk", "drift", "coins", "spikes", "tenths"])
@pytest.mark.parametrize(("grid", "refresh"), KINDS[:5])
def test_decides_as_the_literal_rule_for_long(world, grid, refresh):
    policy, reference = pair(3, 0.06, {"walk": 20.0, "spikes": 5.0}.get(world, 0.5), 1.0, grid, refresh)
    rewards = rewards_in(world, 3, 1200, 9)
    assert_same_run(policy, reference, rewards, rounds=1200, seed=9, stray=0.2, compare=same_filter)


@pytest.mark.parametrize("world", sorted(WORLDS))
def test_a_fine_grid_is_fewa(world):
    rewards = rewards_in(world, 3, 400, 4)
    policy = EffFEWA(alpha=0.06, sigma=0.5, grid=1 + 1e-9)
    assert_same_run(policy, fewa.FEWA(3, 0.06, 0.5), rewards, rounds=400, seed=4, stray=0.2, compare=same_filter)


@pytest.mark.parametrize(
    ("grid", "sizes", "periods"),
    [
        (2.0, [1, 2, 4, 8, 16, 32, 64], [1, 1, 2, 4, 8, 16, 32]),
        (1.5, [1, 2, 3, 5, 8, 12, 18, 27], [1, 1, 1, 2, 4, 4, 8, 16]),
        (1.25, [1, 2, 3, 4, 5, 7, 9, 12, 15, 19], [1, 1, 1, 1, 1, 2, 2, 4, 4, 4]),
        (math.nextafter(1, 2), list(range(1, 30)), [1] * 29),
    ],
)
def test_the_grid_by_hand(grid, sizes, periods):
    nested = eff_fewa.Nested(grid)
    assert [nested.size(j) for j in range(len(sizes))] == sizes
    assert nested.periods == periods
    agent = EffFEWA(alpha=0.06, sigma=1.0, grid=grid).start(1)
    for n in range(1, 65):
        agent.update(0, float(n))
    assert agent._state.windows.sizes[: len(sizes)].tolist() == sizes
    for h, w, total in zip(sizes, periods, stored(agent)[: len(sizes)], strict=True):
        last = 64 - (64 - h) % w  # the pull at which window h was refreshed last
        assert total == sum(range(last - h + 1, last + 1))


def test_nested_refreshes_as_the_text_says():
    """Window 2^j misses at most 2^(j-1) - 1 samples, and is made of exactly the last 2^j when refreshed."""
    agent, arm = EffFEWA().start(1), eff_fewa.Nested(2.0)
    for n in range(1, 400):
        agent.update(0, float(n))
        arm.update(float(n))
        for j in range(n.bit_length()):
            half = max(1, 2**j // 2)
            last = n // half * half
            expected = sum(range(last - 2**j + 1, last + 1))
            assert stored(agent)[j] == arm.sums[j] == expected
            assert n - last <= max(0, 2 ** (j - 1) - 1)


def test_blocks_refresh_as_the_main_text_says():
    agent, arm = EffFEWA(refresh="blocks").start(1), eff_fewa.Blocks()
    for n in range(1, 400):
        agent.update(0, float(n))
        arm.update(float(n))
        for j in range(n.bit_length()):
            last = n // 2**j * 2**j
            assert stored(agent)[j] == arm.sums[j] == sum(range(last - 2**j + 1, last + 1))


def test_printed_refreshes_as_the_pseudo_code_says():
    """Created with the 2^j-th pull, then replaced one pull before the blocks are."""
    agent, arm = EffFEWA(refresh="printed").start(1), eff_fewa.Printed()
    for n in range(1, 400):
        agent.update(0, float(n))
        arm.update(float(n))
        for j in range(n.bit_length()):
            last = max(2**j, (n + 1) // 2**j * 2**j - 1)
            assert stored(agent)[j] == arm.sums[j] == sum(range(last - 2**j + 1, last + 1))


@pytest.mark.parametrize(("grid", "refresh"), [*KINDS[:2], (1 + 1e-9, "nested")])
@pytest.mark.parametrize("window", [1, 4, 16, 64, 256])
def test_on_the_threshold_an_arm_stays(window, grid, refresh):
    # Arm 1 trails by 4 sqrt(window) at its last window, in a round at which theta is 4, and has fewer pulls.
    t = 3 * window + 1
    delta0 = math.exp(-2)
    assert math.log(delta0) == -2
    limit = 4 * math.sqrt(window)
    for surplus, expected in ((0.0, 1), (math.ulp(limit), 0), (-math.ulp(limit / 2), 1)):
        policy, reference = pair(2, 1e-300, 1.0, delta0, grid, refresh)
        assert fewa.filter_width(t, *reference.parameters) == 4.0
        agent = policy.start(2)
        for n in range(2 * window):
            agent.update(0, limit + surplus if n == window else 0.0)
            reference.update(0, limit + surplus if n == window else 0.0)
        for _ in range(window):
            agent.update(1, 0.0)
            reference.update(1, 0.0)
        assert agent.select() == reference.select() == expected


def test_memory_does_not_grow_with_the_pulls():
    agent = EffFEWA().start(2)
    before = agent._state.windows.sums.nbytes + agent._state.windows.newest.nbytes
    for _ in range(1000):
        agent.update(0, 1.0)
    assert agent._state.windows.sums.nbytes + agent._state.windows.newest.nbytes == before < 3000


def test_regret_is_close_to_that_of_fewa():
    # Same rewards: one arm of two drops to nothing after 300 pulls.
    pulls = []
    for policy in (FEWA(), EffFEWA(), EffFEWA(refresh="blocks"), EffFEWA(refresh="printed"), EffFEWA(grid=1.3)):
        agent = policy.start(2)
        rewards = rewards_in("drops", 2, 1000, 1)
        for _ in range(1000):
            arm = agent.select()
            agent.update(arm, rewards[arm][agent.pulls[arm]] + (2.0 if arm == 0 and agent.pulls[0] < 300 else 0.0))
        pulls.append(agent.pulls[0])
    assert max(pulls) - min(pulls) < 100


@pytest.mark.parametrize(
    "policy", [EffFEWA(), EffFEWA(refresh="blocks"), EffFEWA(refresh="printed"), EffFEWA(grid=1.5)]
)
def test_survives_extremes(policy):
    assert_survives_extremes(policy)


@pytest.mark.parametrize(
    "bad",
    [{"alpha": 0}, {"sigma": -1}, {"delta0": 0}, {"grid": 1}, {"grid": 2.1}, {"refresh": "never"}],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        EffFEWA(**bad)


@pytest.mark.parametrize("refresh", ["blocks", "printed"])
def test_only_nested_windows_have_a_finer_grid(refresh):
    with pytest.raises(ValueError, match=refresh):
        EffFEWA(grid=1.5, refresh=refresh)


def test_the_three_readings_are_three_policies():
    """On the paper's ten arms they decide differently (11 % of the decisions of two of them differ in one run)."""
    runs = [
        rotting.simulate(EffFEWA(refresh=refresh), rotting.problems.ten_arm(), 3000, runs=1).pulls.values
        for refresh in READINGS
    ]
    assert len({tuple(pulls.ravel()) for pulls in runs}) == 3


def test_as_printed_counts_of_a_file_must_fit(tmp_path):
    agent = EffFEWA(refresh="printed").start(2)
    agent.update(0, 1.0)
    agent._state.windows.blocks.pulls[0] = 7
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(ValueError, match="windows are inconsistent"):
        Agent.load(tmp_path / "agent.npz")
