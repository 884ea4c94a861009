"""Figure 2: regret per arm adds up, and the panels show all policies."""

import numpy as np

from rotting.paper import ten_arm


def test_regret_per_arm_adds_up(small):
    results = small.results["fig2"]
    dataset = results[ten_arm.KEY]
    per_arm = ten_arm.regret_per_arm(results)
    assert float(per_arm.sel(arm=0).max()) == 0
    total = dataset["regret"].isel(round=-1).transpose("policy", "run")
    np.testing.assert_allclose(per_arm.sum("arm").transpose("policy", "run").values, total.values, rtol=1e-9)


def test_panels(small):
    figure = ten_arm.EXPERIMENT.figure(small.results["fig2"])
    over_time, per_arm = figure.axes
    assert len(over_time.get_lines()) == len(per_arm.get_lines()) == len(ten_arm.SHOWN)
    np.testing.assert_allclose(per_arm.get_lines()[0].get_xdata(), np.geomspace(0.001, 10, 9))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(ten_arm.SHOWN)
