"""Blocks: how a plan is cut, that they hold what `simulate` finds, and that no changed bit goes unnoticed."""

import functools
import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting import FEWA, UCB1, EpsilonGreedy, Uniform, simulate
from rotting.errors import DamagedFile
from rotting.play import threads
from rotting.problems import stationary, ten_arm, two_arm
from rotting.sweeps import Plan, blocks
from rotting.sweeps.blocks import Content, cut, decode, encode
from rotting.sweeps.running import played_blocks

SMALL = Plan((FEWA(), EpsilonGreedy()), (two_arm(horizon=50), stationary([0.1, 0.5, 0.2])), 7, seed=3, rounds=5)


def compute(plan, block):
    (content,) = played_blocks(plan, {block: [block]}, threads(2), functools.partial(Content, plan))
    assert content.numbers == block
    return encode(content)


def sizes_of(chosen):
    return [len(block) for block in chosen]


@settings(max_examples=60, deadline=None)
@given(
    horizons=st.lists(st.integers(1, 10**8), min_size=1, max_size=6, unique=True),
    policies=st.integers(1, 4),
    runs=st.integers(1, 3000),
)
def test_blocks_cover_all_runs_once_and_are_not_many(horizons, policies, runs):
    plan = Plan(
        tuple(FEWA(alpha=1.0 + number) for number in range(policies)),
        tuple(two_arm(L=1, horizon=horizon) for horizon in horizons),
        runs,
        rounds=1,
    )
    chosen = cut(plan)
    assert [number for block in chosen for number in (block.start, block.stop)] == sorted(
        [0, plan.total_runs, *[block.start for block in chosen[1:]] * 2]
    )
    assert all(sizes_of(chosen))
    assert len(chosen) <= 2 * blocks.MAX_FULL_BLOCKS + 1
    # No block of several runs is longer than it should be.
    costs = [blocks.nanoseconds(problem) for problem in plan.problems]
    limit = max(blocks.BLOCK_NANOSECONDS, 1 + policies * runs * sum(costs) // blocks.MAX_FULL_BLOCKS)
    for block in chosen:
        assert len(block) == 1 or sum(len(piece.runs) * costs[piece.problem] for piece in plan.pieces(block)) <= limit


def test_ten_thousand_small_cells_share_few_blocks():
    plan = Plan(
        tuple(FEWA(alpha=0.01 * (1 + place)) for place in range(100)),
        tuple(stationary([0.0, 0.01 * place]) for place in range(100)),
        1,
        rounds=10,
    )
    assert plan.cells == 10_000
    assert len(cut(plan)) < 200


def test_blocks_of_results_that_take_room_are_not_large():
    plan = Plan((Uniform(),), (two_arm(horizon=256),), 100_000)
    for block in cut(plan):
        assert len(block) * 8 * (256 + 2) <= blocks.MAX_BYTES


def test_long_runs_are_blocks_of_their_own():
    plan = Plan((Uniform(),), (two_arm(horizon=10**9),), 3, rounds=1)
    assert sizes_of(cut(plan)) == [1, 1, 1]


@pytest.mark.parametrize("block", [range(28), range(3, 25), range(13, 15), range(27, 28)], ids=repr)
def test_a_block_holds_what_simulate_finds(block):
    found = decode(SMALL, block, compute(SMALL, block))
    regret, pulls = [], []
    for number in block:
        problem, rest = divmod(number, 14)
        policy, run = divmod(rest, 7)
        alone = simulate(SMALL.policies[policy], SMALL.problems[problem], runs=7, seed=3, rounds=5, progress=False)
        regret.append(alone.regret.values[0, run])
        pulls.append(alone.pulls.values[0, run])
    np.testing.assert_array_equal(np.concatenate([each.ravel() for each in found.regrets]), np.concatenate(regret))
    np.testing.assert_array_equal(np.concatenate([each.ravel() for each in found.pulls]), np.concatenate(pulls))


def test_the_same_block_has_the_same_bytes():
    assert compute(SMALL, range(5, 9)) == compute(Plan.from_text(SMALL.text), range(5, 9))


def test_numpy_and_unzip_read_blocks():
    encoded = compute(SMALL, range(6, 9))
    with np.load(io.BytesIO(encoded)) as archive:
        assert archive["run"].tolist() == [6, 0, 1]
        assert archive["policy"].tolist() == [0, 1, 1]
        assert archive["problem"].tolist() == [0, 0, 0]
        assert str(archive["plan"]) == SMALL.digest
    assert zipfile.ZipFile(io.BytesIO(encoded)).testzip() is None


@pytest.fixture(scope="module")
def encoded():
    return compute(SMALL, range(4))


@settings(max_examples=200, deadline=None)
@given(data=st.data(), bit=st.integers(0, 7))
def test_any_changed_bit_is_noticed(encoded, data, bit):
    changed = bytearray(encoded)
    changed[data.draw(st.integers(0, len(encoded) - 1))] ^= 1 << bit
    with pytest.raises(DamagedFile):
        decode(SMALL, range(4), bytes(changed))


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_any_truncation_is_noticed(encoded, data):
    length = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(DamagedFile):
        decode(SMALL, range(4), encoded[:length])


def test_longer_and_other_files_are_noticed(encoded):
    for other in (encoded + b"\0", encoded * 2, b"", b"hello", bytes(len(encoded))):
        with pytest.raises(DamagedFile):
            decode(SMALL, range(4), other)


def test_a_sound_block_in_the_wrong_place_is_noticed(encoded):
    with pytest.raises(DamagedFile, match="other runs"):
        decode(SMALL, range(4, 8), encoded)
    with pytest.raises(DamagedFile, match="other runs"):
        decode(SMALL, range(3), encoded)
    other = Plan((FEWA(), UCB1()), SMALL.problems, 7, seed=3, rounds=5)
    with pytest.raises(DamagedFile, match="another plan"):
        decode(other, range(4), encoded)


def test_ten_arms_at_the_default_rounds():
    plan = Plan((UCB1(),), (ten_arm(),), 2)
    found = decode(plan, range(2), compute(plan, range(2)))
    alone = simulate(UCB1(), ten_arm(), runs=2, progress=False)
    np.testing.assert_array_equal(found.of(range(2))[0], alone.regret.values[0])
