"""The page that tells it all: the question, the policies, the figures, the verdicts, the theory."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from rotting._output import pages

if TYPE_CHECKING:
    from rotting.paper.claims import Judgement
    from rotting.paper.reproduce import Reproduction

TITLE = "Rotting bandits are not harder than stochastic ones: a reproduction"
POLICIES = {
    "FEWA": "compares the arms on windows of their last 1, 2, 3, ... rewards, drops an arm as soon as it is "
    "significantly "
    "worse on one of them, and shows the one shown least of those that are left.",
    "EFF-FEWA": "does so on windows 1, 2, 4, 8, ... only, whose averages are refreshed now and then.",
    "wSWA": "trusts the average of a window whose length is fixed beforehand, by a parameter alpha.",
    "SW-UCB and D-UCB": "forget what is long ago, on the clock: made for arms that change by themselves.",
    "UCB1": "trusts the average of everything, which is right for arms that never change.",
    "Greedy": "shows again what was best last time.",
    "The oracle": "knows what every arm is worth now. Regret is what a policy earns less than the oracle.",
}
CAPTIONS = {
    "fig1": (
        "Regret of seven policies on two arms, against the depth of the fall and over time",
        "Figure 1. One arm is worth 0, the other L/2 and, after 2 500 pulls, -L/2. Left: regret after 10 000 "
        "rounds for "
        "thirty values of L, with the published values as dots. Middle and right: over time. Shaded: 10 % to 90 "
        "% of the runs.",
    ),
    "fig2": (
        "Regret of five policies on ten arms, over time and per arm",
        "Figure 2. Nine arms worth Delta_i fall to -Delta_i after 1 000 pulls; the tenth is worth 0. Left: over time. "
        "Right: what each arm contributes in the end.",
    ),
    "table1": (
        "Seconds per run of five policies, in the paper and here",
        "Table 1 redrawn. Ours were taken while runs were played side by side, so they are a little longer than alone.",
    ),
    "appendix": (
        "Regret of FEWA and UCB1 over time on arms that never change",
        "The appendix's figure. Even where nothing rots, FEWA with alpha = 0.06 is not far from UCB1.",
    ),
    "policies": (
        "Regret of every policy of the package on the paper's two problems",
        "Not in the paper. Dots: means; bars: 10 % to 90 % of the runs. Parameters are the defaults. "
        "BetaThompson is made "
        "for rewards of 0 and 1; CTO is told the possible curves; Exp3 and Rexp3 are told a range of rewards.",
    ),
    "theory": (
        "Regret of FEWA with alpha 5 below the bound of Theorem 1, and pulls per arm compared with the oracle's",
        "Theory. Left: measured regret (lines) and Theorem 1's bound (dotted) for alpha = 5, which the theorem "
        "asks for. Right: "
        "where pulls go that the oracle would have spent elsewhere.",
    ),
}
SECTIONS = (
    ("Two arms", ("fig1",)),
    ("Ten arms", ("fig2", "table1")),
    ("Arms that never change", ("appendix",)),
    ("Every policy", ("policies",)),
    ("Theory", ("theory",)),
)


def report(reproduction: Reproduction) -> str:
    """Return the page as a self-contained HTML document."""
    parts = [f"<h1>{escape(TITLE)}</h1>", _question(), _summary(reproduction), _policies()]
    for heading, names in SECTIONS:
        shown = [name for name in names if name in reproduction.figures]
        if shown:
            parts.append(f"<h2>{escape(heading)}</h2>")
            parts += [pages.figure(reproduction.figures[name], *CAPTIONS[name]) for name in shown]
            parts += [_over_and_under(reproduction)] if "theory" in shown else []
    parts += [_verdicts(reproduction), _colophon(reproduction)]
    return pages.page(TITLE, "\n".join(part for part in parts if part))


def _question() -> str:
    return (
        '<p class="lead">An advertisement, a notification, an exercise: what should be shown next if everything '
        "wears out as it "
        "is shown, nobody knows how fast, and all one sees is noise?</p>"
        "<p>Seznec, Locatelli, Carpentier, Lazaric and Valko (2019) answered with FEWA, and proved that wearing "
        "out makes "
        "the problem hardly harder than if nothing changed. This page plays their experiments again, from "
        "scratch, and says "
        "claim by claim what came out.</p>"
    )


def _summary(reproduction: Reproduction) -> str:
    if not reproduction.judgements:
        return ""
    counts = Counter(judgement.verdict for judgement in reproduction.judgements)
    numbers = f"Of {len(reproduction.judgements)} claims, {counts['holds']} hold"
    return (
        f"<p><strong>{numbers}, {counts['differs']} differ or are left open, and {counts['fails']} fail.</strong> "
        'The <a href="#verdicts">verdicts</a> are computed from the runs, each with its interval.</p>'
    )


def _policies() -> str:
    items = "".join(f"<li><strong>{escape(name)}</strong> {escape(words)}</li>" for name, words in POLICIES.items())
    return f"<h2>Who plays</h2><ul>{items}</ul>"


def _over_and_under(reproduction: Reproduction) -> str:
    rows = [
        [
            row["problem"],
            str(row["arm"]),
            f"{row['oracle_pulls']:,}",
            f"{row['overpulls']:,.1f}",
            f"{row['underpulls']:,.1f}",
            f"{row['regret']:.1f}",
        ]
        for row in reproduction.tables["theory_pulls"]
    ]
    columns = ["problem", "arm", "the oracle's pulls", "pulls too many", "pulls too few", "regret"]
    return (
        "<p>Regret is the reward lost on arms pulled too seldom, less what was gained on those pulled too often. "
        "Means over "
        "the runs of FEWA with alpha = 5:</p>" + pages.table(columns, rows, numbers={1, 2, 3, 4, 5})
    )


def _verdicts(reproduction: Reproduction) -> str:
    if not reproduction.judgements:
        return ""
    columns = ["verdict", "the paper says", "paper", "here", "what is measured, and why this verdict"]
    rows = [
        [each.verdict, each.words, each.paper, f"{each.value:,.4g}", f"{each.measure}{_interval(each)}: {each.why}"]
        for each in reproduction.judgements
    ]
    return (
        '<h2 id="verdicts">Verdicts</h2>'
        "<p>A claim that one thing is larger than another <em>holds</em> if the whole 95 % interval says so, "
        "<em>fails</em> if the whole interval says the contrary, and <em>differs</em> if the interval leaves it open. "
        "A number <em>holds</em> if our interval includes it, and <em>differs</em> if not; it fails if even its "
        "direction is wrong.</p>" + pages.table(columns, rows, numbers={3})
    )


def _interval(judgement: Judgement) -> str:
    return f" ({judgement.interval})" if judgement.interval else ""


def _colophon(reproduction: Reproduction) -> str:
    settings = reproduction.settings
    runs = f"{settings.runs} runs of each experiment"
    if settings.runs is None:
        runs = "as many runs as in the paper (100 of what is not in it)"
    part = "" if reproduction.whole else f" This is a part of it: {', '.join(settings.only)}."
    versions = ", ".join(f"{name} {version}" for name, version in reproduction.versions.items())
    return (
        "<h2>How to cite, and how to repeat this</h2>"
        "<p>The paper: J. Seznec, A. Locatelli, A. Carpentier, A. Lazaric, M. Valko, <cite>Rotting bandits are "
        "not harder than "
        "stochastic ones</cite>, AISTATS 2019. The software: <code>rotting</code> "
        f"{escape(reproduction.versions['rotting'])}.</p>"
        f"<p>Made by <code>rotting paper</code> with seed {settings.seed} and {escape(runs)}. Every policy met "
        f"the same noise "
        "in the same run. The numbers behind each figure are in the CSV files beside this page, all runs as NetCDF in "
        f'<code>data/</code>.{escape(part)}</p><p class="soft">{escape(versions)}</p>'
    )
