import json

import numpy as np
import pytest

from rotting.errors import BadValue
from rotting.paper.beyond import push_log
from rotting.paper.beyond.push_log import RULES, Rule, chances, on_file, read, scores_of, sums_of
from rotting.play.run import Run
from rotting.policies import RecoveringSoftmax
from rotting.problems import Problem, Recovering, push, ten_arm
from rotting.problems.uniform_log import uniform_log

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

PROBLEM = push(users=40, horizon=4000)
NAMES = push_log.TEMPLATES[: PROBLEM.n_arms]


def logged(rounds=4000, run=0):
    [log] = uniform_log(PROBLEM, rounds, seed=1, run=run)
    return log


def table_of(log, texts=False, days=30.0):
    """The columns of the published files."""
    histories = [
        [{"template": NAMES[arm], "n_days": float(d)} for arm, d in enumerate(row) if np.isfinite(d)]
        for row in log.rest
    ]
    eligible = [[NAMES[arm] for arm in np.flatnonzero(row)] for row in log.eligible]
    if texts:
        histories = [json.dumps([list(each.values()) for each in history]) for history in histories]
        eligible = [str(each) for each in eligible]
    count = len(log.chosen)
    return {
        "datetime": np.linspace(0, days, count),
        "ui_language": ["en" if row % 3 else "es" for row in range(count)],
        "eligible_templates": eligible,
        "history": histories,
        "selected_template": [NAMES[arm] for arm in log.chosen],
        "session_end_completed": log.rewards == 1,
    }


def written(path, table):
    parquet.write_table(pyarrow.table(table), path)
    return path


def test_a_log_draws_each_eligible_arm_alike_and_pays_what_a_run_does():
    log = logged()
    assert log.eligible[np.arange(4000), log.chosen].all()
    choices = log.choices
    place = np.array(
        [np.flatnonzero(row).tolist().index(arm) for row, arm in zip(log.eligible, log.chosen, strict=True)]
    )
    assert abs(((place + 0.5) / choices).mean() - 0.5) < 0.02
    run = Run(PROBLEM, seed=1, number=0)
    for row in range(300):
        np.testing.assert_array_equal(run.eligible == 1, log.eligible[row])
        np.testing.assert_array_equal(run.journal.memory.rest, log.rest[row])
        np.testing.assert_array_equal(run.values(), log.means[row])
        assert run.pull(int(log.chosen[row])) == log.rewards[row]


def test_a_log_comes_in_pieces():
    pieces = list(uniform_log(PROBLEM, 1000, seed=1, most=300))
    assert [len(each.chosen) for each in pieces] == [300, 300, 300, 100]
    np.testing.assert_array_equal(np.concatenate([each.chosen for each in pieces]), logged(1000).chosen)


def test_only_problems_that_show_things_can_be_logged():
    for problem in (ten_arm(), Problem([1.0], dynamics=Recovering())):
        with pytest.raises(BadValue, match="problem="):
            next(uniform_log(problem, 10))


def test_sums_and_scores_are_those_of_a_policy_that_chose_uniformly():
    policy, log = RecoveringSoftmax(gamma=0.0, tau=1e9, prior=50.0), logged(2000)
    agent = policy.start(PROBLEM.n_arms)
    for row in range(2000):
        agent.see(np.flatnonzero(log.eligible[row]), log.rest[row])
        agent.update(int(log.chosen[row]), float(log.rewards[row]))
    sums = sums_of(log)
    np.testing.assert_allclose(np.concatenate(agent._state[4:7]), sums, rtol=1e-6)
    np.testing.assert_allclose(agent._state.scores, scores_of(policy, sums), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", RULES)
def test_rules_give_probabilities_of_eligible_arms(name):
    log = logged(500)
    found = chances(RULES[name], np.linspace(-1, 1, PROBLEM.n_arms), log)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found[~log.eligible] == 0).all()


def test_a_rule_is_the_policy_s_own_softmax():
    policy, log = RecoveringSoftmax(tau=0.01), logged(200)
    agent, scores = policy.start(PROBLEM.n_arms), np.linspace(-0.03, 0.03, PROBLEM.n_arms)
    agent._state.scores[:] = scores
    for row, expected in enumerate(chances(Rule(policy), scores, log)):
        agent.see(np.flatnonzero(log.eligible[row]), log.rest[row])
        np.testing.assert_allclose(agent.probabilities(), expected, atol=1e-6)


@pytest.mark.parametrize("texts", [False, True])
def test_the_published_columns_read_back(tmp_path, texts):
    log = logged(700)
    path = written(tmp_path / "log.parquet", table_of(log, texts))
    [part] = read(path)
    np.testing.assert_array_equal(part.log.eligible[:, : PROBLEM.n_arms], log.eligible)
    np.testing.assert_array_equal(part.log.chosen, log.chosen)
    np.testing.assert_array_equal(part.log.rewards, log.rewards)
    np.testing.assert_allclose(part.log.rest[:, : PROBLEM.n_arms], log.rest)
    assert set(part.languages) == {"en", "es"}


def test_a_file_is_judged_by_inverse_propensities(tmp_path):
    log = logged()
    folder = tmp_path / "parts"
    folder.mkdir()
    written(folder / "log.parquet", table_of(log))
    found = {verdict.rule: verdict for verdict in on_file(folder)}
    assert set(found) == set(RULES)
    late = log.rows(slice(2000, None))
    assert found["uniform"].value == pytest.approx(late.rewards.mean())
    assert (found["uniform"].gain, found["uniform"].low) == (0, 0)
    weights = chances(RULES["last template again"], np.zeros(1), late)[np.arange(2000), late.chosen] * late.choices
    assert found["last template again"].value == pytest.approx((weights * late.rewards).mean())
    for verdict in found.values():
        assert verdict.low <= verdict.gain <= verdict.high
        assert verdict.effective <= 2000


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("selected_template", "Z", "cannot be read"),
        ("eligible_templates", ["A", "?"], "cannot be read"),
        ("history", [{"template": "A", "n_days": None}], "history without days"),
    ],
)
def test_rows_that_cannot_be_read_are_refused(tmp_path, column, value, said):
    table = table_of(logged(20))
    table[column] = [*table[column][:-1], value]
    with pytest.raises(BadValue, match=said):
        list(read(written(tmp_path / "log.parquet", table)))


def test_a_template_that_was_not_eligible_is_refused(tmp_path):
    table = table_of(logged(20))
    table["selected_template"][3] = "L"
    with pytest.raises(BadValue, match="was not eligible"):
        list(read(written(tmp_path / "log.parquet", table)))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(BadValue, match="no Parquet files"):
        list(read(tmp_path))
    with pytest.raises(BadValue, match="has no column"):
        list(read(written(tmp_path / "log.parquet", {"a": [1]})))
    short = written(tmp_path / "short.parquet", table_of(logged(50), days=3.0))
    with pytest.raises(BadValue, match="no rows from day 15"):
        on_file(short)
