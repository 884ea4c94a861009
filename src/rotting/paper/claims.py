"""The paper's claims, one by one: what it says, what we measure, and whether that agrees.

A claim that one thing is larger than another `holds` if the whole 95 % interval says so, `fails` if the whole interval
says the contrary, and `differs` if the interval leaves it open. A number `holds` if our interval includes it (and is
narrow enough to tell), and `differs` if not; it `fails` if even its direction is wrong. What is large enough is said in
the claim. Intervals are over runs (Student's t for means, the bootstrap for all else, with a fixed seed: the same data,
the same interval); where there is only one run, nothing that is random holds or fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rotting.paper import running_time, stationary, ten_arm, theory, two_arm
from rotting.paper.experiment import Results
from rotting.simulation.summary import LEVEL, mean_interval
from rotting.theory import decompose, greedy_bound, largest_decay

HOLDS, FAILS, DIFFERS = "holds", "fails", "differs"
RESAMPLES = 1000
Everything = Mapping[str, Results]  # by experiment


class Finding(NamedTuple):
    """What was measured, and what it says about a claim."""

    value: float
    low: float | None  # the 95 % interval; None where there is nothing random, or only one run
    high: float | None
    verdict: str
    why: str


@dataclass(frozen=True)
class Claim:
    """What the paper says, and how to find out."""

    name: str
    words: str  # the paper's, in brief
    measure: str  # what our value is
    paper: str  # the paper's value, as it is given
    needs: tuple[str, ...]  # experiments
    check: Callable[[Everything], Finding]
    clock: bool = False  # does it depend on how fast the machine is?


@dataclass(frozen=True)
class Judgement:
    """A claim with what came out."""

    name: str
    words: str
    measure: str
    paper: str
    value: float
    low: float | None
    high: float | None
    verdict: str
    why: str
    clock: bool

    @property
    def interval(self) -> str:
        """The 95 % interval as text, empty if there is none."""
        return "" if self.low is None or self.high is None else f"{self.low:.3g} to {self.high:.3g}"


CLAIMS: list[Claim] = []


def judge(results: Everything) -> list[Judgement]:
    """Return a verdict on every claim."""
    judgements = []
    for claim in CLAIMS:
        finding = claim.check(results)._asdict()
        judgements.append(Judgement(claim.name, claim.words, claim.measure, claim.paper, clock=claim.clock, **finding))
    return judgements


def _claim(
    name: str, words: str, measure: str, needs: Sequence[str], paper: str = "", clock: bool = False
) -> Callable[[Callable[[Everything], Finding]], Callable[[Everything], Finding]]:
    def add(check: Callable[[Everything], Finding]) -> Callable[[Everything], Finding]:
        CLAIMS.append(Claim(name, words, measure, paper, tuple(needs), check, clock))
        return check

    return add


# How intervals and verdicts come about.


def resampled(
    statistic: Callable[[np.ndarray], float], runs: int, resamples: int = RESAMPLES
) -> tuple[float, float] | tuple[None, None]:
    """Return the bootstrap interval of a statistic of the runs, which are given by their numbers."""
    if runs < 2:
        return None, None
    draws = np.random.default_rng(0).integers(0, runs, size=(resamples, runs))
    values = [statistic(chosen) for chosen in draws]
    low, high = np.quantile(values, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return float(low), float(high)


def verdict_within(value: float, low: float | None, high: float | None, least: float, most: float) -> str:
    """Return whether a value lies between two limits, as far as its interval tells.

    >>> verdict_within(1.5, 1.4, 1.6, least=0, most=2), verdict_within(1.5, 1.4, 2.2, least=0, most=2)
    ('holds', 'differs')
    >>> verdict_within(2.5, 2.4, 2.6, least=0, most=2)
    'fails'
    """
    if low is None or high is None:
        return DIFFERS
    if least <= low and high <= most:
        return HOLDS
    return FAILS if high < least or low > most else DIFFERS


def verdict_equal(value: float, low: float | None, high: float | None, published: float) -> str:
    """Return whether an interval includes a published number and is no wider than it; `fails` if the sign is wrong."""
    if low is None or high is None:
        return DIFFERS
    if high < 0 < published:
        return FAILS
    return HOLDS if low <= published <= high and high - low <= published else DIFFERS


def _ratio(over: np.ndarray, under: np.ndarray) -> tuple[float, float | None, float | None]:
    """Return the ratio of two mean regrets over the same runs, with its interval."""
    low, high = resampled(lambda chosen: over[chosen].mean() / under[chosen].mean(), len(over))
    return float(over.mean() / under.mean()), low, high


def _ten_arm(results: Everything, label: str) -> np.ndarray:
    return np.asarray(results["fig2"][label]["regret"].sel(policy=label).isel(round=-1).values)


# Figure 1.

WSWA = [label for label in two_arm.POLICIES if label.startswith("wSWA")]


@_claim(
    "worst-drop",
    "FEWA does worst where L is about 0.23",
    "the L at which FEWA(0.06) has its largest mean regret (0.15 to 0.25, up to half a step of the grid)",
    ["fig1"],
    "0.23",
)
def _worst_drop(results: Everything) -> Finding:
    regret = two_arm.final_regret(results["fig1"], "FEWA 0.06")
    drops = np.array(two_arm.DROPS)

    def worst(chosen: np.ndarray) -> float:
        return float(drops[regret[chosen].mean(axis=0).argmax()])

    value, (low, high) = worst(np.arange(len(regret))), resampled(worst, len(regret))
    step = math.sqrt(1.25)  # half a step of the grid of L
    verdict = verdict_within(value, low, high, 0.15 / step, 0.25 * step)
    return Finding(
        value, low, high, verdict, f"regret is largest, {regret.mean(axis=0).max():.0f}, at L = {value:.3f}."
    )


@_claim(
    "no-wswa-everywhere",
    "no tuning of wSWA is good for every L",
    "the smallest, over alpha, of the largest ratio, over L, to the best wSWA there (at least 1.5)",
    ["fig1"],
)
def _no_wswa_everywhere(results: Everything) -> Finding:
    regrets = np.stack([two_arm.final_regret(results["fig1"], label) for label in WSWA])

    def smallest_worst(chosen: np.ndarray) -> float:
        means = regrets[:, chosen].mean(axis=1)
        return float((means / means.min(axis=0)).max(axis=1).min())

    runs = regrets.shape[1]
    value, (low, high) = smallest_worst(np.arange(runs)), resampled(smallest_worst, runs)
    why = f"every alpha has, at some L, at least {value:.1f} times the regret of another alpha."
    return Finding(value, low, high, verdict_within(value, low, high, 1.5, math.inf), why)


@_claim(
    "small-drops-want-large-alpha",
    "for small L the best wSWA is alpha = 0.2",
    "regret of the better of the other two less that of wSWA(0.2), mean over L from 0.05 to 0.4 (above 0)",
    ["fig1"],
)
def _small_drops(results: Everything) -> Finding:
    return _best_wswa(results, "wSWA 0.2", 0.05, 0.4, "a long window averages noise away.")


@_claim(
    "large-drops-want-small-alpha",
    "for larger L a smaller alpha is preferable",
    "regret of the better of the other two less that of wSWA(0.02), mean over L above 2 (above 0)",
    ["fig1"],
)
def _large_drops(results: Everything) -> Finding:
    return _best_wswa(results, "wSWA 0.02", 2.0, math.inf, "a long window notices the fall too late.")


def _best_wswa(results: Everything, label: str, least: float, most: float, because: str) -> Finding:
    chosen = [place for place, drop in enumerate(two_arm.DROPS) if least <= drop <= most]
    best = two_arm.final_regret(results["fig1"], label)[:, chosen]
    others = np.stack([two_arm.final_regret(results["fig1"], other)[:, chosen] for other in WSWA if other != label])

    def lead(runs: np.ndarray) -> float:
        return float((others[:, runs].mean(axis=1).min(axis=0) - best[runs].mean(axis=0)).mean())

    value, (low, high) = lead(np.arange(len(best))), resampled(lead, len(best))
    verdict = verdict_within(value, low, high, 0.0, math.inf)
    why = f"{label} has {abs(value):.0f} {'less' if value > 0 else 'more'} regret"
    return Finding(value, low, high, verdict, f"{why}: {because}" if verdict == HOLDS else f"{why}.")


@_claim(
    "fewa-almost-always-best",
    "FEWA almost always achieves the best performance",
    "share of the L at which FEWA(0.06) has less mean regret than every wSWA (at least 0.9)",
    ["fig1"],
)
def _almost_always(results: Everything) -> Finding:
    fewa = two_arm.final_regret(results["fig1"], "FEWA 0.06")
    others = np.stack([two_arm.final_regret(results["fig1"], label) for label in WSWA])

    def share(chosen: np.ndarray) -> float:
        return float((fewa[chosen].mean(axis=0) < others[:, chosen].mean(axis=1).min(axis=0)).mean())

    value, (low, high) = share(np.arange(len(fewa))), resampled(share, len(fewa))
    verdict = verdict_within(value, low, high, 0.9, 1.0)
    beaten = round(len(two_arm.DROPS) * (1 - value))
    why = f"at {beaten} of {len(two_arm.DROPS)} values of L the wSWA that suits that L does better."
    return Finding(value, low, high, verdict, why)


@_claim(
    "eff-fewa-comparable",
    "EFF-FEWA has a regret comparable to FEWA (two arms)",
    "largest ratio, over L, of the regret of EFF-FEWA(0.06) to FEWA(0.06) (at most 1.5)",
    ["fig1"],
)
def _comparable(results: Everything) -> Finding:
    exact, efficient = (two_arm.final_regret(results["fig1"], label) for label in ("FEWA 0.06", "EFF-FEWA 0.06"))

    def largest(chosen: np.ndarray) -> float:
        return float((efficient[chosen].mean(axis=0) / exact[chosen].mean(axis=0)).max())

    value, (low, high) = largest(np.arange(len(exact))), resampled(largest, len(exact))
    return Finding(
        value, low, high, verdict_within(value, low, high, 0.0, 1.5), f"never more than {value:.2f} times FEWA's."
    )


@_claim(
    "wswa-grows-with-drop",
    "when L is very large the regret of wSWA grows linearly with L",
    "slope of log regret against log L for L above 6, the wSWA furthest from 1 (0.9 to 1.1)",
    ["fig1"],
    "1",
)
def _wswa_slope(results: Everything) -> Finding:
    chosen = [place for place, drop in enumerate(two_arm.DROPS) if drop > 6]
    log_drops = np.log(np.array(two_arm.DROPS)[chosen])
    slopes = {}
    for label in WSWA:
        regret = two_arm.final_regret(results["fig1"], label)[:, chosen]

        def slope(runs: np.ndarray, regret: np.ndarray = regret) -> float:
            return float(np.polyfit(log_drops, np.log(regret[runs].mean(axis=0)), 1)[0])

        slopes[label] = (slope(np.arange(len(regret))), *resampled(slope, len(regret), 200))
    label = max(slopes, key=lambda label: abs(slopes[label][0] - 1))
    value, low, high = slopes[label]
    verdict = verdict_within(value, low, high, 0.9, 1.1)
    return Finding(value, low, high, verdict, f"{label}: regret grows as L to the power {value:.2f}.")


@_claim(
    "fewa-robust-to-drop",
    "FEWA is much more robust to L",
    "largest mean regret over L: wSWA (the best alpha) / FEWA(0.06) (above 1)",
    ["fig1"],
)
def _robust(results: Everything) -> Finding:
    fewa = two_arm.final_regret(results["fig1"], "FEWA 0.06")
    others = [two_arm.final_regret(results["fig1"], label) for label in WSWA]

    def ratio(chosen: np.ndarray) -> float:
        best = min(float(other[chosen].mean(axis=0).max()) for other in others)
        return best / float(fewa[chosen].mean(axis=0).max())

    value, (low, high) = ratio(np.arange(len(fewa))), resampled(ratio, len(fewa))
    worst = fewa.mean(axis=0).max()
    why = f"over all L, FEWA's largest regret is {worst:.0f}; the best tuned wSWA's is {value:.1f} times that."
    return Finding(value, low, high, verdict_within(value, low, high, 1.0, math.inf), why)


@_claim(
    "published-curves",
    "figure 1, left, as published (FEWA 0.03, 0.06, 0.1; wSWA 0.02, 0.06, 0.2)",
    "share of the published values within 15 % or 10 units of ours (at least 0.9)",
    ["fig1"],
)
def _published(results: Everything) -> Finding:
    labels = [label for label in two_arm.POLICIES if not label.startswith("EFF")]
    return _agreement(
        results, labels, "reproduced but for a few points.", "more than a tenth of the points lie elsewhere."
    )


@_claim(
    "published-eff-fewa",
    "figure 1, left, as published (EFF-FEWA 0.06)",
    "share of the published values within 15 % or 10 units of ours, windows refreshed at every half (at least 0.9)",
    ["fig1"],
)
def _published_efficient(results: Everything) -> Finding:
    finding = _agreement(results, ["EFF-FEWA 0.06"], "the curve is reproduced.", "")
    theirs = two_arm.published()["EFF-FEWA 0.06"]
    means = two_arm.final_regret(results["fig1"], two_arm.BLOCKS).mean(axis=0)
    share = float((np.abs(theirs - means) <= np.maximum(0.15 * means, 10.0)).mean())
    if finding.value >= 0.9:
        return finding
    why = f"with windows refreshed at every block it would be {share:.2f}: neither reading gives the published curve."
    if share >= 0.9:
        why = f"with windows refreshed at every block it is {share:.2f}: that seems to be what was drawn."
    return finding._replace(verdict=DIFFERS, why=why)  # the paper does not say which reading was drawn


def _agreement(results: Everything, labels: list[str], if_so: str, if_not: str) -> Finding:
    ours = np.stack([two_arm.final_regret(results["fig1"], label) for label in labels])
    theirs = np.stack([two_arm.published()[label] for label in labels])
    known = ~np.isnan(theirs)

    def share(chosen: np.ndarray) -> float:
        means = ours[:, chosen].mean(axis=1)
        return float((np.abs(theirs - means) <= np.maximum(0.15 * means, 10.0))[known].mean())

    runs = ours.shape[1]
    value, (low, high) = share(np.arange(runs)), resampled(share, runs)
    verdict = verdict_within(value, low, high, 0.9, 1.0)
    if verdict == FAILS and _could_agree(ours, theirs)[known].mean() >= 0.9:
        verdict = DIFFERS  # too few runs to say
    return Finding(value, low, high, verdict, if_so if value >= 0.9 else if_not)


def _could_agree(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Say which published values are close to something in the interval of our mean."""
    means, runs = ours.mean(axis=1), ours.shape[1]
    margin = 2 * ours.std(axis=1, ddof=1) / math.sqrt(runs) if runs > 1 else math.inf
    return np.asarray(np.abs(theirs - means) <= np.maximum(0.15 * means, 10.0) + margin)


