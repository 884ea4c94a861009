"""The page of a diagnosis, for readers who do not write code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from rotting._output.notebooks import card
from rotting._output.pages import figure, page, table
from rotting.logs.tell.answers import amount, how_sure, in_order, what_is_worn, what_to_do
from rotting.logs.tell.figures import SHOWN_ARMS, arms_figure, gain_figure
from rotting.logs.tell.sentences import FALLS_TOGETHER, finding_of
from rotting.logs.worth.estimates import Estimate, figures, money, rounded
from rotting.logs.worth.gain import KEEP, PER

if TYPE_CHECKING:
    from rotting.logs.diagnosis import Diagnosis
    from rotting.logs.worth.arms import ArmDiagnosis

SHOWN_ROWS = 100
ARM_COLUMNS = (
    "arm",
    "what to do",
    "wears out",
    "exposures",
    "p",
    "half-life",
    "first value",
    "last value",
    "next 1000",
    "note",
)
ARM_NUMBERS = ARM_COLUMNS[3:-1]
PERIOD_COLUMNS = ("arm", "exposures before", "mean before", "exposures after", "mean after", "change")
# A click on the head of a column sorts by it, once more the other way round. Nothing comes from elsewhere.
SORTING = """<script>
for (const head of document.querySelectorAll(".sortable th")) {
  head.style.cursor = "pointer";
  head.title = "sort";
  head.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0];
    const column = head.cellIndex;
    const down = head.dataset.down === "yes";
    const key = (row) => row.cells[column].textContent;
    const number = (text) => parseFloat(text.replace(/[$\u20ac\u00a3\u00a5,]/g, ""));
    const rows = [...body.rows].sort((one, other) => {
      const [a, b] = [number(key(one)), number(key(other))];
      return Number.isNaN(a) || Number.isNaN(b) ? key(one).localeCompare(key(other)) : a - b;
    });
    head.dataset.down = down ? "no" : "yes";
    body.append(...(down ? rows.reverse() : rows));
  });
}
</script>"""
PER_UNIT = (
    "First and last values are left out: over all users they mix those who tire with those who leave. The next 1000 "
    "exposures are taken to earn what the last quarter of the log did."
)
MODEL_LINE = "Line: what the model behind half-lives and gains makes of them"
GAIN_COLUMNS = ("per 1000 exposures", "reward", "gain from now on")


def report_page(diagnosis: Diagnosis) -> str:
    """Return report.html: the verdict, the arms, the gains, what to do, and the caveats."""
    title = "Do these arms wear out?" if len(diagnosis.arms) > 1 else "Does this arm wear out?"
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="lead">{escape(diagnosis.summary)}</p>',
        f'<p class="soft">{escape(_about(diagnosis))}</p>',
        *_answers(diagnosis),
        *_arms(diagnosis),
        *_gains(diagnosis),
        *_periods(diagnosis),
        *_to_run(diagnosis),
        "<h2>What to keep in mind</h2>",
        "<ul>" + "".join(f"<li>{escape(caveat)}</li>" for caveat in diagnosis.caveats) + "</ul>",
        SORTING,
    ]
    return page(title, "\n".join(parts))


def diagnosis_card(diagnosis: Diagnosis) -> str:
    """Return what notebooks show: the verdict and the arms, those to act on first."""
    more = f" {len(diagnosis.arms):,} arms in all." if len(diagnosis.arms) > SHOWN_ROWS else ""
    note = f"save(folder) writes the whole page.{more}"
    return card(diagnosis.summary, ARM_COLUMNS, arm_rows(diagnosis)[:SHOWN_ROWS], ARM_NUMBERS, note)


def _about(diagnosis: Diagnosis) -> str:
    dropped = f", {diagnosis.dropped_rows:,} dropped" if diagnosis.dropped_rows else ", none dropped"
    name = diagnosis.log[:1].upper() + diagnosis.log[1:]
    dates = f", {diagnosis.first_date} to {diagnosis.last_date}" if diagnosis.first_date else ""
    read = " ".join((f"columns {diagnosis.columns}.", *diagnosis.notes))
    return f"{name}{dates}: {diagnosis.rows:,} rows{dropped}; {read}"


def _arms(diagnosis: Diagnosis) -> Iterator[str]:
    arms, per_unit = in_order(diagnosis.arms), diagnosis.per_unit
    rest = f" The first {SHOWN_ARMS} of {len(arms)}." if len(arms) > SHOWN_ARMS else ""
    line = "Band: what their counts leave open" if per_unit else MODEL_LINE
    caption = (
        f"Dots: mean rewards of bins of exposures{' of one user' if per_unit else ''}. {line}, with a 90 % band."
        f" Orange: called worn. Look at the scales: panels may differ.{rest}"
    )
    findings = "; ".join(f"{arm.arm}: {finding_of(arm, diagnosis.verdict)}" for arm in arms[:SHOWN_ARMS])
    yield "<h2>The arms</h2>" if len(arms) > 1 else "<h2>The arm</h2>"
    yield figure(arms_figure(diagnosis), f"Reward against exposures. {findings}", caption)
    yield _sortable(ARM_COLUMNS, arm_rows(diagnosis), ARM_NUMBERS)
    if per_unit:
        yield f'<p class="soft">{PER_UNIT}</p>'
    if len(arms) > SHOWN_ROWS:
        yield f'<p class="soft">{len(arms):,} arms in all.</p>'


def _sortable(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]) -> str:
    places = {columns.index(name) for name in numbers}
    return f'<div class="sortable">{table(columns, rows[:SHOWN_ROWS], numbers=places)}</div>'


def arm_rows(diagnosis: Diagnosis) -> list[list[str]]:
    """Return the arms as rows of texts, those to act on first."""
    formatted = _value_format(diagnosis)

    def spread(value: Estimate | None) -> str:
        return "" if value is None else value.written(formatted)

    rows = []
    for arm in in_order(diagnosis.arms):
        notes = [
            "rises" if arm.rising else "",
            arm.evidence,
            "" if arm.drop_at is None else f"drops after {arm.drop_at:,} exposures",
            "half-life beyond the log" if arm.half_life_beyond_log else "",
        ]
        unseen = "cannot tell" if diagnosis.verdict == FALLS_TOGETHER else "not seen"
        wears_out = "yes" if arm.rotting else unseen if arm.enough else "too little to say"
        rows.append(
            [
                arm.arm,
                arm.action,
                wears_out,
                f"{arm.exposures:,}",
                f"{arm.p_value:.2g}",
                half_life_text(arm),
                spread(arm.first),
                spread(arm.last),
                spread(arm.next_1000),
                ", ".join(filter(None, notes)),
            ],
        )
    return rows


def half_life_text(arm: ArmDiagnosis) -> str:
    """Return the half-life of an arm with its interval, as far as the log tells it."""
    if not arm.rotting:
        return ""
    if arm.half_life is None:
        return "cannot tell" if arm.half_life_low is None else f"at least {rounded(arm.half_life_low)}"
    high = "more" if arm.half_life_high is None else rounded(arm.half_life_high)
    return f"{rounded(arm.half_life)} ({rounded(arm.half_life_low or 0.0)} to {high})"


def _value_format(diagnosis: Diagnosis) -> Callable[[float], str]:
    """Return how values are shown: rates as percentages, others with enough decimals to distinguish the arms."""
    if diagnosis.rewards == "0/1":
        return lambda value: f"{figures(100 * value)}%"
    values = [
        value.point for arm in diagnosis.arms for value in (arm.first, arm.last, arm.next_1000) if value is not None
    ]
    decimals = _decimals((max(values) - min(values)) / 10 or max(map(abs, values)) / 100)
    small = 10 ** (1 - decimals)
    return lambda value: money(
        figures(value) if 0 < abs(value) < small else f"{value:,.{decimals}f}", diagnosis.currency
    )


def _decimals(apart: float) -> int:
    """Return how many decimals show numbers that lie so far apart, to two digits of the difference.

    >>> _decimals(3.3), _decimals(0.0042), _decimals(700.0), _decimals(0.0)
    (1, 4, 0, 0)
    """
    return min(max(1 - math.floor(math.log10(apart)), 0), 15) if apart > 0 else 0


def gain_rows(diagnosis: Diagnosis) -> list[list[str]]:
    """Return the gains as rows of texts, the best first."""
    best_first = sorted(diagnosis.gain, key=lambda row: -row.gain.point)
    return [[row.policy, with_interval(row.reward), with_interval(row.gain)] for row in best_first]


def with_interval(estimate: Estimate) -> str:
    """Return an estimate and its interval.

    >>> from rotting.logs import Estimate
    >>> with_interval(Estimate(1.23456, 0.5, 2.0))
    '1.2 (0.5 to 2.0)'
    >>> with_interval(Estimate(1_000_025.31, 1_000_024.9, 1_000_025.8))
    '1,000,025.31 (1,000,024.90 to 1,000,025.80)'
    """
    decimals = _decimals(estimate.high - estimate.low)
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    return estimate.written(lambda value: f"{round(value, decimals) + 0.0:,.{decimals}f}")


def _gains(diagnosis: Diagnosis) -> Iterator[str]:
    if len(diagnosis.arms) == 1:
        yield "<h2>What would be gained</h2>"
        yield "<p>Nothing: with one arm there is nothing to choose between.</p>"
    if not diagnosis.gain:
        return
    advice, exposures = diagnosis.recommended, diagnosis.gain_exposures
    caption = (
        f"Over the next {exposures:,} exposures, beginning with the arms as they are now, against "
        "going on in the shares of the last quarter of the log. A simulation, with 90 % intervals: it rests on the "
        "model of the arms. An experiment in which a share of exposures is random, or a policy beside what is done "
        "now, would tell."
    )
    yield "<h2>What would be gained</h2>"
    if diagnosis.beside:
        yield diagnosis.beside.section()
    if advice is not None and advice.label != KEEP:
        gain = diagnosis.gain_of(advice.played_as).gain
        earned = amount(gain, diagnosis, lambda value: f"{exposures / PER * value:,.0f}")
        more = f"{advice.label} would earn about {earned} more over the next {exposures:,} exposures."
        yield f"<p>{escape(more)}</p>"
    advised = f" Advised: {advice.label}." if advice else ""
    yield figure(gain_figure(diagnosis), f"Gain of each policy over what is done now.{advised}", caption)
    yield table(GAIN_COLUMNS, gain_rows(diagnosis), numbers={1, 2})


def period_rows(diagnosis: Diagnosis) -> list[list[str]]:
    """Return what arms earned in two periods as rows of texts, all arms together first."""
    if diagnosis.periods is None:
        return []
    formatted = _value_format(diagnosis)
    rows = []
    for row in diagnosis.periods.changes:
        means = ["" if each.mean is None else formatted(each.mean) for each in (row.before, row.after)]
        shown = "" if row.change is None else row.change.written(formatted)
        rows.append([row.arm, f"{row.before.exposures:,}", means[0], f"{row.after.exposures:,}", means[1], shown])
    return rows


def _periods(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.periods is not None:
        before, after = escape(diagnosis.periods.before), escape(diagnosis.periods.after)
        yield "<h2>Before and after</h2>"
        yield (
            f"<p>Mean rewards before {before}, and from {after} on, with 90 % intervals of the change. All arms "
            "together change with the mix of arms, too.</p>"
        )
        yield _sortable(PERIOD_COLUMNS, period_rows(diagnosis), PERIOD_COLUMNS[1:])


def _answers(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the first screen: what is worn, how sure that is, and what to do."""
    sure = [f"<li>{escape(each)}</li>" for each in how_sure(diagnosis)]
    steps = [f"<li><b>{escape(head)}</b> {escape(rest)}</li>" for head, rest in what_to_do(diagnosis)]
    yield f"<h2>What is worn?</h2><p>{escape(' '.join(what_is_worn(diagnosis)))}</p>"
    for question, answers in (("How sure is that?", sure), ("What to do", steps)):
        if answers:
            yield f"<h2>{question}</h2><ul>{''.join(answers)}</ul>"


def _to_run(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the code and the commands to paste."""
    advice = diagnosis.recommended
    if advice is not None:
        goal = "To run it" if advice.label != KEEP else f"To try {advice.policy} on a part of the traffic"
        yield "<h2>For those who write code</h2>"
        yield f"<p>{escape(goal)}, with decisions and rewards kept in a database, as a service:</p>"
        yield f"<pre>{escape(advice.commands)}</pre>"
        yield "<p>or from Python:</p>"
        yield f"<pre>{escape(advice.code)}</pre>"
