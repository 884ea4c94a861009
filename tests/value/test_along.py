"""The compiled plays, against agents that are led by hand."""

import numpy as np
import pytest

from rotting import FEWA, UCB1, BetaThompson
from rotting._core.randomness import stream_key
from rotting.value.along import Learnt, Played, play_tapes, play_thinned
from rotting.value.candidates import Candidate
from rotting.value.logged import Logged


def logged(arms, rewards, known=None, probability=0.5):
    arms, rewards = np.array(arms, np.int64), np.array(rewards, float)
    return Logged(
        name="the log",
        arms=tuple(map(str, range(arms.max() + 1))),
        arm=arms,
        reward=rewards,
        probability=np.full(len(arms), probability),
        known=np.arange(len(arms)) if known is None else np.array(known),
        learnt=Learnt(arms, rewards),
        times=np.arange(float(len(arms))),
    )


@pytest.fixture
def log():
    random = np.random.default_rng(5)
    arms = random.integers(0, 3, 300)
    return logged(arms, random.random(300) < 0.1 * (arms + 1), known=np.arange(300) // 7 * 7)


@pytest.mark.parametrize("policy", [UCB1(sigma=0.5), FEWA(sigma=0.5)])
def test_a_policy_learns_what_the_log_had_learnt(log, policy):
    weighed = Candidate("it", policy).weigh(log, stream_key(0, 1))
    agent, done = policy.start(3), 0
    for row in range(log.rows):
        while done < log.known[row]:
            agent.update(int(log.arm[done]), float(log.reward[done]))
            done += 1
        assert weighed.chance[row] == float(agent.select() == log.arm[row])


def test_fixed_shares_are_their_own_probabilities(log):
    weighed = Candidate("it", shares=np.array([0.5, 0.25, 0.25])).weigh(log, stream_key(0, 1))
    assert set(weighed.chance[log.arm == 0]) == {0.5}
    assert weighed.value == pytest.approx(_predicted(log) @ [0.5, 0.25, 0.25])


def _predicted(log):
    """Running means that begin at that of all arms, which counts as ten rewards: for each row and arm."""
    found, done, means, counts = [], 0, np.zeros(3), np.zeros(3)
    for row in range(log.rows):
        while done < log.known[row]:
            arm, everything = log.arm[done], log.reward[: done + 1].mean()
            means[arm] = everything if counts[arm] == 0 else means[arm]
            counts[arm] += 1
            means[arm] += (log.reward[done] - means[arm]) / (counts[arm] + 10)
            done += 1
        found.append(np.where(counts > 0, means, log.reward[:done].mean() if done else 0.0))
    return np.array(found)


def test_shares_of_draws_tell_the_probabilities_of_randomised_policies(log):
    weighed = Candidate("it", BetaThompson()).weigh(log, stream_key(0, 1))
    assert ((weighed.chance >= 0) & (weighed.chance <= 1)).all()
    assert weighed.chance[:50].mean() == pytest.approx(1 / 3, abs=0.1)


@pytest.mark.parametrize("lag", [0, 4])
def test_the_tape_gives_an_arm_its_nth_logged_reward(log, lag):
    order = np.argsort(log.arm, kind="stable")
    tape, first = log.reward[order], np.concatenate([[0], np.cumsum(np.bincount(log.arm))])
    played = Played(np.zeros(log.rows, np.int64), np.zeros(log.rows))
    state = Candidate("it", UCB1(sigma=0.5)).state(3, log.rows)
    number = play_tapes(state, tape, first, lag, stream_key(0, 1), np.zeros(3, np.int64), played)
    agent, used = UCB1(sigma=0.5).start(3), [0, 0, 0]
    for t in range(number):
        if t > lag:
            agent.update(int(played.arms[t - lag - 1]), float(played.rewards[t - lag - 1]))
        arm = agent.select()
        assert (played.arms[t], played.rewards[t]) == (arm, tape[first[arm] + used[arm]])
        used[arm] += 1
    assert max(np.array(used) - np.diff(first)) == 0  # it ended because a tape did


def test_the_thinned_log_is_played_on_rows_that_show_what_is_wanted(log):
    played = Played(np.zeros(log.rows + 1, np.int64), np.zeros(log.rows + 1))
    state = Candidate("it", UCB1(sigma=0.5)).state(3, log.rows)
    number = play_thinned(state, log.arm, log.reward, np.ones(log.rows), 0, stream_key(0, 1), stream_key(0, 2), played)
    agent, row = UCB1(sigma=0.5).start(3), 0
    for t in range(number):
        arm = agent.select()
        while log.arm[row] != arm:
            row += 1
        assert (played.arms[t], played.rewards[t]) == (arm, log.reward[row])
        agent.update(arm, float(log.reward[row]))
        row += 1
    assert not (log.arm[row:] == agent.select()).any()
