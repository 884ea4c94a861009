"""Policies say what they are made for, and whoever plays them elsewhere is warned, once, by name and number."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

import rotting
from rotting import FEWA, UCB1, BetaThompson, problems, simulate
from rotting._core.imported import load
from rotting._core.parameters import parameter
from rotting.errors import BadValue, PolicyDefinitionError, PolicyMismatch
from rotting.paper.experiment import experiments
from rotting.policies import MUCB, POLICIES, SSUCB, AdwinUCB, LevelFilter, Policy, REdUCB, parse_policy
from rotting.policies._contract.suited import mismatches, range_mismatches
from rotting.policies.ucb1 import UCB1State, select, update
from rotting.problems import Gaussian, Growth, LogNormal, Noise, Problem, ScaledBeta, StudentT


def texts(policy, problem, horizon=None):
    return [found.text for found in mismatches(policy, problem, horizon)]


def load_silent(folder):
    (folder / "silent_noise.py").write_text(SILENT)
    load(folder / "silent_noise.py")
    return Noise.known["Silent"]()


def warned(play):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        play()
    return [str(each.message) for each in caught if issubclass(each.category, PolicyMismatch)]


# Rewards.


def test_rewards_outside_the_range_are_said_by_number():
    [text] = texts(BetaThompson(), problems.ten_arm())
    assert text == (
        "BetaThompson(prior_successes=1) takes rewards in [0, 1]; ten_arm() pays from about -14 to 14, and up to 100 "
        "% of an arm's rewards lie outside; give low=-14 and high=14"
    )


@pytest.mark.parametrize(
    ("problem", "suits"),
    [
        (problems.piecewise(1), True),
        (problems.yahoo(), True),
        (Problem([0.5, 0.4], sigma=0.1), True),  # six in a million lie outside
        (Problem([0.5, 0.4], sigma=0.2), False),
        (Problem([0.5], noise="none"), True),
        (Problem([1.5, 1.2], noise="none"), False),
        (Problem([5.0], noise=ScaledBeta(low=0.0, high=10.0)), False),
        (Problem([0.5], noise=StudentT()), False),
        (Problem([0.5, 0.5], noise=Gaussian([0.01, 2.0])), False),  # one of the arms is enough
    ],
)
def test_a_range_fits_if_nearly_all_rewards_lie_in_it(problem, suits):
    assert (not texts(BetaThompson(), problem)) == suits
    if not suits:
        low, high = problem.reward_range
        assert not texts(BetaThompson(low=low, high=high), problem)


@pytest.mark.parametrize("noise", [Gaussian(0.7), StudentT(), LogNormal(0.5), ScaledBeta(2.0, -1.0, 4.0)])
@pytest.mark.parametrize("mean", [0.2, 0.9])
def test_chances_are_those_of_what_is_drawn(noise, mean):
    problem = Problem([mean], noise=noise)
    rewards = [reward for run in range(4) for reward in pulled(problem, 5000, run)]
    for low, high in [(-0.5, 1.0), (0.0, 0.5), (0.4, 2.0)]:
        share = np.mean([not low <= reward <= high for reward in rewards])
        assert abs(noise.outside(0, mean, low, high) - share) < 4 * 0.5 / np.sqrt(len(rewards))


@pytest.mark.parametrize("noise", ["bernoulli", rotting.problems.Binomial(4), "none"])
def test_chances_of_a_few_values_are_exact(noise):
    problem = Problem([0.3], noise=noise)
    found = {}
    for reward in pulled(problem, 20_000, 0):
        found[reward] = found.get(reward, 0) + 1 / 20_000
    for low, high in [(0.0, 1.0), (0.1, 1.0), (0.0, 0.5), (0.25, 0.75), (1.1, 2.0)]:
        share = sum(part for reward, part in found.items() if not low <= reward <= high)
        assert abs(problem.noise_model.outside(0, 0.3, low, high) - share) < 0.015


def pulled(problem, rounds, run):
    playing = rotting.simulation.Run(problem, seed=5, number=run)
    return [playing.pull(0) for _ in range(rounds)]


def test_a_noise_that_does_not_say_is_not_warned_about(tmp_path):
    noise = load_silent(tmp_path)
    problem = Problem([0.5, 3.0], noise=noise)
    assert problem.reward_range is None
    assert not texts(BetaThompson(), problem)
    assert not texts(FEWA(sigma=100), problem)


SILENT = """
from dataclasses import dataclass
from rotting.problems import Noise
def draw(problem, arm, mean, key, n):
    return mean
@dataclass(frozen=True)
class Silent(Noise, draw=draw):
    pass
