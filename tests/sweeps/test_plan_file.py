"""Plans in TOML: what they expand to, and that a wrong one is refused with what is wrong in it."""

import pytest

from rotting import FEWA, UCB1
from rotting.errors import RottingError
from rotting.problems import stationary, ten_arm, two_arm
from rotting.sweeps.plan_file import EXAMPLE, read_plan


def test_the_example_is_a_plan():
    plan = read_plan(EXAMPLE)
    assert plan.policies == (UCB1(), *(FEWA(alpha=alpha) for alpha in (0.03, 0.06, 0.12, 0.25)))
    assert plan.problems == (ten_arm(), two_arm(L=0.5, horizon=5000), two_arm(L=2, horizon=5000))
    assert (plan.runs, plan.seed, plan.rounds) == (100, 0, None)


def test_grids_expand_in_all_combinations():
    plan = read_plan(
        """
        runs = 2
        rounds = [1, 10]
        horizon = [10, 20]
        problems = [{ problem = "stationary", means = [[0, 1], [0.5, 0.25, 0]], sigma = 0.5 }]
        [[policies]]
        policy = "FEWA"
        alpha = [0.1, 0.2]
        sigma = [1, 2, 3]
        [[policies]]
        policy = "EffFEWA"
        refresh = "blocks"
        """
    )
    assert len(plan.policies) == 7
    assert plan.policies[:6] == tuple(FEWA(alpha=a, sigma=s) for a in (0.1, 0.2) for s in (1.0, 2.0, 3.0))
    assert [(p.curves, p.horizon) for p in plan.problems] == [
        (stationary(means).curves, horizon) for means in ([0, 1], [0.5, 0.25, 0]) for horizon in (10, 20)
    ]
    assert plan.rounds == (1, 10)


GOOD = 'runs = 1\npolicies = ["FEWA"]\nproblems = ["ten_arm"]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("runs = \n", "(at line 1, column 8)"),
        (GOOD + "\nx = [1,\n2\n\n", "(at end of document)"),
        (GOOD + "runs = 2", "(at end of document)"),
        ("", "policies is missing"),
        (GOOD + "runz = 3", "'runz' is not part of a plan"),
        (GOOD + "delay = 20", "sweeps do not"),
        (GOOD.replace("1", "0"), "runs=0 is out of range; expected a whole number >= 1"),
        (GOOD.replace("1", '"1"'), "runs='1'"),
        (GOOD.replace("1", "true"), "runs=True"),
        (GOOD + "seed = -1", "seed=-1"),
        (GOOD + "seed = 1.5", "seed=1.5"),
        (GOOD + "\nhorizon = [5, 0]", "horizon=0"),
        (GOOD + "rounds = [5, 99999]", "99999"),
        (GOOD + "rounds = 'many'", "many"),
        ('runs = 1\npolicies = [\n  # "FEVA"\n  "FEWA",\n  "FEVA",\n]\nproblems = ["ten_arm"]', "'FEVA'"),
        ('runs = 1\npolicies = ["FEWA", 3]\nproblems = ["ten_arm"]', "3, which is not a policy"),
        ('runs = 1\npolicies = ["FEWA", {alpha=3}]\nproblems = ["ten_arm"]', "not a policy"),
        ('runs = 1\npolicies = [\n"FEWA",\n3]\nproblems = ["ten_arm"]', "3, which is not a policy"),
        ('runs = 1\npolicies = "FEWA"\nproblems = ["ten_arm"]', "expected a list"),
        ('runs = 1\npolicies = ["FEWA"]\nproblems = []', "problems is empty"),
        (
            'runs = 1\npolicies = ["FEWA",\n "FEWA(alpha=0.06)"]\nproblems = ["ten_arm"]',
            "2 times; expected each",
        ),
        ('runs = 1\npolicies = ["FEWA",\n {policy = "UCB1", sigma = [1, -1]}]\nproblems = ["ten_arm"]', "sigma=-1"),
        ('runs = 1\npolicies = ["FEWA",\n {policy = "UCB1", sigma = []}]\nproblems = ["ten_arm"]', "no values"),
        ('runs = 1\nproblems = ["ten_arm"]\n[[policies]]\npolicy = "FEWA"\nbeta = 1', "beta"),
        ('runs = 1\npolicies = ["FEWA"]\nproblems = [\n "ten_arm",\n {problem = "two_arm", horizon = 0.5}]', "0.5"),
        (
            'runs = 1\npolicies = ["FEWA"]\nproblems = [\n "ten_arm",\n {problem = "two_arm", L = 1979-05-27}]',
            "date",
        ),
        ('runs = 1\npolicies = ["\\u0046EVA"]\nproblems = ["ten_arm"]', "'FEVA'"),
        (
            'runs = 1\npolicies = ["FEWA"]\nproblems = [{problem = "two_arm", L = ['
            + "1, " * 1000
            + "], horizon = ["
            + "1, " * 1000
            + "]}]",
            "1000000 combinations",
        ),
    ],
)
def test_wrong_plans_are_refused_with_what_is_wrong(text, says):
    with pytest.raises(RottingError) as refused:
        read_plan(text, "my plan.toml")
    message = str(refused.value)
    assert refused.value.owner.startswith("my plan.toml")
    assert message.startswith("my plan.toml: ")
    assert says in message