# Figure 2 and table 1.


@_claim(
    "fewa-beats-wswa",
    "with ten arms FEWA outperforms wSWA",
    "regret of the best wSWA (alpha of 0.002, 0.02, 0.06, 0.2) less FEWA's (above 0)",
    ["fig2"],
)
def _fewa_beats_wswa(results: Everything) -> Finding:
    fewa = _ten_arm(results, "FEWA 0.06")
    best = min(("wSWA 0.002", "wSWA 0.02", "wSWA 0.06", "wSWA 0.2"), key=lambda label: _ten_arm(results, label).mean())
    difference = _ten_arm(results, best) - fewa
    value, (low, high) = float(difference.mean()), mean_interval(difference)
    verdict = verdict_within(value, low, high, 0.0, math.inf)
    return Finding(value, low, high, verdict, f"FEWA {fewa.mean():.0f}; the best wSWA is {best} with {value:.0f} more.")


@_claim(
    "wswa-not-on-all-arms",
    "no tuning of wSWA does well for all Delta_i",
    "the smallest, over alpha, of the largest ratio, over arms, to FEWA's regret on that arm (at least 1.5)",
    ["fig2"],
)
def _wswa_per_arm(results: Everything) -> Finding:
    def per_arm(label: str) -> np.ndarray:
        arms = ten_arm.regret_per_arm(results["fig2"][label]).sel(policy=label).transpose("run", "arm").values
        return np.asarray(arms[:, ten_arm.PROBLEM.means(0) > 0])

    fewa = per_arm("FEWA 0.06")
    others = [per_arm(label) for label in ("wSWA 0.002", "wSWA 0.02", "wSWA 0.06", "wSWA 0.2")]

    def smallest_worst(chosen: np.ndarray) -> float:
        means = fewa[chosen].mean(axis=0)
        return float(min((other[chosen].mean(axis=0) / means).max() for other in others))

    value, (low, high) = smallest_worst(np.arange(len(fewa))), resampled(smallest_worst, len(fewa))
    why = f"every alpha has, on some arm, at least {value:.1f} times FEWA's regret."
    return Finding(value, low, high, verdict_within(value, low, high, 1.5, math.inf), why)


