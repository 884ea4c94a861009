"""Claims of Levine, Crammer, Mannor (2017): their figure, their Table 1, their bound."""

from __future__ import annotations

from functools import partial

from rotting.paper import levine
from rotting.paper.claims.judging import DIFFERS, FAILS, HOLDS, Estimate, Finding, claim, exactly, mean_of, within
from rotting.paper.experiment import Results, final_regret
from rotting.theory import wswa_bound

LEVEL = 0.05
CASES = {levine.NP: "non-parametric", levine.AV: "vanishing", levine.ANV: "non-vanishing"}


def _values(name: str, results: Results) -> Finding:
    found = list(levine.readings(results, name))
    worst = max(found, key=lambda each: abs(each.value - each.published) / each.allowed)
    value = abs(worst.value - worst.published) / worst.allowed
    why = ", ".join(f"{each.label} {each.value:.0f} ({each.published:.0f})" for each in found)
    runs = results[name].sizes["run"]
    verdict = DIFFERS if runs < 2 or value > 1 else HOLDS
    return Finding(Estimate(value), f"regret at T here (and there): {why}.", verdict)


def _wins(name: str, results: Results) -> Finding:
    found = levine.matches(results, name)
    lost = [match for match in found if match.ahead < LEVEL and 2 * match.wins < match.runs]
    open_still = [match for match in found if match.ahead >= LEVEL]
    other = [match for match in found if match.alike < LEVEL]
    verdict = FAILS if lost else DIFFERS if open_still or other else HOLDS
    why = ", ".join(f"{match.first} beats {match.second} {match.wins} ({match.published})" for match in found)
    value = min(match.alike for match in found)
    return Finding(Estimate(value), f"of {found[0].runs} runs (there of {levine.RUNS}): {why}.", verdict)


for _name, _case in CASES.items():
    claim(
        f"levine-values-{_name.lower()}",
        f"the {_case} panel of Levine et al. (2017): regret at T of each policy",
        "largest difference from their figure, as a share of what is allowed (10 %, 3 % of the axis, three errors)",
        "levine",
        exactly(most=1),
        ", ".join(f"{label} {value:.0f}" for label, value in levine.PUBLISHED[_name].items()),
    )(partial(_values, _name))
    claim(
        f"levine-wins-{_name.lower()}",
        f"Table 1 of Levine et al. (2017), {_case}: who beats whom in how many of 100 trajectories",
        "smallest p value, corrected, of wins as different from theirs (at least 0.05)",
        "levine",
        exactly(least=LEVEL),
        ", ".join(f"{first} > {second} {wins}" for (first, second), wins in levine.WINS[_name].items()),
    )(partial(_wins, _name))


@claim(
    "levine-wswa-bound",
    "their bound of wSWA's regret (after Theorem 3.1), with alpha = 0.2",
    "largest ratio, over their experiments, of mean regret at T to the bound",
    "levine",
    within(most=1),
    "< 1",
)
def _bound(results: Results) -> Finding:
    found = {}
    for name, problem in levine.PROBLEMS.items():
        limit = wswa_bound(problem.n_arms, problem.horizon, levine.SIGMA, levine.best_mean(name), alpha=0.2)
        found[name] = mean_of(final_regret(results[name], "wSWA") / limit)
    name = max(found, key=lambda name: found[name].value)
    return Finding(found[name], f"closest in {name}.")
