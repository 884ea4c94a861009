"""Logs are counted right, whatever they come in, and what is wrong with them is said."""

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rotting.errors import BadValue
from rotting.logs import LogError, make_log
from rotting.logs.read import counting
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log
from rotting.logs.tell.sentences import left_out
from small_logs import small, sums_of

SMALL = make_log(arms=3, exposures=200, seed=1)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(-3, 3)), min_size=70, max_size=120))
def test_exposures_are_numbered_by_time_then_by_row(rows):
    frame = pandas.DataFrame(rows, columns=["arm", "time", "reward"])
    try:
        log = read_log(frame)
    except LogError:
        assert frame.arm.value_counts().max() < counting.LEAST_EXPOSURES
        return
    for arm in log.arms:
        own = frame[frame.arm == arm.name].sort_values("time", kind="stable").reward.to_numpy()
        assert arm.cells.count.sum() == len(own)
        assert np.array_equal(np.repeat(arm.cells.mean, arm.cells.count.astype(int)), own)
        assert arm.noise_variance == pytest.approx((np.diff(own) ** 2).sum() / 2 / (len(own) - 1))


def test_long_histories_are_summed_in_bins(monkeypatch):
    monkeypatch.setattr(counting, "MOST_BINS", 16)
    log = read_log(SMALL)
    assert all(len(arm.cells.count) <= 16 + counting.SLICES for arm in log.arms)
    assert sums_of(log) == sums_of(read_log(SMALL))


def test_exposures_per_unit():
    frame = small(user=np.arange(60) // 4)
    log = read_log(frame, ReadOptions(unit="user"))
    assert log.per_unit
    assert all(arm.cells.exposure.max() == 1 for arm in log.arms)
    assert all(arm.cells.count[arm.cells.exposure == 0].sum() == 15 for arm in log.arms)


# Columns.


@pytest.mark.parametrize(
    ("columns", "guessed"),
    [
        (["item_id", "click", "timestamp"], ("item_id", "click", "timestamp")),
        (["Creative", "Clicked", "event_time"], ("Creative", "Clicked", "event_time")),
        (["shown ad", "was_click", "ts"], ("shown ad", "was_click", "ts")),
        (["variant", "revenue"], ("variant", "revenue", None)),
    ],
)
def test_columns_are_guessed(columns, guessed):
    frame = small().iloc[:, : len(columns)].set_axis(columns, axis=1)
    found = read_log(frame).columns
    assert (found.arm, found.reward, found.time) == guessed
    assert set(found.guessed) == {"arm", "reward", *(["time"] if guessed[2] else [])}


def test_a_unit_is_mentioned_but_not_assumed():
    found = read_log(small(user_id=np.arange(60) // 4)).columns
    assert (found.unit, found.possible_unit) == (None, "user_id")


@pytest.mark.parametrize("values", [1, ["Low", "High", "Medium"] * 20])
def test_what_cannot_tell_users_apart_is_no_unit(values):
    assert read_log(small(user_engagement=values, user=values)).columns.possible_unit is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"arm": "rewards"}, "arm='rewards' is not a column of the log; did you mean 'reward'"),
        ({"reward": "clcik"}, "the log has 'arm', 'reward', 'time'"),
        ({"arm": "reward", "reward": "reward"}, "cannot be two things at once"),
    ],
)
def test_missing_columns(asked, said):
    with pytest.raises(LogError, match=said):
        read_log(small(), ReadOptions(**asked))


def test_nothing_to_guess_from():
    with pytest.raises(LogError, match="no column looks like the arm; the log has 'x', 'y', 'z'; name it with arm="):
        read_log(small().set_axis(["x", "y", "z"], axis=1))


def test_odd_column_names_are_only_names():
    names = ['a"; DROP TABLE log; --', "reward'); SELECT 1", "time\n"]
    log = read_log(small().set_axis(names, axis=1), ReadOptions(arm=names[0], reward=names[1], time=names[2]))
    assert [arm.exposures for arm in log.arms] == [30, 30]


# Rows.


@pytest.mark.parametrize("value", ["abc", "1,5,2", "inf", "-1e60", "--"])
def test_unparsable_rewards(value, tmp_path):
    frame = small().astype({"reward": object})
    frame.loc[[6, 9], "reward"] = value
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(LogError, match=r"reward column 'reward', row 7: '.*' is not a finite number.*1 more") as error:
        read_log(tmp_path / "log.csv")
    assert value in str(error.value)
    assert error.value.value == value
    assert isinstance(error.value, BadValue)
    assert error.value.text(lambda name: f"--{name}").endswith(
        "or say with --null that it is none; empty values would be dropped and counted"
    )


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize(
    ("column", "reason"), [("arm", "no arm"), ("reward", "no reward"), ("time", "no time"), ("user", "no unit")]
)
def test_missing_values_are_dropped_and_counted(column, reason, as_file, tmp_path):
    frame = small(user=np.arange(60.0) % 5)
    extra = pandas.concat([frame] * 2, ignore_index=True)
    extra.loc[[3, 5, 8], column] = None
    if as_file:
        extra.to_csv(tmp_path / "log.csv", index=False)
    log = read_log(tmp_path / "log.csv" if as_file else extra, ReadOptions(unit="user"))
    assert log.dropped == {reason: 3}
    assert (log.rows, log.exposures) == (120, 117)


