"""Beyond the paper: which notification to send (Yancey, Settles 2020), on logs and users that we make."""

from __future__ import annotations

from functools import partial

import numpy as np
from matplotlib.axes import Axes

from rotting._output.style import line_style, thousands
from rotting.paper.beyond.push_log import PUBLISHED, on_generated
from rotting.paper.claims import Claims, Estimate, Finding, mean_of, within
from rotting.paper.experiment import Block, Experiment, Results, Row, draw_ranking, final_reward, summary_row
from rotting.policies import FEWA, BetaThompson, Policy, RecoveringSoftmax, Uniform
from rotting.problems import push

LOGS = 8  # that are made, at most
RUNNING, OTHERS = "running", "others"
# A prior of 10^300 rounds leaves all lifts at 0.
PARTS: dict[str, Policy] = {
    "uniform": RecoveringSoftmax(prior=1e300, gamma=0.0),
    "rates": RecoveringSoftmax(gamma=0.0, rates=True),
    "lifts": RecoveringSoftmax(prior=0.0, gamma=0.0),
    "lifts, shrunk": RecoveringSoftmax(gamma=0.0),
    "lifts, shrunk, recency": RecoveringSoftmax(),
}
POLICIES: dict[str, Policy] = {
    "RecoveringSoftmax": RecoveringSoftmax(),
    "BetaThompson": BetaThompson(),
    "FEWA": FEWA(sigma=0.34),
    "Uniform": Uniform(),
}
BLOCKS = [
    Block(RUNNING, PARTS, push(horizon=1_000_000), rounds=20),
    Block(OTHERS, POLICIES, push(horizon=50_000), runs=4),
]


def _logged(results: Results) -> dict[str, np.ndarray]:
    """Return what each rule's next decision is worth, on logs of this result's seed."""
    dataset = results[RUNNING]
    return on_generated(min(LOGS, dataset.sizes["run"]), int(dataset.attrs["seed"]))


def _gain(values: dict[str, np.ndarray], over: str = "uniform") -> dict[str, np.ndarray]:
    """Return by how much more than a rule the others earn, in % of it."""
    return {name: 100 * (value / values[over] - 1) for name, value in values.items()}


def _running(results: Results, key: str = RUNNING) -> dict[str, np.ndarray]:
    return final_reward(results[key])


# Tables and panels.


def _table(results: Results) -> list[Row]:
    """Return values of all rules: on logs, and running."""
    rows: list[Row] = []
    kinds = ("next decision", _logged(results)), ("running", _running(results)), (OTHERS, _running(results, OTHERS))
    for kind, values in kinds:
        base = "Uniform" if kind == OTHERS else "uniform"
        for name, gain in _gain(values, base).items():
            published = PUBLISHED.get(name) if kind == kinds[0][0] else None
            theirs = None if published is None else 100 * (published / PUBLISHED["uniform"] - 1)
            rows.append({"what": kind, "policy": name, "published": theirs, **summary_row(gain)})
    return rows


def _draw_logged(axes: Axes, results: Results) -> None:
    gains = _gain(_logged(results))
    draw_ranking(axes, gains, "gain over uniform, %", best_is_large=True)
    order = sorted(gains, key=lambda label: float(gains[label].mean()))
    for label, value in PUBLISHED.items():
        if label in order:
            axes.plot(100 * (value / PUBLISHED["uniform"] - 1), order.index(label), "kx", markersize=9)


def _draw_running(axes: Axes, results: Results) -> None:
    """Draw the gain of each rule over uniform choices until each round."""
    dataset = results[RUNNING]
    earned = (dataset["oracle_reward"] - dataset["regret"]).transpose("policy", "run", "round")
    base = earned.sel(policy="uniform").values
    for index, label in enumerate(PARTS):
        gain = 100 * (earned.sel(policy=label).values / base - 1).mean(axis=0)
        axes.plot(dataset["round"].values, gain, label=label, **line_style(index))
    axes.set_xlabel("round")
    axes.set_ylabel("gain over uniform until then, %")
    axes.xaxis.set_major_formatter(thousands())
    axes.legend(frameon=False, fontsize="small")


