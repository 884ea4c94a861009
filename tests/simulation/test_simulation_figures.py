"""Figures show what they should; how they look was judged by eye."""

import dataclasses
import io
import subprocess
import sys

import numpy as np
import pytest
import xarray
from matplotlib.colors import to_hex

import rotting
from rotting._output import style
from rotting.simulation import figures


def dataset_of(finals, runs=11):
    """Return a dataset in which the regret of run r grows to finals[policy] * (1 + r) in four recorded rounds."""
    growth = np.array([0.25, 0.5, 0.75, 1.0])
    by_run = 1.0 + np.arange(runs)
    return xarray.Dataset(
        {"regret": (("policy", "run", "round"), np.einsum("p,r,t->prt", finals, by_run, growth))},
        coords={"policy": [f"policy {place}" for place in range(len(finals))], "round": [10, 20, 30, 40]},
        attrs={"problem": "a problem"},
    )


def test_mean_and_region():
    (axes,) = figures.regret_figure(dataset_of([2.0])).axes
    (line,) = axes.get_lines()
    assert list(line.get_xdata()) == [0, 10, 20, 30, 40]
    assert list(line.get_ydata()) == pytest.approx([0, 3, 6, 9, 12])
    (region,) = axes.collections
    at_the_end = [y for x, y in region.get_paths()[0].vertices if x == 40]
    assert (min(at_the_end), max(at_the_end)) == pytest.approx((4, 20))  # quantiles of 2, 4, ..., 22
    assert axes.get_title(loc="left") == "a problem, 11 runs"
    assert axes.get_ylim()[0] == 0


def test_legend_in_the_order_of_the_lines():
    figure = figures.regret_figure(dataset_of([2.0, 3.0, 1.0]))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["policy 1", "policy 0", "policy 2"]
    handles = [to_hex(handle.get_color()).upper() for handle in legend.legend_handles]
    assert handles == [style.COLOURS[1], style.COLOURS[0], style.COLOURS[2]]


@pytest.mark.parametrize(
    ("finals", "scale"),
    [
        ([1.0, 2.0, 7.0], "linear"),
        ([1.0, 9.0], "symlog"),
        ([0.0, 1.0, 2.0], "linear"),  # the oracle's 0 does not count
        ([0.0, 1.0, 100.0], "symlog"),
        ([0.0], "linear"),
        ([-1.0, -5.0], "linear"),
    ],
)
def test_scale(finals, scale):
    (axes,) = figures.regret_figure(dataset_of(finals)).axes
    assert axes.get_yscale() == scale
    lowest = min(np.min(line.get_ydata()) for line in axes.get_lines())
    assert axes.get_ylim()[0] == 0 if min(finals) >= 0 else axes.get_ylim()[0] < lowest


def test_many_policies_are_told_apart():
    styles = [tuple(style.line_style(place).values()) for place in range(len(style.COLOURS) * len(style.DASHES))]
    assert len(set(styles)) == len(styles)


def test_long_names_leave_room_for_the_axes():
    dataset = dataset_of([1.0, 2.0]).assign_coords(policy=["short", ", ".join(f"a{j}=0.12345" for j in range(20))])
    figure = figures.regret_figure(dataset)
    figure.savefig(io.BytesIO(), format="png")  # arranges the figure
    assert figure.axes[0].get_position().width > 0.5


@pytest.mark.parametrize(("form", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
@pytest.mark.parametrize("runs", [1, 5])
def test_formats(form, start, runs):
    file = io.BytesIO()
    figures.regret_figure(dataset_of([1.0, 50.0], runs).isel(round=[-1])).savefig(file, format=form)
    assert file.getvalue().startswith(start)


def test_no_pyplot_and_no_display():
    code = "import rotting._output.style, sys; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (25000, "25\u2009000"), (0.25, "0.25"), (-1500, "-1\u2009500")])
def test_thousands(number, text):
    assert style.with_thousands(number) == text


def test_names_are_shown_as_they_are():
    policies = {"$a$ and $b$": rotting.UCB1(), "costs $^$": rotting.Uniform(), "_mine": rotting.Oracle()}
    problem = dataclasses.replace(rotting.problems.two_arm(L=2.0), name="$c$ and $_$")
    figure = figures.regret_figure(rotting.simulate(policies, problem, horizon=20, runs=2))
    shown = {text.get_text() for text in figure.legends[0].get_texts()}
    assert shown == {r"\$a\$ and \$b\$", r"costs \$^\$", "_mine"}
    assert figure.axes[0].get_title(loc="left") == r"\$c\$ and \$_\$, 2 runs"
    figure.savefig(io.BytesIO(), format="png")  # "$_$" is no formula: parsed as one, it would be refused


def test_dollars_in_a_shared_legend():
    figure = style.new_figure(4, 3)
    axes = figure.add_subplot()
    axes.plot([0, 1], label="$a$ and $_$")
    style.shared_legend(figure, axes)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [r"\$a\$ and \$_\$"]
    figure.savefig(io.BytesIO(), format="png")


def test_a_name_is_wrapped_before_it_is_escaped():
    assert style.wrapped("$" * 5, 2) == "\\$\\$\n\\$\\$\n\\$"