"""


# Noise.


@pytest.mark.parametrize(
    ("sigma", "scale", "suits"),
    [(1, 1, True), (0.25, 1, False), (0.7, 1, True), (0.6, 1, False), (1, 0.25, True), (1, 0.2, False), (1, 0, True)],
)
def test_sigma_is_compared_with_the_noise(sigma, scale, suits):
    problem = Problem([0.5, 0.4], sigma=scale)
    for policy in (FEWA(sigma=sigma), UCB1(sigma=sigma), AdwinUCB(sigma=sigma), SSUCB(sigma=sigma, horizon=4)):
        assert (not texts(policy, problem, horizon=4)) == suits


def test_the_noisiest_arm_decides():
    problem = Problem([0.5, 0.4], noise=Gaussian([0.1, 1.0]))
    assert not texts(FEWA(sigma=1.0), problem)
    [text] = texts(FEWA(sigma=0.1), problem)
    assert text == (
        "the noise of problem has scale 1; FEWA(alpha=0.06, sigma=0.1) takes it for 1/10 of that; give sigma=1, or "
        "sigma=None to be told"
    )


def test_a_mapped_policy_has_its_sigma_on_its_own_scale():
    problem = Problem([2.0, 3.0], sigma=1.0)
    assert not texts(MUCB(low=-2.0, high=7.0, sigma=1 / 9), problem)
    assert texts(MUCB(low=-2.0, high=7.0, sigma=1.0), problem)
    told = MUCB(low=-2.0, high=7.0, sigma=None).informed(problem, 100)
    assert told.sigma == 1 / 9


def test_sigma_can_be_told():
    problem = Problem([0.5, 0.4], sigma=0.3)
    one, other = (
        simulate(policy, problem, horizon=200, runs=3, progress=False) for policy in (FEWA(sigma=None), FEWA(sigma=0.3))
    )
    np.testing.assert_array_equal(one.regret, other.regret)
    assert not texts(FEWA(sigma=None), problem)
    assert FEWA(sigma=2.0).informed(problem, 10) == FEWA(sigma=2.0)


def test_nobody_can_tell_a_scale_that_there_is_not():
    with pytest.raises(BadValue, match=r"StudentT.* has none; give sigma"):
        simulate(FEWA(sigma=None), Problem([0.5], noise=StudentT()), horizon=10, runs=1)
    with pytest.raises(BadValue, match="sigma=None leaves open the scale of the noise; give a number"):
        FEWA(sigma=None).start(2)


# Arms.


def test_rules_for_one_kind_of_arms_are_said():
    [text] = texts(REdUCB(sigma=1.0), problems.two_arm())
    assert text.endswith("arms that rise; two_arm(L=0.233, horizon=10000) has arms that fall, such as arm 1")
    assert not texts(REdUCB(sigma=0.1), problems.rising())
    assert not texts(REdUCB(), Problem([0.5, Growth(0.0, 0.1, 0.9)], allow_increasing=True))
    assert "restless" in texts(REdUCB(), Problem([0.5], restless=True))[0].lower()
    assert "2 for 10000 rounds" in texts(SSUCB(), problems.two_arm())[0]
    assert not texts(SSUCB(), problems.many_arms())
    assert texts(SSUCB(), problems.many_arms(), horizon=2_000_000)
    assert not texts(LevelFilter(), problems.candy_cane())
    assert len(texts(LevelFilter(), problems.two_arm())) == 2


def test_what_papers_compare_is_played_without_a_word():
    blocks = [block for each in experiments() for block in each.blocks]
    played = [(policy, block.problem) for block in blocks for policy in block.policies.values()]
    assert len(played) > 400
    assert [found for policy, problem in played for found in texts(policy, problem)] == []


# Whoever plays says it once for each.


@pytest.mark.parametrize("check", [False, True])
def test_simulate_warns_once_for_each_policy(check):
    policies = [BetaThompson(), FEWA(sigma=0.25), UCB1()]
    said = warned(lambda: simulate(policies, problems.two_arm(), 20, runs=4, check=check, progress=False))
    assert len(said) == 2
    assert [each.split("(")[0].split()[-1] for each in said] == ["BetaThompson", "two_arm"]


def test_the_warning_leads_to_the_users_line():
    with pytest.warns(PolicyMismatch) as caught:
        simulate(BetaThompson(), problems.two_arm(), 20, runs=1, progress=False)
    assert caught[0].filename == __file__


def test_sweeps_and_tuning_warn(tmp_path):
    on = [problems.two_arm(horizon=20), problems.ten_arm()]
    said = warned(lambda: rotting.sweep(["BetaThompson()", UCB1()], on, 2, out=tmp_path, horizon=20, progress=False))
    assert len(said) == 2
    assert warned(lambda: rotting.tune("FEWA(sigma=0.2)", on[0], {"alpha": [0.1, 0.2]}, runs=2, progress=False))
    assert not warned(lambda: rotting.tune("FEWA", on[0], {"sigma": [0.1, 1.0]}, runs=2, progress=False))


def test_bandits_warn_by_their_range(tmp_path):
    url = f"sqlite:///{tmp_path}/b.db"

    def opened(policy, **settings):
        name = f"{policy} {settings}"
        with rotting.Bandit.open(url, name, parse_policy(policy), ["a", "b"], **settings):
            pass

    [text] = warned(lambda: opened("BetaThompson()", reward_range=(0, 100)))
    assert text.endswith("takes rewards in [0, 1]; they are from 0 to 100; give low=0 and high=100")
    assert not warned(lambda: opened("BetaThompson(high=100)", reward_range=(0, 100)))
    assert not warned(lambda: opened("KLUCB()"))
    assert warned(lambda: opened("FEWA()", reward_range=(0, 100)))
    assert not warned(lambda: opened("FEWA(sigma=2)", sigma="auto", reward_range=(0, 100)))
    assert not warned(lambda: opened("UCB1()", reward_range=(0, 1)))


def test_bandits_warn_of_a_policy_that_is_changed_to(tmp_path):
    url, rewards = f"sqlite:///{tmp_path}/b.db", (0, 100)
    with rotting.Bandit.open(url, "b", BetaThompson(high=100), ["a", "b"], reward_range=rewards) as bandit:
        [text] = warned(lambda: bandit.change(policy=BetaThompson()))
        assert "they are from 0 to 100; give low=0 and high=100" in text
        assert not warned(lambda: bandit.change(epsilon=0.1))
        assert not warned(lambda: bandit.change(policy=BetaThompson()))  # nothing changes
        assert not warned(lambda: bandit.change(policy=BetaThompson(high=100)))
        assert warned(lambda: bandit.change(reward_range=(0, 1000)))


def test_one_reward_says_nothing_of_noise():
    assert not range_mismatches(FEWA(), 50.0, 50.0)
    assert range_mismatches(BetaThompson(), 50.0, 50.0)


# What may be declared.


@dataclass(frozen=True)
class Spread(Policy, state=UCB1State, select=select, update=update, rewards=(0.0, 10.0), noise="spread"):
    spread: float = parameter(1.0, doc="scale of the noise")

    def initial_state(self, n_arms):
        return UCB1State(np.array([self.spread]), np.zeros(n_arms, np.int64), np.zeros(n_arms))


def test_users_policies_can_say_it_too():
    rewards, noise = texts(Spread(), problems.stationary([0.0], sigma=9.0))
    assert rewards.endswith("lie outside; map rewards to that range")
    assert noise.endswith("takes it for 1/9 of that; give spread=9, or spread=None to be told")


def make_nonsense(**traits):
    @dataclass(frozen=True)
    class Nonsense(Policy, state=UCB1State, select=select, update=update, **traits):
        def initial_state(self, n_arms):
            raise NotImplementedError


@pytest.mark.parametrize(
    ("trait", "says"),
    [
        ({"rewards": (1.0, 0.0)}, "rewards="),
        ({"rewards": ("low", "high")}, "names of two of its parameters"),
        ({"rewards": (0.0, 1.0, 2.0)}, "rewards="),
        ({"maps_rewards": True}, "with rewards="),
        ({"noise": "sigma"}, "the name of a parameter"),
        ({"made_for": "rotting"}, "one of 'arms that rise', 'many arms', 'arms that empty'"),
    ],
)
def test_nonsense_in_the_class_line_is_refused(trait, says):
    with pytest.raises(PolicyDefinitionError, match=says):
        make_nonsense(**trait)


@pytest.mark.parametrize("name", POLICIES)
def test_parameters_for_scale_and_range_are_declared(name):
    """A policy of the package that forgets to say so would never be warned about."""
    kind, names = POLICIES[name], {*POLICIES[name].__dataclass_fields__}
    assert (kind.noise_parameter == "sigma") == ("sigma" in names)
    assert (kind.takes_rewards == ("low", "high")) == ({"low", "high"} <= names)


def test_parameters_of_users_may_be_called_as_they_were():
    @dataclass(frozen=True)
    class Named(Policy, state=UCB1State, select=select, update=update):
        noise: float = parameter(1.0, doc="a name that was free in version 0.2")
        rewards: float = parameter(1.0, doc="another")

        def initial_state(self, n_arms):
            return UCB1State(np.array([self.noise]), np.zeros(n_arms, np.int64), np.zeros(n_arms))

    assert not texts(Named(noise=50.0), problems.two_arm())
    assert Named().start(2).select() == 0
