"""One model of a log: the levels of arms, how they fall along an axis, and what all arms share over time.

The value of arm a in a row of the panel is exp(u) (or 1 + u where effects add up), with

    u = m + d_a - (b + e_a) s(z) + sum_k c_k B_k(t),    d_a ~ N(0, level_spread^2), e_a ~ N(0, speed_spread^2),

where z is the axis (exposures, age or calendar time), s a shape that grows from 0 to 1, and the hat functions B_k are
changes over time that all arms share, c_k ~ N(0, shared_spread^2). Rewards around the value have a known variance.
For given spreads this is least squares with a penalty; the evidence is Laplace's approximation. The spreads are not
estimated: everything is averaged over a grid of them, which is kinder to small logs. All members of the grid are
fitted at once.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from rotting.logs.panel import Panel

# The grids, in units of the logarithm of a value, with prior probabilities.
LEVEL_SPREADS = {0.03: 0.25, 0.1: 0.25, 0.3: 0.25, 1.0: 0.25}
SPEED_SPREADS = {0.03: 0.5, 0.2: 0.3, 0.7: 0.2}
SHARED_SPREADS = {0.01: 0.6, 0.1: 0.3, 0.3: 0.1}
HATS = 16
STEPS, ENOUGH = 5, 1e-3
# So many arms tell by themselves how they differ: a coarser grid will do.
MANY_ARMS = 60
LARGEST_STEP = 2.0
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
    value: np.ndarray  # [member, row]
    common: np.ndarray  # [member, global]
    own: np.ndarray  # [member, arm, 2]: level and speed
    common_cov: np.ndarray  # [member, global, global]
    own_cov: np.ndarray  # [member, arm, 2, 2]
    cross_cov: np.ndarray  # [member, arm, 2, global]
    speed_precision: np.ndarray  # [member]
    design: np.ndarray  # [row, global]
    own_design: np.ndarray  # [row, 2]
    importance: np.ndarray  # [member, row]: the weights of least squares

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the total fall b + e_a of each arm and its variance, as [member, arm]."""
        mean = self.common[:, 1, None] + self.own[:, :, 1]
        spread = self.common_cov[:, 1, 1, None] + self.own_cov[:, :, 1, 1] + 2 * self.cross_cov[:, :, 1, 1]
        return mean, spread

    def own_z(self) -> np.ndarray:
        """Return, for each arm, the fall in standard errors if nothing were assumed about its own speed."""
        q = self.speed_precision[:, None]
        own, var = self.own[:, :, 1], self.own_cov[:, :, 1, 1]
        rest = np.maximum(1 - q * var, 1e-9)
        total, spread = self.slopes()
        to_total = self.cross_cov[:, :, 1, 1] + var  # covariance of e_a with b + e_a
        freed = total + q * to_total * own / rest
        freed_var = spread + q * to_total**2 / rest
        return np.asarray(freed / np.sqrt(freed_var))

    def relative_z(self) -> np.ndarray:
        """Return, for each arm, how much faster than all together it falls, in standard errors, likewise."""
        variance = self.own_cov[:, :, 1, 1]
        rest = np.maximum(1 - self.speed_precision[:, None] * variance, 1e-9)
        return np.asarray(self.own[:, :, 1] / np.sqrt(variance * rest))

    def added_z(self, panel: Panel, column: np.ndarray) -> np.ndarray:
        """Return, for each arm, the score test of a fall along another column, which the hypothesis does not have."""
        first = panel.first
        residual = (panel.mean - self.value) * (1.0 if not panel.multiplicative else 1 / self.value)
        q = -column
        score = np.add.reduceat(self.importance * residual * q, first, axis=1)
        square = np.add.reduceat(self.importance * q**2, first, axis=1)
        weighted = self.importance * q
        with_own = np.add.reduceat(weighted[:, :, None] * self.own_design, first, axis=1)
        with_common = np.add.reduceat(weighted[:, :, None] * self.design, first, axis=1)
        lost = np.einsum("bai,baij,baj->ba", with_own, self.own_cov, with_own)
        lost += np.einsum("bag,bgh,bah->ba", with_common, self.common_cov, with_common)
        lost += 2 * np.einsum("bai,baig,bag->ba", with_own, self.cross_cov, with_common)
        return np.asarray(score / np.sqrt(np.maximum(square - lost, 1e-9 * square + 1e-300)))


