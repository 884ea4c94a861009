"""The page of one bandit."""

from __future__ import annotations

from html import escape

import numpy as np

from rotting.serve.following import RECENT
from rotting.serve.overview import STANDARD_ERRORS, ArmOverview, Overview, duration, lead
from rotting.serve.page import charts
from rotting.serve.page.html import Html, bandit_path, details, page, table

_WORTH = (
    '<p class="soft">Worth: the ends of a fit to the arm’s rewards that never rises. Worn: they fall with its '
    f"exposures by more than chance explains (a slope {STANDARD_ERRORS:g} standard errors below zero). Filtered "
    "out: the policy finds it worse than others for now.</p>"
)
_DOTS = (
    '<p class="soft">Dots: means of rewards in a row. Line: the fit that never rises. All arms have the same scale.</p>'
)
_MEANING = {
    "retire": "It is no longer shown. Its history is kept, late rewards are accepted, and it can be restored.",
    "restore": "It is available again, with its history.",
    "add": "It is shown at once, until enough is known of it. An arm cannot be deleted, only retired.",
}


def bandit_page(found: Overview, changeable: bool, leave: bool) -> bytes:
    """Return the page, with forms if its reader may change arms."""
    name = found.tally.row.name
    sections = {
        "summary": _summary(found),
        "arms": _arms(found, changeable),
        "add": _add_form(name) if changeable else "",
        "wear": _wear(found),
        "shares": _shares(found),
        "rewards": _rewards(found),
        "decisions": _decisions(found),
        "health": _health(found),
    }
    body = ""
    for each, inside in sections.items():
        live = "" if each == "add" else ' class="live"'  # what somebody has begun to write there stays
        body += f'<section{live} id="{each}">{inside}</section>\n'
    return page(f"{name} · rotting", body, live=True, leave=leave)


def _summary(found: Overview) -> str:
    tally, sealed = found.tally, found.standing.sealed
    needs = "".join(f"<li>{escape(need)}</li>" for need in found.needs)
    rest = f'<ul class="needs">{needs}</ul>' if needs else '<p class="calm">Nothing needs you.</p>'
    if not tally.is_complete:
        part = tally.seq / tally.log_seq
        rest += f'<p class="soft">The log is still being read: this is the first {part:.0%} of it.</p>'
    if sealed:
        rest += f'<p class="soft">The log was compacted: pictures begin after event {sealed:,}.</p>'
    return f'<h1>{escape(tally.row.name)}</h1><p class="lead">{escape(lead(found.arms))}</p>{rest}'


def _arms(found: Overview, changeable: bool) -> str:
    columns = ["arm", "state", f"share of the last {RECENT}", "decisions", "rewards", "worth at first", "worth now"]
    rows: list[list[object]] = []
    for place, arm in enumerate(found.arms):
        name = Html(f'<span class="swatch {charts.colour(place)}"></span>{escape(arm.name)}')
        worth = [f"{arm.fit[end][1]:.3g}" if arm.fit else "" for end in (0, -1)]
        state = Html(f'<span class="state">{arm.state}</span>')
        row: list[object] = [name, state, f"{arm.share:.0%}", f"{arm.decisions:,}", f"{arm.rewards:,}", *worth]
        rows.append([*row, _change_form(found.tally.row.name, arm, place)] if changeable else row)
    columns = [*columns, "change"] if changeable else columns
    return f"<h2>Arms</h2>{table('Arms', columns, rows, '  nnnnn')}{_WORTH}"


def _change_form(bandit: str, arm: ArmOverview, place: int) -> Html:
    action = "retire" if arm.available else "restore"
    return _form(
        bandit, action, f"change-{place}", f'<input type="hidden" name="arm" value="{escape(arm.name)}">', arm.name
    )


def _add_form(bandit: str) -> str:
    field = '<label for="new-arm">A new arm</label><input id="new-arm" name="arm" required maxlength="200"'
    return _form(bandit, "add", "add-arm", f'{field} autocomplete="off">', "an arm")


