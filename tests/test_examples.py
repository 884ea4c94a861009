"""The examples run, and their results are what they say."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_creative_fatigue(capsys):
    example = runpy.run_path(str(EXAMPLES / "creative_fatigue.py"))
    example["main"].__globals__["CAMPAIGNS"] = 1
    rates = example["main"]()
    assert rates["EFF-FEWA"] > max(rates["UCB1"], rates["A/B split"])
    assert "over the A/B split" in capsys.readouterr().out
