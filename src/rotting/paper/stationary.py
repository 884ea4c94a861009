"""The appendix's figure: two arms that never change, where FEWA is compared with UCB1."""

from __future__ import annotations

from functools import partial

import numpy as np

from rotting.paper.claims import Claims, Finding, mean_of, ratio_of, within
from rotting.paper.experiment import Block, Experiment, Results, final_regret, over_time, regret_over_time
from rotting.policies import FEWA, UCB1
from rotting.problems import stationary

# By the names of the blocks.
GAPS = {"gap=0.14": 0.14, "gap=1": 1.0}
POLICIES = {
    "FEWA 0.01": FEWA(alpha=0.01),
    "FEWA 0.06": FEWA(alpha=0.06),
    "FEWA 0.25": FEWA(alpha=0.25),
    "UCB1": UCB1(),
}

claim = Claims("appendix")


def _less_than_twice(results: Results, key: str) -> Finding:
    fewa, ucb = (final_regret(results[key], label) for label in ("FEWA 0.06", "UCB1"))
    return Finding(ratio_of(fewa, ucb), f"FEWA {fewa.mean():.1f}, UCB1 {ucb.mean():.1f} at T = 5000.")


for _size, (_key, _gap) in zip(("small", "large"), GAPS.items(), strict=True):
    claim(
        f"stationary-{_size}-gap",
        f"on arms that never change, FEWA(0.06) has less than twice the regret of UCB (gap {_gap:g})",
        "regret of FEWA(0.06) / UCB1",
        within(0.0, 2.0),
        "< 2",
    )(partial(_less_than_twice, key=_key))


@claim(
    "grows-like-log-t",
    "on arms that never change, FEWA's regret grows like log T",
    "growth of regret from round 2500 to 5000, less twice that from 600 to 1200, gap 1 (below 0: the same if log T, "
    "four times as much if linear)",
    within(most=0.0),
    "< 0",
)
def _grows(results: Results) -> Finding:
    regret = results["gap=1"]["regret"].sel(policy="FEWA 0.06").transpose("round", "run")
    _, early, _, late = np.diff(regret.sel(round=[600, 1200, 2500, 5000], method="nearest").values, axis=0, prepend=0)
    why = f"{early.mean():.1f} from round 600 to 1200, {late.mean():.1f} from 2500 to 5000."
    return Finding(mean_of(late - 2 * early), why)


EXPERIMENT = Experiment(
    name="appendix",
    section="Arms that never change",
    alt="Regret of FEWA and UCB1 over time on arms that never change",
    caption="The appendix's figure. Even where nothing rots, FEWA with alpha = 0.06 is not far from UCB1.",
    size=(5.5, 4.8),
    panels={f"Arms that never change, gap {gap:g}": regret_over_time(key) for key, gap in GAPS.items()},
    tables={"appendix_left": over_time("gap=0.14"), "appendix_right": over_time("gap=1")},
    runs=1000,
    blocks=[Block(key, POLICIES, stationary([0.0, gap]), rounds=100) for key, gap in GAPS.items()],
    claims=claim,
)