def _form(bandit: str, action: str, identifier: str, field: str, what: str) -> Html:
    """Return a form that is folded away, so that changing an arm takes two steps."""
    said = action.capitalize()
    return Html(
        f'<details id="{identifier}"><summary aria-label="{said} {escape(what)}">{said}…</summary>'
        f'<p>{_MEANING[action]}</p><form class="row" method="post" action="{bandit_path(bandit, "/arms")}">'
        f'<input type="hidden" name="action" value="{action}">{field}<button>{said} it</button></form></details>'
    )


def _wear(found: Overview) -> str:
    limits = charts.highest(found.arms)
    cards, rows = [], []
    for place, arm in enumerate(found.arms):
        first = arm.fit[0][1] if arm.fit else 0.0
        loss = f" · lost {1 - arm.fit[-1][1] / first:.0%}" if arm.worn and first > 0 else ""
        picture = charts.wear(arm, place, limits)
        cards.append(f'<li><h3>{escape(arm.name)}</h3><p class="soft">{arm.state}{loss}</p>{picture}</li>')
        rows += [[arm.name, f"{x:,.0f}", f"{y:.4g}"] for x, y in arm.dots[:: max(1, len(arm.dots) // 10)]]
    numbers = table("Reward against exposures", ["arm", "exposures with a reward", "mean reward"], rows, " nn")
    return (
        f'<h2>Wear-out: reward against exposures</h2><ul class="cards">{"".join(cards)}</ul>'
        f"{_DOTS}{details('wear-table', numbers)}"
    )


def _shares(found: Overview) -> str:
    tally, names = found.tally, [arm.name for arm in found.arms]
    if not tally.decided:
        return "<h2>Shares over time</h2><p>No decisions yet.</p>"
    counts, seconds = tally.shares.table(len(names)), tally.shares.step
    legend = "".join(
        f'<li><span class="swatch {charts.colour(place)}"></span><span>{escape(name)}</span></li>'
        for place, name in enumerate(names)
    )
    filled = np.flatnonzero(counts.sum(axis=1))
    rows = [
        [
            charts.clock(tally.start + period * seconds),
            *(f"{part:.0%}" for part in counts[period] / counts[period].sum()),
        ]
        for period in filled[:: max(1, len(filled) // 12)]
    ]
    numbers = table("Shares over time", ["from", *names], rows, " " + "n" * len(names))
    return (
        f"<h2>Shares over time</h2>{charts.shares(counts, tally.start, seconds)}"
        f'<ul class="legend">{legend}</ul>{details("shares-table", numbers)}'
    )


def _rewards(found: Overview) -> str:
    said, delays = f"{found.standing.pending:,} decisions wait for a reward.", found.tally.delays
    if not delays:
        return f"<h2>Rewards that wait</h2><p>{said}</p>"
    parts = (0.1, 0.5, 0.9, 0.99)
    rows = [[f"{part:.0%}", duration(float(np.quantile(delays, part)))] for part in parts]
    numbers = table("How long rewards take", ["of the rewards", "arrive within"], rows, " n")
    said += f" Half of the last {len(delays):,} took {rows[1][1]} or less, nine of ten {rows[2][1]}."
    return f'<h2>Rewards that wait</h2><p>{said}</p><div class="narrow">{numbers}</div>'


def _decisions(found: Overview) -> str:
    unknown = "(decided by another server, or before this one started)"
    rows = [
        [
            charts.clock(each.at),
            found.arms[each.arm].name,
            found.reasons.get(each.decision or "", unknown),
            "" if each.probability is None else f"{each.probability:.3g}",
            each.decision,
        ]
        for each in reversed(found.tally.last_decisions)
    ]
    shown = table("The last decisions", ["at", "arm", "why", "probability", "id"], rows, "   n")
    return f'<h2>The last decisions</h2><div class="stacked">{shown if rows else "None yet."}</div>'


def _health(found: Overview) -> str:
    pairs = {
        "policy": found.standing.policy,
        "an exposure counts once": found.standing.settings.count,
        "events in the log": f"{found.tally.seq:,}",
        "last event": charts.clock(found.tally.at) if found.tally.at else "never",
    }
    inside = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs.items())
    return f'<h2>Health</h2><dl class="numbers">{inside}</dl>'
