"""Logs in several files, events one below the other, arms side by side; and rows that stay in order."""

import numpy as np
import pandas
import pytest

from rotting.logs import LogError, make_log, read_rows
from rotting.logs.read.options import ReadOptions
from rotting.logs.read.reading import read_log


def events(linked, seed=0, **extra):
    """Return impressions and clicks of two ads, one below the other, and how often each was clicked."""
    generator = np.random.default_rng(seed)
    shown = pandas.DataFrame({"event": "impression", "ad": ["a", "b"] * 200, "impression_id": range(400)})
    shown["ts"] = pandas.Timestamp("2024-03-01") + pandas.to_timedelta(range(400), unit="h")
    clicked = shown[generator.random(400) < 0.2].assign(event="Click")
    clicked["ts"] += pandas.Timedelta("20s")
    both = pandas.concat([shown, clicked]).sort_values("ts", kind="stable").assign(**extra)
    return both if linked else both.drop(columns="impression_id"), clicked.groupby("ad").size().to_dict()


@pytest.mark.parametrize("linked", [True, False])
def test_clicks_below_impressions_are_put_beside_them(linked):
    frame, clicks = events(linked)
    log = read_log(frame)
    assert {arm.name: arm.exposures for arm in log.arms} == {"a": 200, "b": 200}
    assert {arm.name: arm.cells.total.sum() for arm in log.arms} == clicks
    assert log.binary
    assert log.columns.aggregated != linked
    assert any("Events were" in note for note in log.notes)


def test_a_column_that_links_few_clicks_is_no_link():
    frame, clicks = events(linked=True)
    frame.loc[frame["event"] == "Click", "impression_id"] += 1000
    log = read_log(frame)
    assert {arm.name: arm.cells.total.sum() for arm in log.arms} == clicks
    assert log.columns.aggregated


def test_several_events_that_could_be_rewards_are_asked_for():
    frame, _ = events(linked=True)
    bought = frame[frame["event"] == "Click"].head(9).assign(event="purchase")
    frame = pandas.concat([frame, bought])
    with pytest.raises(LogError, match=r"different events .'click', 'purchase'.*name the event"):
        read_log(frame)
    assert sum(arm.cells.total.sum() for arm in read_log(frame, ReadOptions(reward="purchase")).arms) == 9


def test_events_without_a_link_need_times():
    frame, _ = events(linked=False)
    with pytest.raises(LogError, match="no column holds times"):
        read_log(frame.drop(columns="ts"))


def test_rows_of_events_warm_a_bandit():
    frame, clicks = events(linked=True)
    assert sum(row["reward"] for row in read_rows(frame)) == sum(clicks.values())


@pytest.mark.parametrize("shape", ["{what} - {name}", "{name} {what}", "{what} ({name})"])
def test_arms_or_dates_side_by_side_are_refused(shape):
    days = pandas.date_range("2024-01-01", periods=40).strftime("%Y-%m-%d")
    names = {
        shape.format(what=what, name=name): n for name in "xy" for what, n in (("Impressions", 100), ("Clicks", 7))
    }
    with pytest.raises(LogError, match="may hold how many exposures"):
        read_log(pandas.DataFrame({"Day": days, "Campaign": "all"}).assign(**names))
    wide = {f"{day} {what}": [n, n + 1] for day in days for what, n in (("Impressions", 100), ("Clicks", 7))}
    with pytest.raises(LogError, match="may hold how many exposures"):
        read_log(pandas.DataFrame({"Ad": ["x", "y"], **wide}))


@pytest.mark.parametrize("how", ["folder", "pattern"])
def test_several_files_are_one_log(tmp_path, how):
    frame = make_log(arms=2, exposures=300, seed=4)
    for number, piece in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[piece].to_csv(tmp_path / f"part-{number}.csv", index=False)
    whole, parts = read_log(frame), read_log(str(tmp_path if how == "folder" else tmp_path / "part-*.csv"))
    assert parts.rows == 600
    assert "Read as one log: 3 files." in parts.notes
    for one, other in zip(whole.arms, parts.arms, strict=True):
        assert one.name == other.name
        assert one.cells.total.tolist() == other.cells.total.tolist()


