"""How noisy rewards are, whatever lies under the noise."""

import pandas
import pytest

from rotting.logs import make_log
from rotting.logs.model.noise import sigma_of
from rotting.logs.read.reading import read_log


def noisy():
    return make_log(arms=3, exposures=700, sigma=0.5, start=5.0, end=2.0, seed=4)


def test_slow_changes_are_no_noise():
    assert sigma_of(read_log(noisy())) == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("times", [2, 3])
def test_copies_of_rows_do_not_hide_the_noise(times):
    """Half or more of the successive differences are 0 then."""
    log = read_log(pandas.concat([noisy()] * times, ignore_index=True))
    assert log.copies_kept
    assert sigma_of(log) == pytest.approx(0.5, rel=0.07)


def test_equal_rows_that_are_no_copies_do_not_add_noise():
    """With the day for a time, most clicks of a day look alike."""
    frame = make_log(arms=2, exposures=3000, effect="none", seed=2).drop(columns="user_id")
    exact = sigma_of(read_log(frame))
    log = read_log(frame.assign(timestamp=frame["timestamp"].dt.floor("D")))
    assert log.duplicates > 5000
    assert sigma_of(log) == pytest.approx(exact, rel=0.03)


def test_few_exposures_have_a_noise_too():
    frame = noisy().groupby("creative").head(30)
    log = read_log(pandas.concat([frame] * 2, ignore_index=True))
    assert sigma_of(log) == pytest.approx(0.5, rel=0.3)
