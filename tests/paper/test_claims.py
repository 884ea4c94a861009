"""Every verdict can come out otherwise: data in which a claim is false make it fail."""

import numpy as np
import pytest

from rotting.paper import BEYOND, ten_arm, theory, two_arm
from rotting.paper.beyond import boredom, candy_cane, many_arms, restless
from rotting.paper.claims import Estimate, equal, over_runs, within
from rotting.paper.reproduce import CLAIMS, EXPERIMENTS
from rotting.problems import Growth, Problem


def judged(results):
    return {claim.name: claim.judge(results[claim.experiment]) for claim in CLAIMS}


def verdict_on(name, results):
    [claim] = [claim for claim in CLAIMS if claim.name == name]
    return claim.judge(results[claim.experiment]).verdict


def multiply(dataset, label, factor):
    dataset["regret"].loc[{"policy": label}] *= factor


def on_every_drop(label, change):
    """Return a change of figure 1: `change(L)` is what the regret of a policy is multiplied with."""

    def change_all(results):
        for drop in two_arm.DROPS:
            multiply(results["fig1"][two_arm.key(drop)], label, change(drop))

    return change_all


def with_ten_arms(label, factor):
    return lambda results: multiply(results["fig2"][ten_arm.KEY], label, factor)


def all_of(*changes):
    def change_all(results):
        for change in changes:
            change(results)

    return change_all


def never_falls(results):
    regret = results["fig1"][two_arm.key(two_arm.WORST)]["regret"]
    regret[:] = np.sort(regret.values, axis=-1)


def same_on_all_arms(results):
    pulls = results["fig2"][ten_arm.KEY]["pulls"]
    for label in ten_arm.OTHERS:
        pulls.loc[{"policy": label}] = pulls.sel(policy="FEWA 0.06")


def with_gap(gap):
    return lambda results: multiply(results["appendix"][f"gap={gap:g}"], "FEWA 0.06", 2)


def above_the_bound(results):
    name, problem = next(iter(theory.NOISY.items()))
    results["theory"][name]["regret"][:] = 1.1 * theory.bound(problem, problem.horizon)


def other_regret(results):
    results["theory"]["ten arms"]["regret"][:] += 0.5


def one_pull_more(results):
    results["theory"]["ten arms, no noise"]["pulls"][0, 0, 0] += 1


def silent_regret(results):
    multiply(results["theory"]["ten arms, no noise"], "FEWA 0.06", 1e6)


def slow_but_not_much(results):
    results["fig2"][ten_arm.KEY]["seconds"].loc[{"policy": "FEWA 0.06"}] = 0.5


def worse_on_small_gaps(results):
    results["fig2"][ten_arm.KEY]["pulls"].loc[{"policy": "FEWA 0.06"}][:, 1] += 500


def bored(results):
    """LinUCRL earns 0.1 less per round than it might."""
    dataset = results["boredom"][boredom.KEY]
    dataset["regret"].loc[{"policy": boredom.LEARNT}] = 0.1 * dataset["round"].values


def with_articles(label, factor):
    def change(results):
        for name in restless.PROBLEMS:
            multiply(results["restless"][name], label, factor)

    return change


def with_many_arms(label, factor):
    def change(results):
        for key in many_arms.RHOS:
            multiply(results["many-arms"][key], label, factor)

    return change


def with_candy(label, factor):
    return lambda results: multiply(results["candy-cane"][candy_cane.KEY], label, factor)


def generous(results):
    results["candy-cane"][candy_cane.KEY]["oracle_reward"][:] += 200


WSWA = ("wSWA 0.02", "wSWA 0.06", "wSWA 0.2")


def same_everywhere(results):
    for drop in two_arm.DROPS:
        regret = results["fig1"][two_arm.key(drop)]["regret"]
        for label in WSWA[1:]:
            regret.loc[{"policy": label}] = regret.sel(policy=WSWA[0])


# What makes each claim false, and the verdict then: a number that is merely another one `differs`.
def with_theory(label, factor):
    return lambda results: [multiply(results["theory"][name], label, factor) for name in theory.NOISY]


def without_noise(label, factor):
    return lambda results: [multiply(results["theory"][name], label, factor) for name in theory.NOISELESS]


def overpulled(results):
    pulls = results["theory"]["two arms, L = 4.235"]["pulls"]
    pulls[:] = np.array([0, 10_000])


def linear(results):
    regret = results["appendix"]["gap=1"]["regret"]
    regret.loc[{"policy": "FEWA 0.06"}] = regret["round"].values / 50


def with_levine(name, label, factor):
    return lambda results: multiply(results["levine"][name], label, factor)


def always_wrong(where, label):
    """Return a change of identification: a policy recommends the worst arm on some of the problems."""

    def change(results):
        for key, dataset in results["identification"].items():
            if key.startswith(where):
                dataset["recommended"].loc[{"policy": label}] = dataset.attrs["worst"]

    return change


def with_push(key, label, factor):
    return lambda results: multiply(results["push"][key], label, factor)


