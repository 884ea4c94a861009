import pytest

import rotting
from every_policy import CASES, build, title
from rotting.policies import POLICIES, Policy
from rotting.problems import Constant, stationary

# What policies must be told that cannot be made without, or are slow without: for four arms.
NEEDS = {
    **{name: {"curves": (Constant(0.0), Constant(0.5))} for name in ("CTO", "CTOSIM", "DCTOUCB")},
    "LinUCRL": {"window": 2, "degree": 1},  # where kernels run as plain Python, larger plans would take minutes
    "Oracle": {"problem": stationary([0.0, 0.1, 0.2, 0.3])},
}


@pytest.fixture(scope="session")
def build_policy():
    """Return a function that makes a policy of the package, ready for four arms."""

    def build(name: str, **chosen: object) -> Policy:
        told = {"horizon": 1000} if "horizon" in POLICIES[name].knows else {}
        return POLICIES[name](**{**NEEDS.get(name, told), **chosen})

    assert rotting.FEWA in POLICIES.values()
    return build


@pytest.fixture(params=CASES, ids=title)
def case(request):
    """Return a policy's name and parameters: one of every policy and of its variants."""
    return request.param


@pytest.fixture
def policy(case):
    return build(case)
