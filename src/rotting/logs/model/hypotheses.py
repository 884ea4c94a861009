"""One model of a log: the levels of arms, how they fall along an axis, and what all arms share over time.

The value of arm a in a row of the panel is exp(u) (or 1 + u where effects add up), with

    u = m + d_a - (b + e_a) s(z) + sum_k c_k B_k(t),    d_a ~ N(0, level_spread^2), e_a ~ N(0, speed_spread^2),

where z is the axis (exposures, age or calendar time), s a shape that grows from 0 to 1, and the hat functions B_k are
changes over time that all arms share, c_k ~ N(0, shared_spread^2). Rewards around the value have a known variance.
For given spreads this is least squares with a penalty; the evidence is Laplace's approximation. The spreads are not
estimated: everything is averaged over a grid of them, which is kinder to small logs. All members of the grid are
fitted at once (solving.py).
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from rotting.logs.model.panel import Panel
from rotting.logs.model.solving import Design, Solution, solve

# The grids, in units of the logarithm of a value, with prior probabilities. The least spread means "all alike".
LEVEL_SPREADS = {0.0003: 0.1, 0.04: 0.2, 0.1: 0.2, 0.2: 0.2, 0.4: 0.2, 1.0: 0.1}
SPEED_SPREADS = {0.03: 0.35, 0.2: 0.4, 0.7: 0.25}
SHARED_SPREADS = {0.01: 0.6, 0.1: 0.3, 0.3: 0.1}
HATS = 16
# So many arms tell by themselves how they differ: a coarser grid will do, and members of it that are hopeless for the
# most shown of these arms are left out.
MANY_ARMS, HOPELESS = 60, 1e-3
# Prior standard deviation of the common fall over the whole axis.
FALL_SPREAD = 1.0


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """What the values follow: an axis with a shape, and perhaps a common trend beside it."""

    axis: str  # "exposure", "age" or "time"
    shape: float  # see `shaped`
    trend: bool = False


def shaped(z: np.ndarray, shape: float) -> np.ndarray:
    """Return how far a fall has gone at z, 1 at z = 1: proportional to z, or saturating at about z = shape.

    A negative shape falls at the end of z = 0 to 1 instead of the beginning.

    >>> shaped(np.array([0.0, 0.5, 1.0]), np.inf), shaped(np.array([0.0, 0.5, 1.0]), 0.1).round(3)
    (array([0. , 0.5, 1. ]), array([0.   , 0.993, 1.   ]))
    """
    if np.isinf(shape):
        return z
    return np.asarray(np.expm1(-z / shape) / np.expm1(-1 / shape))


def hats(time: np.ndarray) -> np.ndarray:
    """Return hat functions of time, as [row, hat]."""
    centres = np.linspace(0, 1, HATS)
    return np.asarray(np.maximum(0.0, 1 - np.abs(time[:, None] - centres) * (HATS - 1)))


@dataclasses.dataclass(frozen=True)
class Fit:
    """A hypothesis fitted on the grid of spreads. Global parameters are m, b, (the trend,) and the hats."""

    hypothesis: Hypothesis
    weight: np.ndarray  # of each member of the grid, given the hypothesis
    log_evidence: float
    design: Design
    solution: Solution

    @property
    def value(self) -> np.ndarray:
        """The fitted values, as [member, row]."""
        return self.solution.value

    @property
    def common(self) -> np.ndarray:
        """The global parameters, as [member, global]."""
        return self.solution.common

    @property
    def own(self) -> np.ndarray:
        """Levels and speeds of arms, as [member, arm, 2]."""
        return self.solution.own

    @property
    def speed_precision(self) -> np.ndarray:
        """What is assumed about the speeds of arms, for each member."""
        return self.design.own_penalty[:, 1]

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the total fall b + e_a of each arm and its variance, as [member, arm]."""
        found = self.solution
        mean = found.common[:, 1, None] + found.own[:, :, 1]
        spread = found.common_cov[:, 1, 1, None] + found.own_cov[:, :, 1, 1] + 2 * found.cross_cov[:, :, 1, 1]
        return mean, spread

    def own_z(self) -> np.ndarray:
        """Return, for each arm, the fall in standard errors if nothing were assumed about its own speed."""
        q = self.speed_precision[:, None]
        own, var = self.own[:, :, 1], self.solution.own_cov[:, :, 1, 1]
        rest = np.maximum(1 - q * var, 1e-9)
        total, spread = self.slopes()
        to_total = self.solution.cross_cov[:, :, 1, 1] + var  # covariance of e_a with b + e_a
        freed = total + q * to_total * own / rest
        freed_var = spread + q * to_total**2 / rest
        return np.asarray(freed / np.sqrt(freed_var))

    def relative_z(self) -> np.ndarray:
        """Return, for each arm, how much faster than all together it falls, in standard errors, likewise."""
        variance = self.solution.own_cov[:, :, 1, 1]
        rest = np.maximum(1 - self.speed_precision[:, None] * variance, 1e-9)
        return np.asarray(self.own[:, :, 1] / np.sqrt(variance * rest))

    def added_z(self, panel: Panel, column: np.ndarray) -> np.ndarray:
        """Return, for each arm, the score test of a fall along another column, which the hypothesis does not have."""
        first, found, design = panel.first, self.solution, self.design
        residual = (panel.mean - self.value) * (1.0 if not panel.multiplicative else 1 / self.value)
        q = -column
        score = np.add.reduceat(found.importance * residual * q, first, axis=1)
        square = np.add.reduceat(found.importance * q**2, first, axis=1)
        weighted = found.importance * q
        with_own = np.add.reduceat(weighted[:, :, None] * design.own, first, axis=1)
        with_common = np.add.reduceat(weighted[:, :, None] * design.common, first, axis=1)
        lost = np.einsum("bai,baij,baj->ba", with_own, found.own_cov, with_own)
        lost += np.einsum("bag,bgh,bah->ba", with_common, found.common_cov, with_common)
        lost += 2 * np.einsum("bai,baig,bag->ba", with_own, found.cross_cov, with_common)
        return np.asarray(score / np.sqrt(np.maximum(square - lost, 1e-9 * square + 1e-300)))