FALSE = {
    "push-lift": (with_push("logged", "lifts", 0.9), "fails"),
    "push-recency": (with_push("logged", "lifts, recency", 0.9), "fails"),
    "push-last": (with_push("logged", "last template again", 1.1), "fails"),
    "push-naive": (with_push("logged", "rates", 1.1), "fails"),
    "push-lift-running": (with_push("running", "lifts, shrunk", 2), "fails"),
    "push-shrinkage": (with_push("running", "lifts, shrunk", 2), "fails"),
    "push-recency-running": (with_push("running", "lifts, shrunk, recency", 2), "fails"),
    "push-others": (with_push("others", "RecoveringSoftmax", 2), "fails"),
    "levine-values-np": (with_levine("NP", "SWUCB", 1.2), "differs"),
    "levine-values-av": (with_levine("AV", "CTO", 3), "differs"),
    "levine-values-anv": (with_levine("ANV", "D-CTO", 1.2), "differs"),
    "levine-wins-np": (with_levine("NP", "wSWA", 100), "fails"),
    "levine-wins-av": (with_levine("AV", "wSWA", 100), "fails"),
    "levine-wins-anv": (with_levine("ANV", "D-CTO", 0.1), "differs"),
    "levine-wswa-bound": (with_levine("AV", "wSWA", 1e5), "fails"),
    "worst-drop": (on_every_drop("FEWA 0.06", lambda drop: 100 if drop > 5 else 1), "fails"),
    "no-wswa-everywhere": (same_everywhere, "fails"),
    "small-drops-want-large-alpha": (on_every_drop("wSWA 0.2", lambda drop: 10), "fails"),
    "large-drops-want-small-alpha": (on_every_drop("wSWA 0.02", lambda drop: 100), "fails"),
    "fewa-almost-always-best": (on_every_drop("FEWA 0.06", lambda drop: 50), "fails"),
    "eff-fewa-comparable": (on_every_drop("EFF-FEWA 0.06", lambda drop: 5), "fails"),
    "eff-fewa-small-gaps": (worse_on_small_gaps, "fails"),
    "wswa-grows-with-drop": (on_every_drop("wSWA 0.2", lambda drop: drop), "fails"),
    "fewa-robust-to-drop": (on_every_drop("FEWA 0.06", lambda drop: 10), "fails"),
    "published-curves": (all_of(*(on_every_drop(label, lambda drop: 2) for label in two_arm.POLICIES)), "fails"),
    "published-eff-fewa": (on_every_drop("EFF-FEWA 0.06", lambda drop: 2), "differs"),
    "fewa-beats-wswa": (with_ten_arms("FEWA 0.06", 2), "fails"),
    "wswa-not-on-all-arms": (same_on_all_arms, "fails"),
    "eff-fewa-regret-nested": (with_ten_arms("EFF-FEWA 0.06", 0.5), "fails"),
    "eff-fewa-regret-blocks": (with_ten_arms("EFF-FEWA 0.06, blocks", 1.5), "differs"),
    "eff-fewa-regret-printed": (with_ten_arms("EFF-FEWA 0.06, printed", 1.5), "differs"),
    "eff-fewa-time": (slow_but_not_much, "fails"),
    "sw-ucb-suffers": (with_ten_arms("SW-UCB", 0.1), "fails"),
    "d-ucb-suffers": (with_ten_arms("D-UCB", 0.1), "fails"),
    "d-ucb-published": (with_ten_arms("D-UCB, forced", 1.2), "differs"),
    "stationary-small-gap": (with_gap(0.14), "fails"),
    "stationary-large-gap": (with_gap(1.0), "fails"),
    "regret-can-fall": (never_falls, "fails"),
    "theorem-1": (above_the_bound, "fails"),
    "regret-splits": (other_regret, "fails"),
    "no-noise-is-greedy": (one_pull_more, "fails"),
    "no-noise-bound": (silent_regret, "fails"),
    "theorem-2": (with_theory("FEWA 5", 1e5), "fails"),
    "corollaries-2-and-3": (with_theory(theory.CERTAIN, 1e5), "fails"),
    "corollary-5": (with_theory("EFF-FEWA 5", 1e6), "fails"),
    "corollary-6": (with_theory("EFF-FEWA 5", 1e7), "fails"),
    "overpulls": (overpulled, "fails"),
    "grows-like-log-t": (linear, "fails"),
    "proposition-2": (on_every_drop("FEWA 0.06", lambda drop: 0.01), "fails"),
    "proposition-3": (without_noise("Greedy", 0.1), "fails"),
    "doubling-trick": (with_ten_arms("SWA 0.02, doubling", 0.1), "fails"),
    "linucrl-optimal": (bored, "fails"),
    "linucrl-beats-greedy": (bored, "fails"),
    "identify-first-margin": (always_wrong("first, stationary", "RottingRejects"), "fails"),
    "identify-first-most": (always_wrong("first, ", "RottingRejects"), "fails"),
    "identify-second-margin": (always_wrong("second, close", "RottingRejects"), "fails"),
    "identify-second-most": (always_wrong("second, ", "RottingRejects"), "fails"),
    "identify-rising": (always_wrong("T=3200", "R-SR"), "differs"),
    "rgp-totals": (lambda results: multiply(results["recovering"]["gamma"], "RGP-TS", 1.2), "differs"),
    "raw-ucb-and-fewa": (with_articles("FEWA", 0.1), "fails"),
    "raw-ucb-and-exp3s": (with_articles("Exp3.S", 0.1), "fails"),
    "ucb-tp-beats-ssucb": (with_many_arms("SSUCB", 0.1), "fails"),
    "aucb-tp-between": (with_many_arms("AUCB-TP", 0.1), "fails"),
    "candy-oracle": (generous, "fails"),
    "candy-uniform": (with_candy("Uniform", 2), "fails"),
    "level-filter-best": (with_candy("LevelFilter", 5), "fails"),
}
# Exact values, which no data can change.
EXACT = {"boredom-values", "proposition-1"}


