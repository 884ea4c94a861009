"""The page of one bandit."""

from __future__ import annotations

from html import escape

import numpy as np

from rotting._output.style import with_thousands
from rotting.serve.following import RECENT
from rotting.serve.overview import STANDARD_ERRORS, ArmOverview, Overview, duration
from rotting.serve.page import charts
from rotting.serve.page.html import Html, bandit_path, details, page, table


def bandit_page(found: Overview, token: str | None, leave: bool) -> bytes:
    """Return the page. `token` makes forms for those who may change arms."""
    body = "\n".join(
        (
            _section("summary", _summary(found)),
            _section("arms", _arms(found, token is not None)),
            _add_form(found) if token is not None else "",
            _section("wear", _wear(found)),
            _section("shares", _shares(found)),
            _section("rewards", _rewards(found)),
            _section("decisions", _decisions(found)),
            _section("health", _health(found)),
        )
    )
    return page(f"{found.bandit} · rotting", body, stream=bandit_path(found.bandit, "/stream"), leave=leave)


def _section(identifier: str, inside: str) -> str:
    return f'<section class="live" id="{identifier}">{inside}</section>'


def _summary(found: Overview) -> str:
    needs = "".join(f"<li>{escape(need)}</li>" for need in found.needs)
    rest = f'<ul class="needs">{needs}</ul>' if needs else '<p class="calm">Nothing needs you.</p>'
    partly = ""
    if found.read < 1.0:
        partly = f'<p class="soft">The log is still being read: this is the first {found.read:.0%} of it.</p>'
    if found.sealed:
        partly += (
            f'<p class="soft">The log was compacted: pictures begin after event {with_thousands(found.sealed)}.</p>'
        )
    return f'<h1>{escape(found.bandit)}</h1><p class="lead">{escape(found.lead)}</p>{rest}{partly}'


def state_of(arm: ArmOverview) -> str:
    """Return what an arm is, in a word or two."""
    if not arm.available:
        return "retired"
    if arm.rewards == 0:
        return "no rewards yet"
    if arm.worn:
        return "worn"
    return "filtered out" if arm.passes is False else "fresh"


def _arms(found: Overview, changeable: bool) -> str:
    columns = ["arm", "state", f"share of the last {RECENT}", "decisions", "rewards", "worth at first", "worth now"]
    rows: list[list[object]] = []
    for place, arm in enumerate(found.arms):
        name = Html(f'<span class="swatch {charts.colour(place)}"></span>{escape(arm.name)}')
        state = Html(f'<span class="state">{escape(state_of(arm))}</span>')
        counts = [f"{arm.share:.0%}", with_thousands(arm.decisions), with_thousands(arm.rewards)]
        row: list[object] = [name, state, *counts, _number(arm.fresh), _number(arm.now)]
        rows.append([*row, _change_form(found.bandit, arm, place)] if changeable else row)
    columns = [*columns, "change"] if changeable else columns
    note = (
        '<p class="soft">Worth: the ends of a fit to the arm’s rewards that never rises. Worn: they fall with its '
        f"exposures by more than chance explains (a slope {STANDARD_ERRORS:g} standard errors below zero). Filtered "
        "out: the policy finds it worse than others for now.</p>"
    )
    return f"<h2>Arms</h2>{table('Arms', columns, rows, numbers=set(range(2, 7)))}{note}"


def _change_form(bandit: str, arm: ArmOverview, place: int) -> Html:
    action = "retire" if arm.available else "restore"
    return Html(
        f'<form method="get" action="{bandit_path(bandit, "/confirm")}">'
        f'<input type="hidden" name="action" value="{action}">'
        f'<input type="hidden" name="arm" value="{escape(arm.name)}">'
        f'<button class="quiet" id="change-{place}" aria-label="{action.capitalize()} {escape(arm.name)}">'
        f"{action.capitalize()}…</button></form>"
    )


def _add_form(found: Overview) -> str:
    return (
        f'<form class="row" method="get" action="{bandit_path(found.bandit, "/confirm")}">'
        '<input type="hidden" name="action" value="add"><label for="new-arm">A new arm</label>'
        '<input id="new-arm" name="arm" required maxlength="200" autocomplete="off"><button>Add…</button></form>'
    )


