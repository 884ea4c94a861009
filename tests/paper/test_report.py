"""The report, in a real browser."""

from html import escape

from browser import open_page
from rotting.paper import MODULES, report
from rotting.paper.reproduce import EXPERIMENTS, Reproduction, Settings


def test_the_page_in_a_browser(small, folder):
    for colours in ("light", "dark"):
        opinion = open_page(folder / "report.html", colours)
        assert opinion[:4] == ([], [], [], False)
        assert report.TITLE in opinion.text


def test_it_tells_everything(small):
    page = report.report(small, dict.fromkeys(MODULES, b"PNG"))
    paper = [experiment for experiment in EXPERIMENTS if experiment.name in MODULES]
    assert page.count("<img") == len(paper)
    for experiment in paper:
        assert escape(experiment.caption) in page
        assert page.count(f"<h2>{experiment.section}</h2>") == 1
    assert "seed 0 and 3 runs" in page
    for judgement in small.judgements:
        assert f">{judgement.verdict}<" in page
    assert "AISTATS 2019" in page


def test_a_part_of_it(small):
    part = Reproduction(Settings(only=("appendix",)), {}, [], [], small.versions)
    page = report.report(part, {"appendix": b"PNG"})
    assert page.count("<img") == 1
    assert "Verdicts" not in page