def fit(panel: Panel, hypothesis: Hypothesis, start: Fit | None = None) -> Fit:
    """Fit one hypothesis on the grid of spreads, from the fit to a similar panel if there is one."""
    design = make_design(panel, hypothesis)
    if panel.arms >= MANY_ARMS:
        some = panel.of_arms(MANY_ARMS)
        weight = _fitted(some, hypothesis, make_design(some, hypothesis)).weight
        design = design.of_members(weight > HOPELESS)
        return _fitted(panel, hypothesis, design)  # of other members, perhaps: the start is of no use
    return _fitted(panel, hypothesis, design, start)


def _fitted(panel: Panel, hypothesis: Hypothesis, design: Design, start: Fit | None = None) -> Fit:
    solution = solve(panel, design, None if start is None else start.solution)
    evidence = solution.evidence + np.log(design.prior)
    highest = evidence.max()
    weight = np.exp(evidence - highest)
    return Fit(hypothesis, weight / weight.sum(), float(highest + np.log(weight.sum())), design, solution)


def make_design(panel: Panel, hypothesis: Hypothesis) -> Design:
    """Return the columns of a hypothesis, and the grid of what is assumed about their coefficients."""
    column = axis_column(panel, hypothesis)
    columns = [np.ones_like(column), -column]
    precision_of = [1e-4, 1 / FALL_SPREAD**2]
    if hypothesis.trend:
        columns.append(-(panel.time - 0.5))
        precision_of.append(1 / FALL_SPREAD**2)
    # What is shared by all arms makes them fall alike, or nearly.
    speeds = {min(SPEED_SPREADS): 1.0} if hypothesis.axis == "time" else SPEED_SPREADS
    shares = SHARED_SPREADS if panel.arms < MANY_ARMS else dict(list(SHARED_SPREADS.items())[:2])
    members = list(itertools.product(LEVEL_SPREADS, speeds, shares))
    level, speed, shared = np.array(members).T
    fixed = np.tile(precision_of, (len(members), 1))
    return Design(
        common=np.column_stack([*columns, hats(panel.time)]),
        own=np.column_stack([np.ones_like(column), -column]),
        penalty=np.concatenate([fixed, np.repeat(1 / shared[:, None] ** 2, HATS, axis=1)], axis=1),
        own_penalty=np.stack([1 / level**2, 1 / speed**2], axis=1),
        prior=np.array([LEVEL_SPREADS[one] * speeds[two] * shares[three] for one, two, three in members]),
    )


def axis_column(panel: Panel, hypothesis: Hypothesis) -> np.ndarray:
    """Return how far the fall along the hypothesis' axis has gone in each row."""
    z = {
        "exposure": panel.exposure / panel.typical_exposures,
        "age": panel.age / panel.typical_age,
        "time": panel.time,
    }[hypothesis.axis]
    return shaped(z, hypothesis.shape)