@_claim(
    "eff-fewa-regret-nested",
    "EFF-FEWA suffers 22 % more regret (windows refreshed at every half)",
    "regret of EFF-FEWA / FEWA, less 1",
    ["fig2"],
    "0.22",
)
def _efficient_nested(results: Everything) -> Finding:
    return _efficient(results, "EFF-FEWA 0.06", "as the paper's text describes it")


@_claim(
    "eff-fewa-regret-blocks",
    "EFF-FEWA suffers 22 % more regret (windows refreshed at every block)",
    "regret of EFF-FEWA / FEWA, less 1",
    ["fig2"],
    "0.22",
)
def _efficient_blocks(results: Everything) -> Finding:
    return _efficient(results, "EFF-FEWA 0.06, blocks", "as the appendix's pseudo-code has it")


def _efficient(results: Everything, label: str, reading: str) -> Finding:
    value, low, high = _ratio(_ten_arm(results, label), _ten_arm(results, "FEWA 0.06"))
    value, low, high = value - 1, None if low is None else low - 1, None if high is None else high - 1
    verdict = verdict_equal(value, low, high, 0.22)
    return Finding(value, low, high, verdict, f"{100 * value:+.0f} %, {reading}.")


@_claim(
    "eff-fewa-small-gaps",
    "EFF-FEWA is penalised for arms with small Delta_i",
    "regret of EFF-FEWA less FEWA's on the arms with Delta_i up to 0.01 (above 0)",
    ["fig2"],
)
def _small_gaps(results: Everything) -> Finding:
    gaps = ten_arm.PROBLEM.means(0)

    def on(label: str, arms: np.ndarray) -> np.ndarray:
        regret = ten_arm.regret_per_arm(results["fig2"][label]).sel(policy=label).transpose("run", "arm").values
        return np.asarray(regret[:, arms].sum(axis=1))

    small, all_arms = (gaps > 0) & (gaps < 0.02), gaps > 0
    difference = on("EFF-FEWA 0.06", small) - on("FEWA 0.06", small)
    total = (on("EFF-FEWA 0.06", all_arms) - on("FEWA 0.06", all_arms)).mean()
    value, (low, high) = float(difference.mean()), mean_interval(difference)
    verdict = verdict_within(value, low, high, 0.0, math.inf)
    return Finding(
        value, low, high, verdict, f"these arms account for {value:.1f} of EFF-FEWA's {total:.0f} more in all."
    )


