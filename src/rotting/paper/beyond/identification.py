"""Beyond the paper: which arm will be best, of arms that wear out, and of arms that rise (Mussi et al. 2024).

After T rounds a policy recommends one arm for the 100 pulls to come; it errs if another arm would pay more over them,
each as worn as the policy left it. The question: is our rule for arms that wear out within MARGIN of the error
probability of the better of two baselines (uniform allocation, and successive rejects, both on the means of an arm's
last quarter of rewards), and below it on most of six problems?

The problems of FIRST were written down before anything was measured on them. The first rule that we had for them was
sequential halving on the window with the smallest mean + sigma sqrt(2 ln(20) / h): it was within the margin on one of
the six, and below the baselines on none. RottingRejects was then chosen on problems drawn at random; those of SECOND
were written down before it was measured on either.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from rotting._output.style import marker_style
from rotting.paper.claims import Claims, Finding, as_published, exactly, over_runs, reading, within
from rotting.paper.experiment import Block, Experiment, Results, Row
from rotting.policies import RSR, RUCBE, Policy, RottingRejects, SequentialHalving, SuccessiveRejects
from rotting.problems import Constant, Curve, Drop, Exponential, Linear, Logistic, Power, Problem, Rising
from rotting.simulation.identified import error_interval, outcomes

AHEAD, MARGIN = 100, 0.05
KEPT = ("recommended",)

FIRST: dict[str, list[Curve]] = {
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
SECOND: dict[str, list[Curve]] = {
    "close": [Constant(0.6 - 0.05 * arm) for arm in range(6)],
    "one late drop": [Drop(0.9, 0.1, 200), *[Constant(0.6 - 0.05 * arm) for arm in range(4)]],
    "staggered drops": [Constant(0.45), *[Drop(0.7, 0.2, 20 * arm) for arm in range(1, 10)]],
    "straight lines": [Linear(0.9 - 0.05 * arm, (8 - arm) / 8000, 0.1) for arm in range(8)],
    "logistic": [Constant(0.5), *[Logistic(0.8, 60 + 20 * arm, 15, 0.2 + 0.03 * arm) for arm in range(8)]],
    "floors": [Exponential(0.9, 1 / 30, 0.5 - 0.05 * arm) for arm in range(8)],
}
# Curves, rounds, and the scale of the noise.
SETS = {"first": (FIRST, 2000, 0.5), "second": (SECOND, 1500, 0.3)}
PROBLEMS = {
    kind: {name: Problem(each, sigma=sigma, horizon=horizon, name=name) for name, each in curves.items()}
    for kind, (curves, horizon, sigma) in SETS.items()
}
OURS, BASELINES = "RottingRejects", ("uniform, last quarter", "successive rejects, last quarter")
POLICIES: dict[str, Policy] = {
    OURS: RottingRejects(sigma=None),
    BASELINES[0]: SequentialHalving(share=0.25, phases=1),
    BASELINES[1]: SuccessiveRejects(share=0.25),
    "successive rejects": SuccessiveRejects(),
    "sequential halving": SequentialHalving(),
}

# Mussi et al. (2024), their first synthetic setting: n pulls make an arm top (1 - b / (b + n)).
RISING = ((1.0, 37), (0.88, 10), (0.78, 1), (0.7, 10), (0.5, 20))
NOISE, SHARE, BETA = 0.01, 0.25, 1.3
# Their figure's error probabilities, of 100 runs, from the source of the figure.
BUDGETS = (200, 400, 800, 900, 1000, 1200, 2000, 2400, 2800, 3200)
PUBLISHED = {
    "R-UCBE": (0.0,) * 10,
    "R-SR": (1.0, 1.0, 1.0, 0.06, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "successive rejects": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    "uniform, last quarter": (1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "uniform": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.67, 0.0),
}


def _risen(budget: int) -> Problem:
    curves = [[top * (1 - b / (b + n)) for n in range(budget + 1)] for top, b in RISING]
    return Problem(curves, sigma=NOISE, horizon=budget, dynamics=Rising(), name=f"Mussi et al., T = {budget}")


def _exploration(budget: int) -> float:
    """Return the a of the authors' program: the square of a bracket that is negative here (`rucbe_exploration`)."""
    values = np.array([top * (1 - b / (b + budget)) for top, b in RISING])
    gaps = values.max() - values
    total = np.sum(gaps[gaps > 0] ** (-2 / 3))
    bracket = budget ** (BETA - 1) / total**BETA - (1 - 2 * SHARE) ** -BETA
    return float(SHARE**3 / (4 * NOISE**2) * bracket**2)


