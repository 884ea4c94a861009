"""Generated logs are what they say: same seed, same log; the effect asked for and no other."""

import numpy as np
import pytest

from rotting.logs import make_log


def halves(log, by):
    """Return the mean click rates of the first and the second half of the rows, in the order of `by`."""
    ordered = log.sort_values(by, kind="stable").click.to_numpy()
    return ordered[: len(ordered) // 2].mean(), ordered[len(ordered) // 2 :].mean()


def test_same_seed_same_log():
    assert make_log(seed=3).equals(make_log(seed=3))
    assert not make_log(seed=3).equals(make_log(seed=4))


@pytest.mark.parametrize(("effect", "sign"), [("wear-out", -1), ("wear-in", 1), ("calendar", -1)])
def test_values_move_as_asked(effect, sign):
    log = make_log(effect=effect, arms=10, exposures=5000, seed=1)
    first, second = halves(log, "timestamp")
    # The halves differ by 0.015 or more, nine times the standard error of 0.0017.
    assert sign * (second - first) > 0.01


def test_nothing_moves_without_an_effect():
    first, second = halves(make_log(effect="none", arms=10, exposures=5000, seed=1), "timestamp")
    assert abs(first - second) < 4 * 0.0027
    assert first == pytest.approx(0.1, abs=0.01)


def test_per_user_fatigue_follows_the_users_own_exposures():
    log = make_log(effect="per-user", arms=2, exposures=20_000, seed=1)
    number = log.groupby(["user_id", "creative"]).cumcount()
    early, late = log.click[number == 0].mean(), log.click[number >= 6].mean()
    assert early == pytest.approx(0.1, abs=0.01)
    assert late < 0.07


def test_exposures_are_exact_and_time_goes_forward():
    log = make_log(arms=4, exposures=700, seed=2)
    assert log.creative.value_counts().tolist() == [700] * 4
    assert log.timestamp.is_monotonic_increasing


def test_truth_is_what_was_drawn_from():
    log = make_log(arms=1, exposures=20_000, seed=5)
    [curve] = log.attrs["truth"].curves
    assert (float(curve(0)), float(curve(20_000))) == pytest.approx((0.10, 0.04))
    assert log.click.mean() == pytest.approx(curve(np.arange(20_000)).mean(), abs=0.01)


def test_values_instead_of_clicks():
    log = make_log(sigma=2.0, start=10.0, end=5.0, arms=1, exposures=5000)
    assert list(log.columns)[-1] == "value"
    assert log.value.diff().std() / 2**0.5 == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"effect": "magic"}, "make_log: effect='magic' is not known; expected one of 'wear-out'"),
        ({"pace": "slow"}, "pace='slow'"),
        ({"arms": 0}, "arms=0"),
        ({"exposures": 2.5}, "exposures=2.5"),
        ({"start": 0.01}, "end=0.04 is out of range; expected a finite number > 0 and <= 0.01"),
        ({"start": 1.5}, "start=1.5 is not a click rate; expected at most 1, or a sigma"),
        ({"spread": -1}, "spread=-1"),
        ({"sigma": float("nan")}, "sigma=nan"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_nonsense_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        make_log(**wrong)
