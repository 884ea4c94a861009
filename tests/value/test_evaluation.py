"""The public door: what is told of a log, what is refused, and what is written."""

import json

import numpy as np
import pytest

import rotting
from logs_with_probabilities import uniform_log
from rotting import FEWA, UCB1, Bandit, EpsilonGreedy, Oracle
from rotting.errors import BadType, BadValue
from rotting.logs import LogError


def evaluate(log, policies, **options):
    return rotting.evaluate(log, policies, show_progress=False, **options)


@pytest.fixture(scope="module")
def log():
    return uniform_log()


@pytest.fixture(scope="module")
def found(log):
    return evaluate(log, [UCB1(sigma=0.5), "FEWA(sigma=0.5)", {"arm 0": 0.0, "arm 1": 0.0, "arm 2": 1.0}])


def test_values_and_gains_are_those_of_the_arms(found):
    worst = found.of("given shares")
    assert worst.next_decision.low < 0.1 < worst.next_decision.high
    assert worst.gain.high < 0
    assert not worst.may_be_best
    best = found.policies[0]
    assert best.next_decision.low < 0.3 < best.next_decision.high or best.next_decision.point > 0.2
    assert best.may_be_best
    assert found.done.low < 0.2 < found.done.high


def test_running_is_told_for_both_kinds_of_world_and_named(found):
    worlds = [run.world for run in found.of("FEWA(sigma=0.5)").running]
    assert worlds == ["exposures", "calendar"]
    page = found._repr_html_()
    assert "next decision" in page


def test_what_is_shown_half_of_the_time_by_shares_earns_half_of_each(log):
    halves = evaluate(log, {"half": {"arm 0": 0.5, "arm 2": 0.5}}, wears="exposures").of("half")
    assert halves.next_decision.point == pytest.approx(0.2, abs=0.05)
    assert [run.world for run in halves.running] == ["exposures"]
    assert halves.running[0].value.point == pytest.approx(0.2, abs=0.05)


def test_page_and_json_are_written(found, tmp_path):
    data, page = found.save(tmp_path / "new")
    content = json.loads(data.read_text())
    assert content["policies"][0]["next_decision"]["point"] == found.policies[0].next_decision.point
    html = page.read_text()
    assert "Target 1" in html
    assert "Target 2" in html
    assert "<script" not in html


def test_same_seed_same_numbers(log):
    one, other = (evaluate(log, ["BetaThompson()"], seed=3).to_dict() for _ in range(2))
    assert one == other


def test_a_uniform_log_needs_no_column(log):
    plain = log.drop(columns="propensity")
    stated = evaluate(plain, ["UCB1(sigma=0.5)"], uniform=True)
    assert stated.policies == evaluate(log, ["UCB1(sigma=0.5)"]).policies


def test_a_log_without_probabilities_says_what_to_do(log):
    with pytest.raises(LogError, match=r"no column with the probability.*uniform.*at random") as raised:
        evaluate(log.drop(columns="propensity"), ["UCB1()"])
    assert "diagnose" in str(raised.value)


@pytest.mark.parametrize("wrong", [0.0, 1.5, -0.1])
def test_what_is_no_probability_is_refused_by_row(log, wrong):
    bad = log.copy()
    bad.loc[7, "propensity"] = wrong
    with pytest.raises(LogError, match=r"row 8: .*is not the probability"):
        evaluate(bad, ["UCB1()"])


def test_a_missing_probability_is_refused(log):
    bad = log.copy()
    bad.loc[[7, 9], "propensity"] = np.nan
    with pytest.raises(LogError, match=r"row 8: is empty, or no number \(and 1 rows more\)"):
        evaluate(bad, ["UCB1()"])


def test_probabilities_of_another_arm_are_refused():
    log = uniform_log()
    log["propensity"] = np.where(log["arm"] == "arm 0", 0.1, 1 / 3)
    with pytest.raises(LogError, match=r"does not hold the probabilities.*'arm 0' was shown"):
        evaluate(log, ["UCB1()"])


def test_probabilities_that_are_too_large_are_refused():
    log = uniform_log()
    log["propensity"] = 0.8
    found = evaluate(log, ["UCB1(sigma=0.5)"])
    assert found.policies[0].next_decision is None
    assert "mean 0." in found.policies[0].refused


def test_a_log_that_left_nothing_to_chance_is_refused():
    log = uniform_log()
    log["propensity"] = 1.0
    with pytest.raises(LogError, match="probability 1"):
        evaluate(log, ["UCB1()"])


def test_one_arm_is_worth_what_it_earned():
    log = uniform_log(rates=(0.3,))
    with pytest.raises(LogError, match="probability 1"):
        evaluate(log, ["UCB1()"])


def test_a_log_sorted_by_its_outcome_is_refused(log):
    shuffled = log.drop(columns="time").sort_values("click", ascending=False)
    with pytest.raises(LogError, match="sorted"):
        evaluate(shuffled, ["UCB1()"])


def test_rows_of_one_day_are_not_known_to_each_other(log):
    by_day = log.assign(time=log["time"].dt.strftime("%Y-%m-%d"))
    sorted_within = by_day.sort_values(["time", "click"])
    one, other = (
        evaluate(each, ["UCB1(sigma=0.5)"], wears="calendar").policies[0].ips for each in (by_day, sorted_within)
    )
    assert one == other


