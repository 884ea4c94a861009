"""Beyond the paper: more arms than can be tried (Kim, Vojnovic, Yun 2022), regret against how fast they wear."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from rotting._output.style import marker_style, thousands
from rotting.paper.claims import Claims, Finding, over_runs, ratio_of, within
from rotting.paper.experiment import Block, Experiment, Results, at_the_end, final_regret
from rotting.policies import AUCBTP, SSUCB, UCBTASW, UCBTP, Policy
from rotting.problems import many_arms

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


def _regrets(results: Results, *labels: str) -> np.ndarray:
    """Return the regret at T of policies: [policy, run, rho]."""
    return np.array([[final_regret(results[key], label) for key in RHOS] for label in labels]).swapaxes(1, 2)


def _draw(axes: Axes, results: Results) -> None:
    """Draw regret against rho."""
    for index, label in enumerate(policies_for(1.0)):
        regret = _regrets(results, label)[0].mean(axis=0)
        axes.plot(list(RHOS.values()), regret, label=label, **marker_style(index))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(thousands())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("rho: what a pull costs the arm")
    axes.set_ylabel("regret at T = 100 000, against 1 per round")


claim = Claims("many-arms")


@claim(
    "ucb-tp-beats-ssucb",
    "where arms wear fast, UCB-TP has less regret than SSUCB (Kim et al. 2022)",
    "regret of SSUCB / UCB-TP at rho = T^-0.3 (above 1)",
    within(least=1.0),
)
def _beats_ssucb(results: Results) -> Finding:
    sample, policy = _regrets(results, "SSUCB", "UCB-TP")[:, :, 0]
    why = f"SSUCB {sample.mean():,.0f}, UCB-TP {policy.mean():,.0f} of {HORIZON:,}."
    return Finding(ratio_of(sample, policy), why)


@claim(
    "aucb-tp-between",
    "AUCB-TP, which is not told rho, has more regret than UCB-TP (Kim et al. 2022)",
    "smallest ratio, over rho, of the regret of AUCB-TP to UCB-TP (at least 1)",
    within(least=1.0),
)
def _between(results: Results) -> Finding:
    guessing, told = both = _regrets(results, "AUCB-TP", "UCB-TP")
    why = f"at rho = T^-1 it has {guessing[:, -1].mean() / told[:, -1].mean():.2f} times the regret."
    return Finding(over_runs(lambda means: (means[0] / means[1]).min(), both.swapaxes(0, 1)), why)


EXPERIMENT = Experiment(
    name="many-arms",
    section="Beyond the paper: more arms than can be tried",
    alt="Regret of UCB-TP, AUCB-TP, UCBT-ASW and SSUCB against how fast arms wear",
    caption="Kim, Vojnovic, Yun (2022), with T = 10^5 instead of 10^6: new arms are worth 0 to 1, a pull costs its arm "
    "rho. UCB-TP and UCBT-ASW are told rho, AUCB-TP guesses it, SSUCB stays with a sample of arms.",
    size=(8.0, 4.8),
    panels={"More arms than can be tried": _draw},
    tables={"many_arms": at_the_end("rho", RHOS)},
    runs=10,
    blocks=[
        Block(key, policies_for(rho), many_arms(n_arms=ARMS, rho=rho, horizon=HORIZON)) for key, rho in RHOS.items()
    ],
    claims=claim,
)