@_claim(
    "eff-fewa-time",
    "EFF-FEWA reduces the computational time by 99.7 %",
    "1 - time of EFF-FEWA / time of FEWA",
    ["fig2"],
    "0.997",
    clock=True,
)
def _time(results: Everything) -> Finding:
    seconds = running_time.seconds_per_run(results["fig2"])
    exact, efficient = seconds["FEWA 0.06"], seconds["EFF-FEWA 0.06"]
    value = 1 - efficient / exact
    verdict = HOLDS if value >= 0.99 else DIFFERS if value > 0 else FAILS
    why = (
        f"exact FEWA takes {1000 * exact:.1f} ms a run, {exact / efficient:.1f} times EFF-FEWA's: it is no longer slow."
    )
    why = why if verdict == DIFFERS else f"exact FEWA takes {exact:.3g} s a run, EFF-FEWA {efficient:.3g} s."
    return Finding(value, None, None, verdict, why)


@_claim(
    "sw-ucb-suffers",
    "SW-UCB is penalised where arms rest",
    "regret of SW-UCB / FEWA, ten arms (at least 2)",
    ["fig2"],
)
def _sliding_window(results: Everything) -> Finding:
    return _suffers(results, "SW-UCB", "it keeps exploring arms that have not been pulled for long.")


