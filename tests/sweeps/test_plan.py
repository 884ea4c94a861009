"""Plans: what they accept, how they are written down, and what makes two of them the same."""

import dataclasses
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rotting
from rotting import FEWA, SWA, UCB1, EffFEWA, Oracle, Problem
from rotting.logs import make_log
from rotting.problems import Drop, stationary, ten_arm, two_arm
from rotting.sweeps import Plan
from rotting.sweeps import plan as plans
from rotting.sweeps.plan_file import read_plan


def plan(version="", kernels="", **named):
    made = Plan.of(**{"policies": (FEWA(), UCB1()), "problems": (two_arm(), ten_arm()), "runs": 5, **named})
    return dataclasses.replace(made, version=version, kernels=kernels)


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"rounds": 10},
        {"rounds": (1, 5, 7)},
        {"seed": 2**70},
        {"policies": (EffFEWA(refresh="blocks"), SWA(), Oracle())},
        {"problems": (Problem([0.1, Drop(1, 0, 3)], noise="bernoulli", name="a 'strange' name\n"), two_arm(L=1 / 3))},
    ],
    ids=repr,
)
def test_the_text_is_the_plan(named):
    first = plan(**named)
    again = Plan.from_text(first.text)
    assert (again.text, again.digest) == (first.text, first.digest)
    for field in dataclasses.fields(Plan):
        assert getattr(again, field.name) == getattr(first, field.name)


@pytest.mark.parametrize(
    "named",
    [
        {"runs": 6},
        {"seed": 1},
        {"rounds": 10},
        {"policies": (FEWA(alpha=0.06 + 1e-12), UCB1())},
        {"policies": (UCB1(), FEWA())},
        {"problems": (two_arm(L=0.233 + 1e-12), ten_arm())},
        {"version": "0.0.9"},
        {"kernels": "0123456789abcdef"},
    ],
    ids=repr,
)
def test_whatever_changes_results_changes_the_digest(named):
    assert plan(**named).digest != plan().digest


def test_the_digest_names_the_version_and_the_kernels():
    content = json.loads(plan().text)
    assert content["rotting"] == rotting.__version__
    assert content["kernels"] == rotting._core.compiling.kernel_digest()


def test_texts_and_single_ones_will_do():
    assert plan(policies=["FEWA", "UCB1()"], problems=("two_arm()", "ten_arm")).digest == plan().digest
    assert plan(policies=FEWA(), problems=ten_arm()).cells == 1


def test_labels_tell_apart():
    long = Plan(
        (FEWA(),), (ten_arm(), dataclasses.replace(ten_arm(), horizon=10), two_arm(L=1), two_arm(L=1.0000001)), 1
    )
    assert long.problem_labels[:2] == ["ten_arm(), 25000 rounds", "ten_arm(), 10 rounds"]
    assert len(set(long.problem_labels)) == 4
    close = plan(policies=(FEWA(), FEWA(alpha=0.06 + 1e-12), UCB1()))
    assert len(set(close.policy_labels)) == 3
    assert close.policy_labels[2] == "UCB1(sigma=1)"


def test_what_the_text_does_not_say_plays_no_part():
    (policy,) = plan(policies=(Oracle(stationary([1.0])),)).policies
    assert policy.problem is None


class Foreign:
    def select(self):
        return 0


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ({"policies": ()}, "policies is empty"),
        ({"problems": ()}, "problems is empty"),
        ({"policies": (FEWA(), "FEWA()")}, "holds FEWA.* 2 times; expected each once"),
        ({"policies": (Foreign,)}, "rotting.simulate"),
        ({"policies": ("FEVA",)}, "did you mean 'FEWA'"),
        ({"problems": (3,)}, "not a rotting.Problem"),
        ({"runs": 0}, "runs=0"),
        ({"runs": True}, "runs=True"),
        ({"seed": -1}, "seed=-1"),
        ({"rounds": (1, 20_000)}, "horizon 10000"),
        ({"rounds": 0}, "rounds=0"),
    ],
    ids=repr,
)
def test_wrong_plans_are_refused(named, says):
    with pytest.raises((TypeError, ValueError), match=says):
        plan(**named)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "rotting sweep 1"}', "null", "3"])
def test_other_texts_are_no_plans(text):
    with pytest.raises(ValueError, match=r".+"):
        Plan.from_text(text)


@settings(max_examples=30, deadline=None)
@given(
    alpha=st.floats(1e-9, 1e9),
    means=st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5),
    seed=st.integers(0, 2**80),
)
def test_no_digit_is_lost_in_the_text(alpha, means, seed):
    first = Plan((FEWA(alpha=alpha),), (stationary(means),), 1, seed)
    again = Plan.from_text(first.text)
    assert again.policies == first.policies
    assert again.problems == first.problems
    assert again.seed == seed


def test_a_problem_fitted_to_a_log_can_be_planned():
    """Its repr holds thousands of values: too long for a hand-written text, but not for a plan."""
    fitted = Problem.from_log(make_log(arms=10, exposures=10_000, start=0.08, end=0.02, spread=0.7, seed=0))
    assert len(repr(fitted)) > 100_000
    assert Plan((UCB1(),), (fitted,), runs=1).problems == (fitted,)


def test_each_text_is_read_once(monkeypatch):
    read = []
    for module, name in ((plans, "parse_policy"), (plans, "parse_problem"), (plans.named, "parse_problem")):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda text, original=original: read.append(text) or original(text))
    for make in (
        lambda: Plan.of(["FEWA", "UCB1"], "ten_arm", 1),
        lambda: Plan.of([FEWA(), UCB1()], ten_arm(), 1),
        lambda: read_plan('runs = 1\npolicies = ["UCB1", {policy = "FEWA", alpha = 1}]\nproblems = ["ten_arm"]'),
    ):
        read.clear()
        text = make().text
        assert len(read) == 3
        read.clear()
        Plan.from_text(text)
        assert len(read) == 3


def test_errors_of_a_plan_have_fields():
    with pytest.raises(rotting.errors.BadValue) as refused:
        plan(runs=0)
    assert (refused.value.name, refused.value.value, refused.value.expected) == ("runs", 0, "a whole number >= 1")
    with pytest.raises(rotting.errors.BadValue) as refused:
        read_plan('runs = 1\npolicies = ["FEWA(alpha=-1)"]\nproblems = ["ten_arm"]', "a.toml")
    again = pickle.loads(pickle.dumps(refused.value))
    assert isinstance(again, rotting.errors.RottingError)
    assert (again.name, again.value, again.owner) == ("alpha", -1, "a.toml: FEWA")
    assert str(again) == str(refused.value)