def test_sums_are_refused():
    log = uniform_log().assign(impressions=10)
    with pytest.raises(LogError, match="many exposures"):
        evaluate(log, ["UCB1()"])


def test_users_widen_the_interval():
    log = uniform_log(4000)
    random = np.random.default_rng(2)
    log["user_id"] = np.repeat(np.arange(400), 10)
    log["click"] = np.repeat(random.random(400) < 0.3, 10).astype(int)
    alone = evaluate(log, {"equal": dict.fromkeys(("arm 0", "arm 1", "arm 2"), 1 / 3)})
    users = evaluate(log, {"equal": dict.fromkeys(("arm 0", "arm 1", "arm 2"), 1 / 3)}, unit="user_id")
    lengths = [each.of("equal").next_decision.high - each.of("equal").next_decision.low for each in (alone, users)]
    assert lengths[1] > 2.5 * lengths[0]
    assert users.clusters == "user_id"


def test_late_rewards_are_learnt_when_they_arrive():
    log = uniform_log()
    late = log["time"] + np.where(log["click"] == 1, np.timedelta64(100, "m"), np.timedelta64(5, "m"))
    found = evaluate(log.assign(bought_at=late), ["UCB1(sigma=0.5)"], reward_time="bought_at")
    assert found.rows == 1900
    assert any("not all of their rewards" in note for note in found.notes)


def test_rows_since_a_day_are_weighed_and_earlier_ones_learnt(log):
    found = evaluate(log, ["UCB1(sigma=0.5)"], since="2026-01-02")
    assert found.rows == 560
    assert found.policies[0].running[0].value is None
    with pytest.raises(LogError, match="since"):
        evaluate(log, ["UCB1()"], since="yesterday")


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ([], "holds nothing"),
        ("UCB1()", "several policies"),
        (["UCB1()", "UCB1()"], "twice"),
        (["Nonsense()"], "does not exist"),
        ([{"arm 0": 0.5}], "shares of one whole"),
        ([{"arm 0": 1.5, "arm 1": -0.5}], "not a share"),
        ([{"arm 9": 1.0}], "not an arm of the log"),
        ([Oracle()], "true values"),
        (None, "several policies"),
        ([3], "not a policy"),
    ],
)
def test_nonsense_for_policies_is_refused(log, policies, message):
    with pytest.raises((BadValue, BadType), match=message):
        evaluate(log, policies)


def test_an_unknown_world_is_refused(log):
    with pytest.raises(BadValue, match="wears='weather'"):
        evaluate(log, ["UCB1()"], wears="weather")


def test_a_sigma_that_is_open_is_told(log):
    stated = evaluate(log, {"told": FEWA(sigma=None), "given": FEWA(sigma=0.4)})
    assert stated.of("told").support.effective > 0


@pytest.fixture
def url(tmp_path):
    url = f"sqlite:///{tmp_path}/hero.db"
    random = np.random.default_rng(1)
    rates = {"red": 0.4, "green": 0.2}
    with Bandit.open(url, "hero", UCB1(sigma=0.5), list(rates), epsilon=0.5, reward_range=(0, 1)) as bandit:
        for _ in range(40):
            for choice in bandit.decide(10):
                bandit.reward(choice.id, float(random.random() < rates[choice.arm]))
        bandit.decide(3)
    return url


def test_a_bandits_own_log_is_read(url):
    found = evaluate(url, [EpsilonGreedy(0.0), {"green": 1.0}], bandit="hero")
    assert found.rows == 400
    assert any("3 decisions have no reward" in note for note in found.notes)
    green = found.of("given shares").next_decision
    assert green.low < 0.2 < green.high


def test_the_same_policy_is_worth_what_the_bandit_earned(url):
    found = evaluate(url, [{"red": 0.5, "green": 0.5}, UCB1(sigma=0.5)], bandit="hero")
    assert found.of("UCB1(sigma=0.5)").support.effective > 200


def test_a_database_needs_the_name_of_a_bandit(url):
    with pytest.raises(LogError, match="name of the bandit"):
        evaluate(url, ["UCB1()"])
    with pytest.raises(LogError, match="not in a database"):
        evaluate("log.csv", ["UCB1()"], bandit="hero")


def test_a_bandit_that_left_nothing_to_chance_is_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/plain.db"
    with Bandit.open(url, "plain", UCB1(sigma=0.5), ["a", "b"], reward_range=(0, 1)) as bandit:
        for choice in bandit.decide(100):
            bandit.reward(choice.id, 1.0)
    with pytest.raises(LogError, match="epsilon"):
        evaluate(url, ["FEWA(sigma=0.5)"], bandit="plain")


def test_a_compacted_bandit_is_refused(url, tmp_path):
    with Bandit.open(url, "hero") as bandit:
        bandit.compact(before=500, export=tmp_path / "old.csv")
        for choice in bandit.decide(10):
            bandit.reward(choice.id, 1.0)
    with pytest.raises(LogError, match="compacted up to event"):
        evaluate(url, ["UCB1()"], bandit="hero")