def _wear(found: Overview) -> str:
    limits = charts.highest(found.arms)
    cards, rows = [], []
    for place, arm in enumerate(found.arms):
        loss = ""
        if arm.fresh is not None and arm.now is not None and arm.fresh > 0 and arm.worn:
            loss = f" · lost {1 - arm.now / arm.fresh:.0%}"
        cards.append(
            f'<li><h3>{escape(arm.name)}</h3><p class="soft">{escape(state_of(arm))}{loss}</p>'
            f"{charts.wear(arm, place, limits)}</li>"
        )
        rows += [[arm.name, with_thousands(round(x)), f"{y:.4g}"] for x, y in arm.dots[:: max(1, len(arm.dots) // 10)]]
    numbers = table("Reward against exposures", ["arm", "exposures with a reward", "mean reward"], rows, {1, 2})
    return (
        "<h2>Wear-out: reward against exposures</h2>"
        f'<ul class="cards">{"".join(cards)}</ul>'
        '<p class="soft">Dots: means of rewards in a row. Line: the fit that never rises. All arms have the same '
        f"scale.</p>{details('wear-table', 'The same as a table', numbers)}"
    )


def _shares(found: Overview) -> str:
    if found.start is None:
        return "<h2>Shares over time</h2><p>No decisions yet.</p>"
    names = [arm.name for arm in found.arms]
    counts = np.pad(found.shares, ((0, 0), (0, len(names) - found.shares.shape[1])))
    legend = "".join(
        f'<li><span class="swatch {charts.colour(place)}"></span><span>{escape(name)}</span></li>'
        for place, name in enumerate(names)
    )
    filled = [period for period in range(len(counts)) if counts[period].sum()]
    some = filled[:: max(1, len(filled) // 12)]
    rows = [
        [
            charts.clock(found.start + period * found.seconds),
            *(f"{part:.0%}" for part in counts[period] / counts[period].sum()),
        ]
        for period in some
    ]
    numbers = table("Shares over time", ["from", *names], rows, set(range(1, len(names) + 1)))
    return (
        f"<h2>Shares over time</h2>{charts.shares(names, counts, found.start, found.seconds)}"
        f'<ul class="legend">{legend}</ul>{details("shares-table", "The same as a table", numbers)}'
    )


def _rewards(found: Overview) -> str:
    waiting = f"{with_thousands(found.pending)} decisions wait for a reward."
    if not found.delays:
        return f"<h2>Rewards that wait</h2><p>{waiting}</p>"
    quantiles = [(part, float(np.quantile(found.delays, part))) for part in (0.1, 0.5, 0.9, 0.99)]
    numbers = table(
        "How long rewards take",
        ["of the rewards", "arrive within"],
        [[f"{part:.0%}", duration(seconds)] for part, seconds in quantiles],
        {1},
    )
    return (
        f"<h2>Rewards that wait</h2><p>{waiting} Half of the last {with_thousands(len(found.delays))} rewards took "
        f"{duration(quantiles[1][1])} or less, nine of ten {duration(quantiles[2][1])}.</p>"
        f'<div class="narrow">{charts.delays(found.delays)}</div>'
        f"{details('delays-table', 'The same as a table', numbers)}"
    )


def _decisions(found: Overview) -> str:
    rows = [
        [charts.clock(each.at), arm, why or "(decided by another server, or before this one started)",
         "" if each.probability is None else f"{each.probability:.3g}", each.decision]
        for each, arm, why in found.recent
    ]  # fmt: skip
    shown = table("The last decisions", ["at", "arm", "why", "probability", "id"], rows, {3})
    return f"<h2>The last decisions</h2>{shown}" if rows else "<h2>The last decisions</h2><p>None yet.</p>"


def _health(found: Overview) -> str:
    when = charts.clock(found.at) if found.at else "never"
    pairs = {
        "policy": found.policy,
        "an exposure counts once": found.count,
        "events in the log": with_thousands(found.seq),
        "last event": when,
    }
    inside = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs.items())
    return f'<h2>Health</h2><dl class="numbers">{inside}</dl>'


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def confirm_page(bandit: str, action: str, arm: str, token: str) -> bytes:
    """Return the page that asks whether an arm shall really be changed."""
    what = {
        "retire": "It is no longer shown. Its history is kept, late rewards are accepted, and it can be restored.",
        "restore": "It is available again, with its history.",
        "add": "It is shown at once, until enough is known of it. An arm cannot be deleted, only retired.",
    }[action]
    body = (
        f"<h1>{action.capitalize()} “{escape(arm)}”?</h1><p>{what}</p>"
        f'<form class="row" method="post" action="{bandit_path(bandit, "/arms")}">'
        f'<input type="hidden" name="token" value="{token}"><input type="hidden" name="action" value="{action}">'
        f'<input type="hidden" name="arm" value="{escape(arm)}"><button>{action.capitalize()} it</button> '
        f'<a href="{bandit_path(bandit)}">No, go back</a></form>'
    )
    return page(f"{action.capitalize()} {arm}? · {bandit}", body)