def test_every_claim_is_tested_here():
    assert set(FALSE) == {claim.name for claim in CLAIMS} - EXACT
    assert len(FALSE) >= 14


# What the published figure itself contradicts, and what would make it true.
CONTRADICTED = {
    "fewa-almost-always-best": on_every_drop("FEWA 0.06", lambda drop: 0.1),
    "eff-fewa-comparable": on_every_drop("EFF-FEWA 0.06", lambda drop: 0.5),
}


def test_claims_hold_where_the_published_figures_are_right(right):
    found = judged(right)
    assert {name for name, judgement in found.items() if judgement.verdict != "holds"} == set(CONTRADICTED)


@pytest.mark.parametrize("name", CONTRADICTED)
def test_the_others_can_hold(right, name):
    CONTRADICTED[name](right)
    assert verdict_on(name, right) == "holds"


@pytest.mark.parametrize("name", FALSE)
def test_a_false_claim_is_found_out(right, name):
    change, expected = FALSE[name]
    change(right)
    assert verdict_on(name, right) == expected


def test_an_interval_that_leaves_it_open(right):
    regret = right["appendix"]["gap=1"]["regret"]
    regret.loc[{"policy": "FEWA 0.06"}] = np.linspace(50, 155, regret.sizes["run"])[:, None]
    assert verdict_on("stationary-large-gap", right) == "differs"


def test_one_run_has_no_interval(right):
    one = {
        experiment: {key: dataset.isel(run=[0]) for key, dataset in blocks.items()}
        for experiment, blocks in right.items()
    }
    for judgement in judged(one).values():
        assert (judgement.low, judgement.high, judgement.interval) == (None, None, "")
    assert equal(0.22)(Estimate(0.22)) == "differs"


def test_the_bootstrap_interval():
    values = np.random.default_rng(1).normal(3.0, 2.0, size=400)
    value, low, high = over_runs(lambda mean: mean, values)
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)
    assert low < value == values.mean() < high
    assert over_runs(lambda mean: mean, np.ones(1)) == (1.0, None, None)


def test_the_words_that_users_read():
    """Compared as texts, not with the names they have in the code."""
    assert within(0.0, 3.0)(Estimate(1.5, 1.0, 2.0)) == equal(1.5)(Estimate(1.5, 1.0, 2.0)) == "holds"
    assert within(3.0, 4.0)(Estimate(1.5, 1.0, 2.0)) == equal(1.5)(Estimate(-1.5, -2.0, -1.0)) == "fails"
    assert within(2.0, 4.0)(Estimate(2.0, 1.0, 3.0)) == equal(2.5)(Estimate(1.5, 1.0, 2.0)) == "differs"


def test_exact_values_can_be_wrong(right, monkeypatch):
    monkeypatch.setitem(boredom.KNOWN, 1, (0.502369, 0.500437, 0.184643))
    assert verdict_on("boredom-values", right) == "fails"


def test_greed_is_not_best_where_arms_rise(right, monkeypatch):
    """The program finds what greed misses: an arm that is worth little at first, and much later."""
    rising = Problem([0.4, Growth(0.0, 0.05, top=1.0)], horizon=200, allow_increasing=True)
    monkeypatch.setitem(theory.NOISY, "two arms, L = 0.233", rising)
    assert verdict_on("proposition-1", right) == "fails"


@pytest.mark.parametrize("name", BEYOND)
def test_what_is_beyond_the_paper_is_drawn_and_tabled(right, name):
    """One row per policy at least, and a picture with something in it."""
    experiment = next(each for each in EXPERIMENTS if each.name == name)
    rows = [row for table in experiment.tables.values() for row in table(right[name])]
    labels = {label for block in experiment.blocks for label in block.policies}
    assert labels <= {row.get("policy") for row in rows}
    picture = experiment.figure(right[name])
    assert all(axes.lines for axes in picture.axes)
