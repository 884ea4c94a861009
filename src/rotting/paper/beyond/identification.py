"""Beyond the paper: which arm will be best. Six rotting problems, written down before anything was measured on them.

Each has T = 2000 rounds and normal noise of scale 0.5. After T rounds a policy recommends one arm for the 100 pulls to
come; it errs if another arm would pay more over them, each as worn as the policy left it. The question: is our
RottingHalving within 0.05 of the error probability of the better of two baselines (uniform allocation, and successive
rejects, both on the means of an arm's last quarter of rewards), and below it on most of the six?
"""

from __future__ import annotations

from rotting.problems import Constant, Curve, Drop, Exponential, Power, Problem

HORIZON, SIGMA, AHEAD, MARGIN = 2000, 0.5, 100, 0.05

CURVES: dict[str, list[Curve]] = {
    "stationary": [Constant(0.5 - 0.05 * arm) for arm in range(8)],
    "early drops": [
        Constant(0.5),
        *[Drop(0.9, 0.3, 40)] * 3,
        *[Drop(0.7, 0.4, 40)] * 2,
        Constant(0.4),
        Constant(0.35),
    ],
    "late drops": [
        Constant(0.5),
        *[Drop(0.8, 0.2, 150)] * 3,
        *[Drop(0.6, 0.4, 150)] * 2,
        Constant(0.4),
        Constant(0.3),
    ],
    "power laws": [Power(0.3 + 0.05 * arm, step=10) for arm in range(8)],
    "crossing": [
        Exponential(1.0, 1 / 100, 0.1),
        Exponential(0.9, 1 / 80, 0.2),
        Exponential(0.8, 1 / 60, 0.3),
        Exponential(0.7, 1 / 100, 0.35),
        Exponential(0.6, 1 / 50, 0.4),
        Exponential(0.55, 1 / 200, 0.45),
        Constant(0.5),
        Constant(0.42),
    ],
    "twenty arms": [
        Constant(0.55),
        *[Constant(0.3 + 0.02 * arm) for arm in range(10)],
        *[Drop(0.8, 0.25, 20 + 10 * arm) for arm in range(9)],
    ],
}
PROBLEMS = {
    name: Problem(curves, sigma=SIGMA, horizon=HORIZON, name=f"identification: {name}")
    for name, curves in CURVES.items()
}
