"""The page of an evaluation: two targets, apart, and how much of each policy the log can see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from rotting._output.notebooks import card
from rotting._output.pages import figure, page, table
from rotting._output.style import COLOURS, add_legend, line_style, new_figure, plain, tidy, wrapped
from rotting.value.doubting import FEWEST_EFFECTIVE
from rotting.value.telling import (
    ASSUMED,
    NEXT_COLUMNS,
    NEXT_NUMBERS,
    NEXT_TARGET,
    OTHER_COLUMNS,
    PER,
    RUN_COLUMNS,
    RUN_NUMBERS,
    RUN_TARGET,
    next_rows,
    other_rows,
    run_rows,
)
from rotting.value.weighing import SMALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rotting.value.evaluation import Evaluation

_TITLE = "What would another policy have earned?"
_LONGEST_LABEL = 34


def evaluation_card(evaluation: Evaluation) -> str:
    """Return what notebooks show: the answer and target 1."""
    return card(evaluation.summary, NEXT_COLUMNS, next_rows(evaluation), NEXT_NUMBERS, "save(folder) writes the page.")


def evaluation_page(evaluation: Evaluation) -> str:
    """Return evaluation.html."""
    return page(_TITLE, "\n".join(_parts(evaluation)))


def _parts(evaluation: Evaluation) -> Iterator[str]:
    name = evaluation.log[:1].upper() + evaluation.log[1:]
    notes = " ".join(evaluation.notes)
    yield f"<h1>{_TITLE}</h1>"
    yield f'<p class="lead">{escape(evaluation.summary)}</p>'
    read = f"{name}: {evaluation.rows:,} rows, {evaluation.arms:,} arms; {evaluation.columns}. {notes}"
    yield f'<p class="soft">{escape(read)} All values are rewards per {PER} exposures, with 90 % intervals.</p>'
    yield "<h2>Target 1: the next decision, given the log's histories</h2>"
    yield f"<p>{escape(NEXT_TARGET)}</p>"
    told = [each for each in evaluation.policies if each.gain is not None]
    if told:
        caption = "Gain over what was done. All intervals hold together in 90 % of such logs."
        yield figure(_gains_figure(evaluation), "Gains of next decisions: the table has the numbers", caption)
    yield _table(NEXT_COLUMNS, next_rows(evaluation), NEXT_NUMBERS)
    if told:
        yield "<p>The same target by three estimators:</p>"
        yield _table(OTHER_COLUMNS, other_rows(evaluation))
    yield "<h2>Target 2: running the policy</h2>"
    yield f"<p>{escape(RUN_TARGET)}</p>"
    yield "<ul>" + "".join(f"<li>{escape(each)}</li>" for each in ASSUMED.values()) + "</ul>"
    yield _table(RUN_COLUMNS, run_rows(evaluation), RUN_NUMBERS)
    yield "<h2>How much of each policy the log can see</h2>"
    small = max((each.support.small for each in evaluation.policies), default=0.0)
    yield (
        f"<p>{small:.1%} of the rows have a probability below {SMALL:g}. Below {FEWEST_EFFECTIVE} effective rows, "
        "where weights do not have mean 1, and where the log could only show another arm, nothing is told.</p>"
    )
    if any(evaluation.overlap.values()):
        caption = (
            "The probability in the log of what each policy would have shown: the share of its decisions that had this "
            "probability or less. The further to the left, the fewer rows speak for the policy."
        )
        yield figure(_overlap_figure(evaluation), "Overlap of each policy with the log", caption)
    yield "<h2>What to keep in mind</h2>"
    yield "<ul>" + "".join(f"<li>{escape(each)}</li>" for each in caveats(evaluation)) + "</ul>"


def caveats(evaluation: Evaluation) -> list[str]:
    """Return what must be said beside the numbers."""
    found = [
        "Everything rests on the probabilities: they must be those with which the rows' arms were chosen, known before "
        "the reward.",
        "The policies learn from arms and rewards alone; what else stood in the log was not used.",
    ]
    if drawn := sorted({each.draws for each in evaluation.policies if each.draws}):
        many = " or ".join(map(str, drawn))
        found.append(f"The probabilities of randomised policies without a closed form are shares of {many} draws.")
    if evaluation.clusters:
        found.append(
            f"Rows that agree in {evaluation.clusters} may depend on each other: intervals take that into account."
        )
    else:
        found.append(
            "Intervals speak of these rows: what the same decisions are worth on them. For other users or other days, "
            "give the column of users or days as the unit."
        )
    return found


def _table(columns: Sequence[str], rows: list[list[str]], numbers: Sequence[str] = ()) -> str:
    return table([each.strip() for each in columns], rows, numbers={columns.index(name) for name in numbers})


def _gains_figure(evaluation: Evaluation) -> Figure:
    told = [each for each in evaluation.policies if each.gain is not None][::-1]
    drawn = new_figure(7.0, 1.0 + 0.45 * len(told))
    axes = drawn.add_subplot()
    for height, each in enumerate(told):
        assert each.gain is not None
        colour = COLOURS[0] if each.gain.low > 0 else COLOURS[1] if each.gain.high < 0 else "0.5"
        axes.plot([PER * each.gain.low, PER * each.gain.high], [height] * 2, color=colour, linewidth=2)
        axes.plot(PER * each.gain.point, height, "o", color=colour, markersize=7)
    axes.axvline(0, color="0.3", linewidth=1)
    axes.set_yticks(range(len(told)), [wrapped(plain(each.policy), _LONGEST_LABEL) for each in told], fontsize=10)
    axes.set_ylim(-0.6, len(told) - 0.4)
    axes.set_xlabel(f"gain per {PER} exposures over what was done", fontsize=11)
    tidy(axes)
    axes.grid(axis="x", color="0.9", linewidth=0.8)
    return drawn


def _overlap_figure(evaluation: Evaluation) -> Figure:
    drawn = new_figure(7.0, 3.2)
    axes = drawn.add_subplot()
    for place, (policy, chances) in enumerate(evaluation.overlap.items()):
        if chances:
            shares = np.linspace(0, 1, len(chances))
            axes.step(chances, shares, where="post", label=plain(policy), **line_style(place))
    axes.set_xscale("log")
    axes.set_xlabel("probability in the log", fontsize=11)
    axes.set_ylabel("share of the policy's decisions", fontsize=11)
    tidy(axes)
    add_legend(drawn, axes)
    return drawn