def _rising_policies(budget: int) -> dict[str, Policy]:
    return {
        "R-UCBE": RUCBE(sigma=NOISE, share=SHARE, a=_exploration(budget)),
        "R-SR": RSR(share=SHARE),
        "successive rejects": SuccessiveRejects(),
        "uniform, last quarter": SequentialHalving(share=SHARE, phases=1),
        "uniform": SequentialHalving(share=1.0, phases=1),
    }


def _errors(results: Results, kind: str) -> dict[str, np.ndarray]:
    """Return whether each run erred: by policy, [run, problem]."""
    wrong = []
    for name, problem in PROBLEMS[kind].items():
        chosen, best = outcomes(results[f"{kind}, {name}"], problem, AHEAD)
        wrong.append(chosen < best)
    return dict(zip(POLICIES, np.stack(wrong, axis=-1), strict=True))


def _rising_errors(results: Results) -> dict[str, list[np.ndarray]]:
    """Return whether each run erred: by policy and budget; arms are judged as if each had been pulled T times."""
    found: dict[str, list[np.ndarray]] = {label: [] for label in PUBLISHED}
    for budget in BUDGETS:
        chosen, best = outcomes(results[f"T={budget}"], _risen(budget), at=budget)
        for label, wrong in zip(PUBLISHED, chosen < best, strict=True):
            found[label].append(wrong)
    return found


def _error_table(results: Results) -> list[Row]:
    rows: list[Row] = []
    for kind, problems in PROBLEMS.items():
        for label, wrong in _errors(results, kind).items():
            for name, each in zip(problems, wrong.T, strict=True):
                error, low, high = error_interval(each)
                rows.append({"set": kind, "problem": name, "policy": label, "error": error, "low": low, "high": high})
    return rows


def _regret_table(results: Results) -> list[Row]:
    rows: list[Row] = []
    for kind, problems in PROBLEMS.items():
        for name, problem in problems.items():
            for label, chosen, best in zip(
                POLICIES, *outcomes(results[f"{kind}, {name}"], problem, AHEAD), strict=True
            ):
                said: Row = {"set": kind, "problem": name, "policy": label}
                rows.append({**said, "simple_regret": float((best - chosen).mean()), "reward": float(chosen.mean())})
    return rows


def _rising_table(results: Results) -> list[Row]:
    return [
        {"policy": label, "rounds": budget, "published": published, "error": float(wrong.mean())}
        for label, every in _rising_errors(results).items()
        for budget, published, wrong in zip(BUDGETS, PUBLISHED[label], every, strict=True)
    ]


def _draw(axes: Axes, results: Results, kind: str) -> None:
    """Draw the errors of each policy on each problem, with their intervals."""
    for index, (label, wrong) in enumerate(_errors(results, kind).items()):
        found = np.array([error_interval(each) for each in wrong.T]).T
        heights = np.arange(len(PROBLEMS[kind])) + 0.12 * (index - 2)
        ends = np.stack([found[0] - found[1], found[2] - found[0]])
        style = marker_style(index) | {"linestyle": "none"}
        axes.errorbar(found[0], heights, xerr=ends, label=label, **style)
    axes.set_yticks(range(len(PROBLEMS[kind])), list(PROBLEMS[kind]))
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("error probability, with 95 % intervals")
    axes.legend(frameon=False, fontsize="x-small")


def _draw_rising(axes: Axes, results: Results) -> None:
    """Draw errors against T; crosses are published."""
    for index, (label, every) in enumerate(_rising_errors(results).items()):
        style = marker_style(index)
        axes.plot(BUDGETS, [wrong.mean() for wrong in every], label=label, **style)
        axes.plot(BUDGETS, PUBLISHED[label], "x", color=style["color"], markersize=8)
    axes.set_xlabel("T")
    axes.set_ylabel("error probability")
    axes.legend(frameon=False, fontsize="small")