@_claim(
    "d-ucb-suffers",
    "D-UCB is penalised where arms rest",
    "regret of D-UCB / FEWA, ten arms (at least 2)",
    ["fig2"],
)
def _discounted(results: Everything) -> Finding:
    return _suffers(results, "D-UCB", "it keeps exploring arms that have not been pulled for long.")


def _suffers(results: Everything, label: str, because: str) -> Finding:
    other = _ten_arm(results, label)
    value, low, high = _ratio(other, _ten_arm(results, "FEWA 0.06"))
    verdict = verdict_within(value, low, high, 2.0, math.inf)
    return Finding(value, low, high, verdict, f"regret {other.mean():.0f}: {because}")


@_claim(
    "d-ucb-published",
    "D-UCB has a regret of about 4110 (read off figure 2)",
    "regret of D-UCB that forces arms whose discounted count is below 1, as the authors' code did (within 2 %)",
    ["fig2"],
    "4110",
)
def _discounted_forced(results: Everything) -> Finding:
    forced, plain = _ten_arm(results, "D-UCB, forced"), _ten_arm(results, "D-UCB")
    value, (low, high) = float(forced.mean()), mean_interval(forced)
    verdict = verdict_within(value, low, high, 0.98 * 4110, 1.02 * 4110)  # read off the figure to about 2 %
    verdict = DIFFERS if verdict == FAILS else verdict
    why = f"{value:.0f} with that artefact, {plain.mean():.0f} as D-UCB is defined."
    why += " The published curve carries it." if verdict == HOLDS else ""
    return Finding(value, low, high, verdict, why)


