"""Beyond the paper: more arms than can be tried (Kim, Vojnovic, Yun 2022), regret against how fast they wear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from rotting._output.style import marker_style, shared_legend, thousands
from rotting.paper.experiment import Block, Experiment, Results, Tables, at_the_end, final_regret
from rotting.policies import AUCBTP, SSUCB, UCBTASW, UCBTP, Policy
from rotting.problems import many_arms
from rotting.simulation.figures import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HORIZON = 100_000  # the paper has 10^6
ARMS = 20_000  # as good as without end: nobody tries as many
EXPONENTS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # rho = T^-exponent
RHOS = {f"rho=T^-{exponent:g}": HORIZON**-exponent for exponent in EXPONENTS}


def policies_for(rho: float) -> dict[str, Policy]:
    """Return the policies; two of them know rho."""
    return {
        "UCB-TP": UCBTP(rho),
        "AUCB-TP": AUCBTP(),
        "UCBT-ASW": UCBTASW(variation=rho * HORIZON),
        "SSUCB": SSUCB(),
    }


def regrets(results: Results, label: str) -> np.ndarray:
    """Return the regret at T of a policy: (rho, run)."""
    return np.stack([final_regret(results[key], label) for key in RHOS])


def tables(results: Results) -> Tables:
    """Return the regret at T by rho and policy."""
    return {"many_arms": at_the_end(results, "rho", RHOS)}


def figure(results: Results) -> Figure:
    """Return regret against rho."""
    canvas, [axes] = panels(["More arms than can be tried"], 8.0, 4.8)
    rhos = np.array(list(RHOS.values()))
    for index, label in enumerate(policies_for(1.0)):
        axes.plot(rhos, regrets(results, label).mean(axis=1), label=label, **marker_style(index))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(thousands())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("rho: what a pull costs the arm")
    axes.set_ylabel("regret at T = 100 000, against 1 per round")
    shared_legend(canvas, axes)
    return canvas


EXPERIMENT = Experiment(
    name="many-arms",
    section="Beyond the paper: more arms than can be tried",
    alt="Regret of UCB-TP, AUCB-TP, UCBT-ASW and SSUCB against how fast arms wear",
    caption="Kim, Vojnovic, Yun (2022), with T = 10^5 instead of 10^6: new arms are worth 0 to 1, a pull costs its arm "
    "rho. UCB-TP and UCBT-ASW are told rho, AUCB-TP guesses it, SSUCB stays with a sample of arms.",
    runs=10,
    blocks=tuple(
        Block(key, policies_for(rho), many_arms(n_arms=ARMS, rho=rho, horizon=HORIZON)) for key, rho in RHOS.items()
    ),
    figure=figure,
    tables=tables,
)
