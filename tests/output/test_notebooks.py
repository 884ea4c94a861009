"""What notebooks show: everything is escaped, and says what the text form says."""

import rotting
from rotting import Bandit, EffFEWA


def test_explanations():
    agent = rotting.FEWA(sigma=0.1).start(2)
    for arm, reward in [(0, 1.0), (1, 0.0)]:
        agent.update(arm, reward)
    html = agent.explain()._repr_html_()
    assert "round 3: pull arm 0" in html
    assert html.count("<tr>") == 3
    assert "<td>pull</td>" in html


def test_bandits_and_reports(tmp_path):
    with Bandit.open(f"sqlite:///{tmp_path}/x.db", "hero", EffFEWA(sigma=0.5), ["<b>red</b>", "green"]) as bandit:
        for _ in range(4):
            bandit.reward(bandit.decide().id, 1.0)
        bandit.retire_arm("green")
        for html in (bandit._repr_html_(), bandit.report()._repr_html_()):
            assert "&lt;b&gt;red&lt;/b&gt;" in html
            assert "<b>" not in html
            assert "retired" in html


def test_diagnoses():
    log = rotting.logs.make_log(arms=2, exposures=200, seed=1)
    diagnosis = rotting.diagnose(log)
    html = diagnosis._repr_html_()
    assert diagnosis.summary.split(",")[0] in html
    assert html.count("<tr>") == 3