claim = Claims("push")


def _judge(results: Results, rule: str, over: str, why: str, running: bool = False) -> Finding:
    values = _running(results) if running else _logged(results)
    return Finding(mean_of(_gain(values, over)[rule]), why)


for _name, _words, _rule, _over, _run, _paper, _why in (
    ("lift", "choosing the template with the largest lift earns more than choosing any", "lifts", "uniform", False,
     "+1.2 %", "on later rows of the log that the lifts were learnt from."),
    ("recency", "a penalty for what was seen lately earns more still", "lifts, recency", "lifts", False, "+0.15 %",
     "for the next decision, given what the log's users saw; see push-recency-running."),
    ("lift-running", "lifts earn more than mean rewards do", "lifts, shrunk", "rates", True, "",
     "mean rewards go to templates that suit active users."),
    ("shrinkage", "shrinking lifts earns more than not", "lifts, shrunk", "lifts", True, "",
     "without it, the softmax settles on templates that were lucky early."),
):  # fmt: skip
    claim(
        f"push-{_name}",
        f"{_words} (Yancey, Settles 2020)",
        f"gain of {_rule!r} over {_over!r}, % of expected rewards, {'running' if _run else 'next decision'} (above 0)",
        within(least=0.0),
        _paper,
    )(partial(_judge, rule=_rule, over=_over, why=_why, running=_run))


@claim(
    "push-last",
    "sending the last template again costs something (Yancey, Settles 2020)",
    "gain over uniform, %, next decision (below 0)",
    within(most=0.0),
    "-0.5 %",
)
def _last(results: Results) -> Finding:
    return _judge(results, "last template again", "uniform", "this follows from the penalty and half-life published.")


@claim(
    "push-naive",
    "a naive reading, the template with the largest mean reward, gains next to nothing",
    "gain over uniform as a share of that of lifts, next decision (at most a quarter)",
    within(most=0.25),
)
def _naive(results: Results) -> Finding:
    gains = _gain(_logged(results))
    share = mean_of(gains["rates"] / gains["lifts"].mean())
    why = "users who come back anyway are suited by other templates: mean rewards tell who was asked, not what it did."
    return Finding(share, why)


@claim(
    "push-recency-running",
    "the penalty earns more also if its policy is what runs, and learns from its own rounds (a question of ours)",
    "gain of 'lifts, shrunk, recency' over 'lifts, shrunk', %, running (above 0)",
    within(least=0.0),
)
def _recency_running(results: Results) -> Finding:
    why = "lifts learnt from its own rounds hold already what is lost by showing often; the penalty counts that twice."
    return _judge(results, "lifts, shrunk, recency", "lifts, shrunk", why, running=True)


@claim(
    "push-others",
    "policies that do not know of users earn less (a question of ours)",
    "RecoveringSoftmax less the best of the others, % of uniform, T = 50 000 (above 0)",
    within(least=0.0),
)
def _others(results: Results) -> Finding:
    gains = _gain(_running(results, OTHERS), "Uniform")
    mine = gains.pop("RecoveringSoftmax")
    best = max(gains, key=lambda label: float(gains[label].mean()))
    found: Estimate = mean_of(mine - gains[best])
    return Finding(found, f"the best of the others is {best}.")


EXPERIMENT = Experiment(
    name="push",
    section="Beyond the paper: notifications",
    alt="Gain over uniform choices of rules for notifications, on logs and running, and published values",
    caption="Yancey, Settles (2020), on users that we make. Left: the next decision of rules learnt from uniform logs; "
    " crosses are their Table 6. Middle: the softmax running from the first round on. Right: other policies, "
    "which choose as if templates that do not suit did not exist.",
    size=(4.4, 4.0),
    panels={
        "Next decision, on logs": _draw_logged,
        "Running": _draw_running,
        "Others": lambda axes, results: draw_ranking(
            axes, _gain(_running(results, OTHERS), "Uniform"), "gain over uniform, %", best_is_large=True
        ),
    },
    tables={"push": _table},
    runs=20,
    blocks=BLOCKS,
    claims=claim,
)