# The appendix.


@_claim(
    "stationary-small-gap",
    "on arms that never change, FEWA(0.06) has less than twice the regret of UCB (gap 0.14)",
    "regret of FEWA(0.06) / UCB1",
    ["appendix"],
    "< 2",
)
def _small_gap(results: Everything) -> Finding:
    return _stationary(results, 0.14)


@_claim(
    "stationary-large-gap",
    "on arms that never change, FEWA(0.06) has less than twice the regret of UCB (gap 1)",
    "regret of FEWA(0.06) / UCB1",
    ["appendix"],
    "< 2",
)
def _large_gap(results: Everything) -> Finding:
    return _stationary(results, 1.0)


def _stationary(results: Everything, gap: float) -> Finding:
    final = results["appendix"][stationary.key(gap)]["regret"].isel(round=-1)
    fewa, ucb = (np.asarray(final.sel(policy=label).values) for label in ("FEWA 0.06", "UCB1"))
    value, low, high = _ratio(fewa, ucb)
    verdict = verdict_within(value, low, high, 0.0, 2.0)
    return Finding(value, low, high, verdict, f"FEWA {fewa.mean():.1f}, UCB1 {ucb.mean():.1f} at T = 5000.")


# Theory.


@_claim(
    "regret-can-fall",
    "where arms rest, regret can increase and decrease over time",
    "largest fall of mean regret between two recorded rounds, L = 0.233",
    ["fig1"],
)
def _can_fall(results: Everything) -> Finding:
    dataset = results["fig1"][two_arm.key(two_arm.WORST)]
    best = (0.0, "", 0, 0)
    for label in dataset["policy"].values:
        mean = dataset["regret"].sel(policy=label).mean("run").values
        highest = int(np.argmax(mean - np.minimum.accumulate(mean[::-1])[::-1]))
        lowest = highest + int(np.argmin(mean[highest:]))
        best = max(best, (float(mean[highest] - mean[lowest]), str(label), highest, lowest))
    value, label, start, end = best
    if not label:
        return Finding(0.0, None, None, FAILS, "no policy's mean regret ever falls.")
    regret = dataset["regret"].sel(policy=label).transpose("run", "round").values
    low, high = mean_interval(regret[:, start] - regret[:, end])
    rounds = dataset["round"].values
    before, after = regret[:, start].mean(), regret[:, end].mean()
    why = f"{label}: from {before:.0f} at round {rounds[start]} to {after:.0f} at {rounds[end]}."
    return Finding(value, low, high, verdict_within(value, low, high, 1e-9, math.inf), why)


