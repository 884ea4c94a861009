"""What benchmarks of the diagnosis rest on: generators say what is so, the analysis beside it finds what exists."""

import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    """Imports from benchmarks/, and takes its modules out again: their names are not those of packages."""
    before = set(sys.modules)
    sys.path.insert(0, BENCHMARKS)
    yield
    sys.path.remove(BENCHMARKS)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(BENCHMARKS):
            del sys.modules[name]


def test_settings_have_names_of_their_own_and_say_what_is_so():
    from log_settings import NULLS, OF_0_2, POWER

    names = [setting.name for setting in (*NULLS, *POWER)]
    assert len(set(names)) == len(names)
    assert len(OF_0_2) == 28
    assert {setting.kind for setting in NULLS} == {"can", "cannot"}
    assert all(setting.causes for setting in NULLS if setting.kind == "cannot")


def test_one_arm_of_five_falls_and_is_named():
    from worn_generators import one_of_five

    frame, truth = one_of_five(np.random.default_rng(1), 200_000)
    late = frame.iloc[len(frame) // 2 :].groupby("creative")["reward"].mean()
    assert [late[arm] < 0.07 for arm in truth] == list(truth.values())


def two_way(worn):
    """Six arms launched together, beside a site that halves; one of them falls to 30 % besides."""
    generator = np.random.default_rng(3)
    arm, time = generator.integers(0, 6, 60_000), np.sort(generator.random(60_000))
    rate = 0.1 * (1 - 0.5 * time) * np.where((arm == 2) & worn, 0.3**time, 1.0)
    return pandas.DataFrame({"arm": arm, "time": time, "click": (generator.random(60_000) < rate).astype(int)})


@pytest.mark.parametrize("worn", [False, True])
def test_the_independent_analysis_finds_the_arm_that_falls_beside_its_site(worn):
    from independent import cells_of, slopes

    found = slopes(cells_of(two_way(worn), "arm", "click", "time"))
    assert found.found == (["2"] if worn else [])
    assert len(found.arms) == 6
    if worn:
        assert found.factor[found.arms.index("2")] == pytest.approx(0.3, rel=0.35)


def test_the_permutation_test_tells_equal_arms_from_others():
    from independent import arms_differ, cells_of

    equal = two_way(False)
    assert arms_differ(cells_of(equal, "arm", "click", "time"), np.random.default_rng(1), 199) > 0.05
    better = equal.assign(click=np.maximum(equal["click"], (equal["arm"] == 1) & (equal.index % 20 == 0)).astype(int))
    assert arms_differ(cells_of(better, "arm", "click", "time"), np.random.default_rng(1), 199) <= 0.005


def test_counts_of_real_logs_tell_right_calls_from_others():
    from real_page import of, placebo_counts, spike_counts, untouched

    rows = [
        {"worn": ["a", "b"], "called": ["a", "c"], "arms": 5, "sure": True},
        {"worn": ["a", "b"], "called": [], "arms": 5, "sure": False},
    ]
    assert spike_counts(rows) == (2, 0, 1, 4, 1, 1)
    assert untouched(rows) == 6
    assert placebo_counts(rows) == (2, 1, 1)
    assert of(1, 20) == "1 of 20 (0 to 22 %)"