def test_files_of_unlike_columns_are_no_log(tmp_path):
    frame = make_log(arms=2, exposures=100)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.rename(columns={"click": "clicked"}).to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(LogError, match=r"b.csv and a.csv have other columns \('click', 'clicked'\)"):
        read_log(tmp_path)


def test_folders_and_patterns_without_files_are_refused(tmp_path):
    with pytest.raises(LogError, match="holds no file"):
        read_log(tmp_path)
    with pytest.raises(LogError, match="no file has such a name"):
        read_log(str(tmp_path / "*.csv"))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
def test_rows_keep_their_order(tmp_path, kind):
    """Without a time column the order of the rows is that of time; a file is read by several threads."""
    rows = 30_000
    frame = pandas.DataFrame({"arm": "a", "reward": np.arange(rows)})
    path = tmp_path / f"log.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=kind == "jsonl")
    assert [row["reward"] for row in read_rows(path)] == list(range(rows))


def test_linked_events_with_other_columns_are_read():
    frame, clicks = events(linked=True, country="DE", page="home")
    log = read_log(frame)
    assert {arm.name: arm.cells.total.sum() for arm in log.arms} == clicks
    assert not log.columns.aggregated


def test_a_row_per_measure_is_refused():
    days = pandas.date_range("2024-03-01", periods=40).astype(str)
    rows = [(day, ad, name, n) for day in days for ad in "ab" for name, n in (("Impressions", 900), ("Clicks", 40))]
    with pytest.raises(LogError, match="'Metric' tells impressions from other measures"):
        read_log(pandas.DataFrame(rows, columns=["Day", "Ad", "Metric", "Value"]))


def sales(linked, amount="{}", **more):
    """Return impressions, clicks and purchases with amounts, and what each ad sold."""
    frame, _ = events(linked)
    clicked = frame[frame["event"] == "Click"]
    bought = clicked[::3].assign(event="purchase", revenue=range(1, len(clicked[::3]) + 1))
    bought["ts"] += pandas.Timedelta("1h")
    truth = bought.groupby("ad").revenue.sum().to_dict()
    bought["revenue"] = [amount.format(value) for value in bought.revenue]
    return pandas.concat([frame, bought]).sort_values("ts", kind="stable").assign(**more), truth


@pytest.mark.parametrize("amount", ["{}", "${}.00"])
@pytest.mark.parametrize("linked", [True, False])
def test_amounts_of_events_belong_to_impressions(linked, amount):
    frame, truth = sales(linked, amount)
    log = read_log(frame, ReadOptions(reward="revenue"))
    assert {arm.name: arm.exposures for arm in log.arms} == {"a": 200, "b": 200}
    assert {arm.name: arm.cells.total.sum() for arm in log.arms} == truth


def test_amounts_beside_impressions_are_refused():
    frame, _ = sales(linked=True)
    with pytest.raises(LogError, match="has amounts in rows of 'impression' and of other events"):
        read_log(frame.fillna({"revenue": "3"}), ReadOptions(reward="revenue"))


@pytest.mark.parametrize("names", [("Ad Viewed", "Ad Clicked"), ("view_promotion", "select_promotion")])
def test_names_of_events_are_told_by_their_words(names):
    frame, clicks = events(linked=False)
    frame["event"] = frame["event"].map({"impression": names[0], "Click": names[1]})
    assert {arm.name: arm.cells.total.sum() for arm in read_log(frame).arms} == clicks


def test_two_events_that_could_be_exposures_are_asked_for():
    """E-mail tools list what was sent and what was delivered: both together would count twice."""
    frame, clicks = events(linked=False)
    sent = frame[frame["event"] == "impression"]
    both = pandas.concat([frame.replace("impression", "delivered"), sent.assign(event="sent")]).replace("Click", "open")
    with pytest.raises(LogError, match=r"'delivered', 'sent'.*counts as the exposure with impressions="):
        read_log(both)
    log = read_log(both, ReadOptions(impressions="delivered"))
    assert {arm.name: (arm.exposures, arm.cells.total.sum()) for arm in log.arms} == {
        arm: (200, number) for arm, number in clicks.items()
    }