@_claim(
    "theorem-1",
    "Theorem 1 bounds the expected regret of FEWA with alpha = 5",
    "largest ratio, over problems and rounds, of mean regret to the bound",
    ["theory"],
    "< 1",
)
def _theorem_1(results: Everything) -> Finding:
    worst: tuple[float, float | None, float | None, str] = (-math.inf, None, None, "")
    for name, problem in theory.NOISY.items():
        dataset = results["theory"][name]
        regret = dataset["regret"].isel(policy=0).transpose("run", "round").values
        limits = np.array([theory.bound(problem, int(t)) for t in dataset["round"].values])
        place = int(np.argmax(regret.mean(axis=0) / limits))
        at = regret[:, place] / limits[place]
        if at.mean() > worst[0]:
            worst = (float(at.mean()), *mean_interval(at), name)
    value, low, high, name = worst
    verdict = verdict_within(value, low, high, -math.inf, 1.0)
    return Finding(value, low, high, verdict, f"closest on {name}, at {100 * value:.0f} % of the bound.")


@_claim(
    "regret-splits",
    "regret is the reward lost on underpulled arms less that gained on overpulled ones",
    "largest difference between the regret measured in a run and that sum",
    ["theory"],
    "0",
)
def _splits(results: Everything) -> Finding:
    largest = 0.0
    for name, problem in theory.NOISY.items():
        dataset = results["theory"][name].isel(policy=0)
        measured = dataset["regret"].isel(round=-1).values
        computed = decompose(problem, dataset["pulls"].transpose("run", "arm").values).regret
        largest = max(largest, float(np.abs(measured - computed).max()))
    verdict = HOLDS if largest < 1e-6 else FAILS
    return Finding(
        largest, None, None, verdict, "in every run, up to rounding." if verdict == HOLDS else "not in every run."
    )


@_claim(
    "no-noise-is-greedy",
    "without noise FEWA pulls as Greedy does",
    "largest difference in pulls of an arm, over three problems",
    ["theory"],
    "0",
)
def _greedy(results: Everything) -> Finding:
    largest = 0
    for name in theory.SILENT:
        pulls = results["theory"][name]["pulls"]
        largest = max(largest, int(abs(pulls.sel(policy="FEWA 0.06") - pulls.sel(policy="Greedy")).max()))
    why = "the same pulls on every problem." if largest == 0 else f"they differ by up to {largest} pulls of an arm."
    return Finding(float(largest), None, None, HOLDS if largest == 0 else FAILS, why)


@_claim(
    "no-noise-bound",
    "without noise the regret stays below (K - 1) L",
    "largest ratio of FEWA's regret to (K - 1) L, over three problems",
    ["theory"],
    "<= 1",
)
def _greedy_bound(results: Everything) -> Finding:
    ratios = {
        name: float(results["theory"][name]["regret"].sel(policy="FEWA 0.06").isel(round=-1).max())
        / greedy_bound(problem.n_arms, largest_decay(problem, problem.horizon))
        for name, problem in theory.SILENT.items()
    }
    name = max(ratios, key=lambda name: ratios[name])
    verdict = HOLDS if ratios[name] <= 1 else FAILS
    return Finding(ratios[name], None, None, verdict, f"closest on {name}, at {100 * ratios[name]:.0f} % of the bound.")