claim = Claims("identification")


def _excess(means: np.ndarray) -> np.ndarray:
    """Return by how much our error is above the better baseline's, by problem."""
    return np.asarray(means[0] - means[1:3].min(axis=0))


def _within_margin(results: Results, kind: str) -> Finding:
    errors = _errors(results, kind)
    runs = np.stack([errors[label] for label in (OURS, *BASELINES)], axis=1)
    found = dict(zip(PROBLEMS[kind], _excess(runs.mean(axis=0)), strict=True))
    why = ", ".join(f"{name} {more:+.3f}" for name, more in found.items())
    return Finding(over_runs(lambda means: _excess(means).max(), runs), f"{why}.")


def _better_in_most(results: Results, kind: str) -> Finding:
    errors = _errors(results, kind)
    runs = np.stack([errors[label] for label in (OURS, *BASELINES)], axis=1)
    below = [name for name, more in zip(PROBLEMS[kind], _excess(runs.mean(axis=0)), strict=True) if more < 0]
    return Finding(over_runs(lambda means: (_excess(means) < 0).sum(), runs), f"on {', '.join(below) or 'none'}.")


for _kind in SETS:
    claim(
        f"identify-{_kind}-margin",
        f"RottingRejects errs hardly more than the better of two baselines (ours; the {_kind} six problems)",
        "largest excess of its error probability over the smaller one of the baselines'",
        within(most=MARGIN),
        "at most 0.05, said beforehand",
    )(partial(_within_margin, kind=_kind))
    claim(
        f"identify-{_kind}-most",
        f"RottingRejects errs less than both baselines on most of the problems (ours; the {_kind} six problems)",
        "on how many of six",
        within(least=4),
        "4 or more, said beforehand",
    )(partial(_better_in_most, kind=_kind))


@claim(
    "identify-rising",
    "error probability of R-UCBE, R-SR and others against T (Mussi et al. 2024, their first synthetic setting)",
    "largest difference from their figure, as a share of what is allowed (0.03, or three standard errors)",
    exactly(most=1),
    "R-UCBE 0 from T = 200 on; R-SR 0.06 at 900, 0 from 1000 on",
)
def _as_published(results: Results) -> Finding:
    found = [
        reading(f"{label} at {budget}", wrong.astype(float), published, 0.03, 100)
        for label, every in _rising_errors(results).items()
        for budget, wrong, published in zip(BUDGETS, every, PUBLISHED[label], strict=True)
    ]
    apart = [each for each in found if abs(each.value - each.published) > each.allowed]
    why = ", ".join(f"{each.label} {each.value:.2f} ({each.published:g})" for each in apart)
    return as_published(found, f"apart: {why or 'none'}.")


def _blocks() -> list[Block]:
    worn: Mapping[str, Problem] = {
        f"{kind}, {name}": problem for kind, problems in PROBLEMS.items() for name, problem in problems.items()
    }
    return [
        *(Block(key, POLICIES, problem, trace=KEPT) for key, problem in worn.items()),
        *(Block(f"T={budget}", _rising_policies(budget), _risen(budget), runs=100, trace=KEPT) for budget in BUDGETS),
    ]


EXPERIMENT = Experiment(
    name="identification",
    section="Beyond the paper: which arm will be best",
    alt="Error probabilities of policies that identify the best arm, on worn arms and on arms that rise",
    caption="Left, middle: arms that wear out; a policy errs if, after T rounds, another arm than the one that it "
    "recommends would pay more in the next 100 pulls. Right: Mussi and others (2024), arms that rise; crosses: theirs.",
    size=(5.5, 4.6),
    panels={
        "Worn arms, six problems": partial(_draw, kind="first"),
        "Worn arms, six others": partial(_draw, kind="second"),
        "Arms that rise": _draw_rising,
    },
    tables={
        "identification": _error_table,
        "identification_regret": _regret_table,
        "identification_rising": _rising_table,
    },
    runs=1000,
    blocks=_blocks(),
    claims=claim,
)