def test_nan_texts_are_missing_values(tmp_path):
    frame = pandas.concat([small()] * 2, ignore_index=True).astype({"reward": object})
    frame.loc[:3, "reward"] = ["NaN", "nan", "NULL", " "]
    frame.to_csv(tmp_path / "log.csv", index=False)
    assert read_log(tmp_path / "log.csv").dropped == {"no reward": 4}


def test_true_and_false_are_rewards(tmp_path):
    frame = small().astype({"reward": bool})
    frame.to_csv(tmp_path / "log.csv", index=False)
    assert sums_of(read_log(tmp_path / "log.csv")) == sums_of(read_log(frame)) == sums_of(read_log(small()))
    assert read_log(frame).binary


def test_all_rows_dropped():
    with pytest.raises(LogError, match=r"no usable row is left \(no reward: 60\)"):
        read_log(small(reward=np.nan))


def test_duplicates_are_counted_and_kept_unless_asked():
    doubled = pandas.concat([small(), small().iloc[:7]], ignore_index=True)
    log = read_log(doubled)
    assert (log.duplicates, log.exposures, log.dropped) == (7, 67, {})
    log = read_log(doubled, ReadOptions(drop_duplicates=True))
    assert (log.duplicates, log.exposures, log.dropped) == (7, 60, {"duplicate": 7})


def test_rows_without_time_or_unit_are_never_called_duplicates():
    assert read_log(small().drop(columns="time")).duplicates == 0


def test_time_going_backwards_is_counted_and_put_right():
    shuffled = small().iloc[[*range(30, 60), *range(30)]]
    log = read_log(shuffled)
    assert log.backwards == 1
    straight = read_log(small())
    assert straight.backwards == 0
    means = [{arm.name: arm.cells.mean.tolist() for arm in each.arms} for each in (log, straight)]
    assert means[0] == means[1]


def test_rare_arms_are_left_out_and_counted():
    frame = pandas.concat([small(), pandas.DataFrame({"arm": ["c"] * 5, "reward": 1.0, "time": 99.0})])
    log = read_log(frame)
    assert (log.arms_left_out, log.rows_left_out, len(log.arms)) == (1, 5, 2)


def test_many_rows_of_rare_arms_are_said_in_the_summary():
    rare = pandas.DataFrame({"arm": [f"c{row // 5}" for row in range(60)], "reward": 1.0, "time": 99.0})
    assert left_out(read_log(pandas.concat([small(), rare]))) == (
        " This is about the 2 arms shown most: 12 others, with 50% of the rows, were left out."
    )
    assert not left_out(read_log(pandas.concat([small(), rare[:5]])))


def test_too_few_exposures_of_every_arm():
    with pytest.raises(LogError, match="no arm has 30 exposures"):
        read_log(small().iloc[:20])


# Rewards far from zero.


@pytest.mark.parametrize(("offset", "scale"), [(1e6, 1.0), (1e9, 0.001), (-1e6, 1.0)])
def test_rewards_far_from_zero_are_centred(offset, scale):
    log = read_log(small(reward=offset + scale * small().reward))
    assert log.offset == offset
    assert not log.binary
    for mine, other in zip(log.arms, read_log(small()).arms, strict=True):
        assert mine.cells.total == pytest.approx(scale * other.cells.total, abs=1e-6)
        assert mine.cells.squares == pytest.approx(scale**2 * other.cells.squares, abs=1e-9)
        assert mine.noise_variance == pytest.approx(scale**2 * other.noise_variance, rel=1e-3)


@pytest.mark.parametrize("rewards", [[0.0, 1.0], [2.5, 2.5], [10.0, 11.0], [-1.0, 1.0]])
def test_other_rewards_are_not(rewards):
    assert read_log(small(reward=rewards * 30)).offset == 0


def test_rows_that_are_sorted_by_their_outcome_are_not_in_order_of_time():
    """A table of an A/B test, those who bought first: read as a fall, it would say that hardly anybody buys now."""
    generator = np.random.default_rng(5)
    frame = pandas.DataFrame(
        {"group": generator.choice(["ad", "psa"], 3000), "converted": generator.random(3000) < 0.2}
    )
    assert read_log(frame).rows == 3000
    with pytest.raises(LogError, match="sorted by 'converted', so their order is not time"):
        read_log(frame.sort_values("converted", ascending=False, kind="stable"))


def test_a_missing_count_beside_large_ones_is_not_zero():
    days = pandas.date_range("2024-03-01", periods=40).repeat(3)
    frame = pandas.DataFrame({"day": days, "ad": ["a", "b", "c"] * 40, "impressions": 9000.0, "clicks": 100.0})
    frame["clicks"] += np.arange(len(frame)) % 7
    frame.loc[::10, "clicks"] = np.nan
    assert read_log(frame).dropped == {"no reward": 12}
    frame["clicks"] -= 99  # where one click is usual, none is written as nothing
    assert read_log(frame).dropped == {}
