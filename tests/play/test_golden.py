"""Every policy does what it did in version 0.2: decisions everywhere, each bit on the machine of that time."""

import numpy as np
import pytest

import golden
from every_policy import CASES, title

with np.load(golden.FILE) as archive:
    EXPECTED = dict(archive)
OLD = {name.split("/")[0] for name in EXPECTED} - {"machine"}  # what is newer than 0.2 has nothing to be compared with


def test_every_policy_of_0_2_is_compared():
    assert {title(case) for case in CASES} >= OLD


@pytest.mark.parametrize("case", [case for case in CASES if title(case) in OLD], ids=title)
def test_every_policy_plays_as_in_0_2(case):
    same_machine = golden.machine() == str(EXPECTED["machine"])
    for part in golden.parts(case):
        numbers, decisions = EXPECTED[f"{part.name}/numbers"], EXPECTED[f"{part.name}/decisions"]
        np.testing.assert_array_equal(part.decisions, decisions, err_msg=part.name)
        if same_machine:
            np.testing.assert_array_equal(part.numbers, numbers, err_msg=part.name)
        elif not part.name.endswith(tuple(golden.TRACED)):  # those hold a digest of rewards
            np.testing.assert_allclose(part.numbers, numbers, rtol=1e-10, atol=1e-9, err_msg=part.name)