def fit(panel: Panel, hypothesis: Hypothesis) -> Fit:
    """Fit one hypothesis on the grid of spreads."""
    column = axis_column(panel, hypothesis)
    design = [np.ones_like(column), -column]
    precision_of = [1e-4, 1 / FALL_SPREAD**2]
    if hypothesis.trend:
        design.append(-(panel.time - 0.5))
        precision_of.append(1 / FALL_SPREAD**2)
    common = np.column_stack([*design, hats(panel.time)])
    own = np.column_stack([np.ones_like(column), -column])
    # What is shared by all arms makes them fall alike, or nearly.
    speeds = {min(SPEED_SPREADS): 1.0} if hypothesis.axis == "time" else SPEED_SPREADS
    shares = SHARED_SPREADS if panel.arms < MANY_ARMS else dict(list(SHARED_SPREADS.items())[:2])
    members = list(itertools.product(LEVEL_SPREADS, speeds, shares))
    level, speed, shared = np.array(members).T
    prior = np.array([LEVEL_SPREADS[one] * speeds[two] * shares[three] for one, two, three in members])
    fixed = np.tile(precision_of, (len(members), 1))
    penalty = np.concatenate([fixed, np.repeat(1 / shared[:, None] ** 2, HATS, axis=1)], axis=1)
    own_penalty = np.stack([1 / level**2, 1 / speed**2], axis=1)
    return _solve(panel, hypothesis, common, own, penalty, own_penalty, prior)


def axis_column(panel: Panel, hypothesis: Hypothesis) -> np.ndarray:
    """Return how far the fall along the hypothesis' axis has gone in each row."""
    z = {
        "exposure": panel.exposure / panel.typical_exposures,
        "age": panel.age / panel.typical_age,
        "time": panel.time,
    }[hypothesis.axis]
    return shaped(z, hypothesis.shape)


def _solve(
    panel: Panel,
    hypothesis: Hypothesis,
    common: np.ndarray,
    own: np.ndarray,
    penalty: np.ndarray,
    own_penalty: np.ndarray,
    member_prior: np.ndarray,
) -> Fit:
    members, first = len(penalty), panel.first
    theta = np.zeros((members, common.shape[1]))
    local = np.zeros((members, panel.arms, 2))
    information = panel.count / panel.variance
    known = np.log(panel.expected) if panel.multiplicative else panel.expected - 1
    moved = np.inf
    for step in range(STEPS + 1):
        u = known + theta @ common.T + np.einsum("bri,ri->br", local[:, panel.arm], own)
        value = np.exp(np.minimum(u, 8.0)) if panel.multiplicative else 1 + u
        slope = value if panel.multiplicative else np.ones_like(value)
        importance = information * slope**2
        residual = (panel.mean - value) / slope
        weighted = importance[:, :, None] * common
        gg = np.swapaxes(weighted, 1, 2) @ common + _diagonals(penalty)
        lg = np.stack([np.add.reduceat(weighted * own[:, i, None], first, axis=1) for i in (0, 1)], axis=2)
        ll = np.empty((members, panel.arms, 2, 2))
        for i in (0, 1):
            for j in (0, 1):
                ll[:, :, i, j] = np.add.reduceat(importance * own[:, i] * own[:, j], first, axis=1)
        ll += _diagonals(own_penalty)[:, None]
        inverse = np.linalg.inv(ll)
        back = inverse @ lg  # [b, a, 2, g]
        schur = gg - np.einsum("baig,baih->bgh", lg, back)
        schur_inverse = np.linalg.inv(schur)
        if step == STEPS or moved < ENOUGH:
            break
        g = np.einsum("br,rg->bg", importance * residual, common) - penalty * theta
        moment = importance * residual
        local_g = np.stack([np.add.reduceat(moment * own[:, i], first, axis=1) for i in (0, 1)], axis=2)
        local_g -= own_penalty[:, None] * local
        move = np.einsum("bgh,bh->bg", schur_inverse, g - np.einsum("baig,bai->bg", back, local_g))
        local_move = np.einsum("baij,baj->bai", inverse, local_g) - np.einsum("baig,bg->bai", back, move)
        largest = np.maximum(np.abs(move).max(axis=1), np.abs(local_move).max(axis=(1, 2)))
        damping = np.minimum(1.0, LARGEST_STEP / np.maximum(largest, 1e-12))
        theta += damping[:, None] * move
        local += damping[:, None, None] * local_move
        moved = float(largest.max())
    loss = (information * (panel.mean - value) ** 2).sum(axis=1)
    loss += (penalty * theta**2).sum(axis=1) + (own_penalty[:, None] * local**2).sum(axis=(1, 2))
    prior = np.log(penalty).sum(axis=1) + panel.arms * np.log(own_penalty).sum(axis=1)
    posterior = np.linalg.slogdet(ll)[1].sum(axis=1) + np.linalg.slogdet(schur)[1]
    evidence = 0.5 * (prior - posterior - loss) + np.log(member_prior)
    highest = evidence.max()
    weight = np.exp(evidence - highest)
    cross = -np.einsum("baig,bgh->baih", back, schur_inverse)
    return Fit(
        hypothesis=hypothesis,
        weight=weight / weight.sum(),
        log_evidence=float(highest + np.log(weight.sum())),
        value=value,
        common=theta,
        own=local,
        common_cov=schur_inverse,
        own_cov=inverse + np.einsum("baig,bajg->baij", -cross, back),
        cross_cov=cross,
        speed_precision=own_penalty[:, 1],
        design=common,
        own_design=own,
        importance=importance,
    )


def _diagonals(values: np.ndarray) -> np.ndarray:
    return values[..., None] * np.eye(values.shape[-1])
