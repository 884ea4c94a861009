"""The report as one page: the question, the policies, the figures, the verdicts."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from rotting._output import pages
from rotting.paper.experiment import experiments

if TYPE_CHECKING:
    from rotting.paper.claims import Judgement
    from rotting.paper.reproduce import Reproduction

TITLE = "Rotting bandits are not harder than stochastic ones: a reproduction"
POLICIES = {
    "FEWA": "compares the arms on windows of their last 1, 2, 3, ... rewards, drops an arm as soon as it is "
    "significantly worse on one of them, and shows the one shown least of those that are left.",
    "EFF-FEWA": "does so on windows 1, 2, 4, 8, ... only, whose averages are refreshed now and then.",
    "wSWA": "trusts the average of a window whose length is fixed beforehand, by a parameter alpha.",
    "SW-UCB and D-UCB": "forget what is long ago, on the clock: made for arms that change by themselves.",
    "UCB1": "trusts the average of everything, which is right for arms that never change.",
    "Greedy": "shows again what was best last time.",
    "The oracle": "knows what every arm is worth now. Regret is what a policy earns less than the oracle.",
}


def report(reproduction: Reproduction, pictures: dict[str, bytes]) -> str:
    """Return the page as a self-contained HTML document; `pictures` are PNG, by experiment."""
    parts = [f"<h1>{escape(TITLE)}</h1>", _question(), _summary(reproduction), _policies()]
    section = ""
    for experiment in experiments():
        if experiment.name in pictures:
            if experiment.section != section:
                section = experiment.section
                parts.append(f"<h2>{escape(section)}</h2>")
            parts.append(pages.picture(pictures[experiment.name], experiment.alt, experiment.caption))
    parts += [_verdicts(reproduction), _colophon(reproduction)]
    return pages.page(TITLE, "\n".join(part for part in parts if part))


def _question() -> str:
    return (
        '<p class="lead">An advertisement, a notification, an exercise: what should be shown next if everything wears '
        "out as it is shown, how fast is unknown, and all one sees is noise?</p>"
        "<p>Seznec, Locatelli, Carpentier, Lazaric and Valko (2019) answered with FEWA, and proved that wearing out "
        "makes the problem hardly harder than if nothing changed. This page plays their experiments again, from "
        "scratch, and says claim by claim what came out.</p>"
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
    return f"<h2>The policies</h2><ul>{items}</ul>"


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
        "<p>The paper: J. Seznec, A. Locatelli, A. Carpentier, A. Lazaric, M. Valko, <cite>Rotting bandits are not "
        "harder than stochastic ones</cite>, AISTATS 2019. The software: <code>rotting</code> "
        f"{escape(reproduction.versions['rotting'])}.</p>"
        f"<p>Made by <code>rotting paper</code> with seed {settings.seed} and {escape(runs)}. Every policy met the "
        "same noise in the same run. The numbers behind each figure are in the CSV files beside this page, all runs as "
        f'NetCDF in <code>data/</code>.{escape(part)}</p><p class="soft">{escape(versions)}</p>'
    )
