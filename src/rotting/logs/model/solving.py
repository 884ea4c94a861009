"""Least squares with penalties, for many penalties at once: a small common part, and two parameters of each arm.

The matrix of the normal equations has a block of two parameters for every arm, none between arms, and a small common
part; the blocks are eliminated first (Schur complement), so the work grows with the number of arms, not with its cube.
Arrays have the axes b (members of the grid), r (rows), a (arms), i and j (level and speed), g and h (common).
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from rotting.logs.model.panel import Panel

STEPS, ENOUGH = 6, 1e-3
LARGEST_STEP = 2.0
HIGHEST_LOGARITHM = 8.0
# Rows that are multiplied at a time. Above this BLAS would split so narrow a product among threads, which takes ten
# times the processor time, and longer, too.
ROWS_AT_ONCE = 512


@dataclasses.dataclass(frozen=True)
class Design:
    """Columns, and the penalties (prior precisions) of their coefficients for each member of a grid."""

    common: np.ndarray  # [row, global]
    own: np.ndarray  # [row, 2]
    penalty: np.ndarray  # [member, global]
    own_penalty: np.ndarray  # [member, 2]
    prior: np.ndarray  # of each member

    def of_members(self, chosen: np.ndarray) -> Design:
        """Return the design with some of the members."""
        own_penalty = self.own_penalty[chosen]
        return Design(self.common, self.own, self.penalty[chosen], own_penalty, self.prior[chosen])

    @property
    def log_prior(self) -> np.ndarray:
        """The logarithms of determinants of the priors' precisions: of what is common, and of each arm."""
        return np.stack([np.log(self.penalty).sum(axis=1), np.log(self.own_penalty).sum(axis=1)])


@dataclasses.dataclass(frozen=True)
class Eliminated:
    """Normal equations whose blocks of arms are eliminated."""

    blocks: np.ndarray  # [member, arm, 2, 2]
    inverse: np.ndarray  # of the blocks
    back: np.ndarray  # [member, arm, 2, global]: the inverse times what links an arm to the common part
    schur: np.ndarray  # [member, global, global]
    schur_inverse: np.ndarray

    def solved(self, common: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the solution for right-hand sides [member, global] and [member, arm, 2]."""
        rest = common - np.einsum("baig,bai->bg", self.back, own)
        first = np.einsum("bgh,bh->bg", self.schur_inverse, rest)
        return first, np.einsum("baij,baj->bai", self.inverse, own) - np.einsum("baig,bg->bai", self.back, first)

    def log_determinant(self) -> np.ndarray:
        """The logarithm of the determinant of the whole matrix, for each member."""
        return np.asarray(np.linalg.slogdet(self.blocks)[1].sum(axis=1) + np.linalg.slogdet(self.schur)[1])


def eliminate(design: Design, importance: np.ndarray, first: np.ndarray) -> Eliminated:
    """Return the normal equations for weights [member, row] (or [1, row], the same for all members)."""
    common, own = design.common, design.own
    weighted = importance[:, :, None] * common
    together = _products(weighted, common) + diagonals(design.penalty)
    level = np.add.reduceat(weighted, first, axis=1)
    weighted *= own[:, 1, None]
    links = np.stack([level, np.add.reduceat(weighted, first, axis=1)], axis=2)  # the first own column is 1
    moments = [np.add.reduceat(importance * own[:, 1] ** power, first, axis=1) for power in range(3)]
    blocks = np.stack([np.stack(moments[:2], axis=-1), np.stack(moments[1:], axis=-1)], axis=-2)
    blocks = blocks + diagonals(design.own_penalty)[:, None]
    inverse = _inverse_of_pairs(blocks)
    back = inverse @ links
    members, arms, _, size = back.shape
    flat = (members, 2 * arms, size)
    schur = together - _products(np.broadcast_to(links, back.shape).reshape(flat), back.reshape(flat))
    return Eliminated(blocks, inverse, back, schur, np.linalg.inv(schur))


def _products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the products [member, g, h] of columns of left [member, row, g] and right [(member,) row, h].

    >>> _products(np.ones((1, 1300, 1)), np.ones((1300, 2)))
    array([[[1300., 1300.]]])
    """
    transposed = np.swapaxes(left, 1, 2)
    total = np.zeros((*transposed.shape[:2], right.shape[-1]))
    for first in range(0, left.shape[1], ROWS_AT_ONCE):
        some = slice(first, first + ROWS_AT_ONCE)
        total += transposed[:, :, some] @ right[..., some, :]
    return total


def _inverse_of_pairs(blocks: np.ndarray) -> np.ndarray:
    """Return the inverses of symmetric matrices of size 2: far faster than a general routine."""
    a, b, d = blocks[..., 0, 0], blocks[..., 0, 1], blocks[..., 1, 1]
    determinant = a * d - b * b
    adjugate = np.stack([np.stack([d, -b], axis=-1), np.stack([-b, a], axis=-1)], axis=-2)
    return np.asarray(adjugate / determinant[..., None, None])


def diagonals(values: np.ndarray) -> np.ndarray:
    """Return diagonal matrices."""
    return np.asarray(values[..., None] * np.eye(values.shape[-1]))


@dataclasses.dataclass(frozen=True)
class Solution:
    """Parameters at the mode, their covariances there, and the evidence, for each member."""

    evidence: np.ndarray  # [member]: logarithm, by Laplace's approximation
    value: np.ndarray  # [member, row]
    importance: np.ndarray  # [member, row]: the weights of least squares
    common: np.ndarray  # [member, global]
    own: np.ndarray  # [member, arm, 2]
    equations: Eliminated  # at the mode

    @property
    def common_cov(self) -> np.ndarray:
        """The covariances of what is common, as [member, global, global]."""
        return self.equations.schur_inverse

    @functools.cached_property
    def cross_cov(self) -> np.ndarray:
        """The covariances of levels and speeds with what is common, as [member, arm, 2, global]."""
        return np.asarray(-(self.equations.back @ self.equations.schur_inverse[:, None]))

    @functools.cached_property
    def own_cov(self) -> np.ndarray:
        """The covariances of levels and speeds, as [member, arm, 2, 2]."""
        return np.asarray(self.equations.inverse - self.cross_cov @ np.swapaxes(self.equations.back, 2, 3))

    def draw(self, member: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return parameters of one member, common and of the arms, drawn together.

        Given what is common, arms are independent: their means move with it, and the inverses of their blocks are
        their covariances.
        """
        common = generator.multivariate_normal(self.common[member], self.common_cov[member], method="eigh")
        mean = self.own[member] - self.equations.back[member] @ (common - self.common[member])
        root = np.linalg.cholesky(self.equations.inverse[member])
        return common, mean + (root @ generator.standard_normal((*mean.shape, 1)))[..., 0]


def solve(panel: Panel, design: Design, start: Solution | None = None) -> Solution:
    """Return the most likely parameters of every member, by Newton's method (Gauss-Newton, with bounded steps).

    `start` is the solution of a similar problem, from which fewer steps are needed.
    """
    information = panel.count / panel.variance
    if start is not None and start.common.shape == design.penalty.shape:
        theta, local = start.common.copy(), start.own.copy()
    else:
        theta = np.zeros(design.penalty.shape)
        local = _first_guess(panel, design, information)
    for step in range(STEPS + 1):
        value, slope = _values(panel, design, theta, local)
        importance = information * slope**2
        equations = eliminate(design, importance, panel.first)
        if step == STEPS:
            break
        moment = importance * ((panel.mean - value) / slope)
        gradient = _products(moment[:, :, None], design.common)[:, 0] - design.penalty * theta
        own_gradient = [np.add.reduceat(moment * design.own[:, i], panel.first, axis=1) for i in (0, 1)]
        move, own_move = equations.solved(
            gradient, np.stack(own_gradient, axis=2) - design.own_penalty[:, None] * local
        )
        largest = np.maximum(np.abs(move).max(axis=1), np.abs(own_move).max(axis=(1, 2)))
        if largest.max() < ENOUGH:
            break
        damping = np.minimum(1.0, LARGEST_STEP / largest)
        theta += damping[:, None] * move
        local += damping[:, None, None] * own_move
    loss = information @ np.square(panel.mean - value).T
    loss += (design.penalty * theta**2).sum(axis=1) + (design.own_penalty[:, None] * local**2).sum(axis=(1, 2))
    common_prior, own_prior = design.log_prior
    evidence = 0.5 * (common_prior + panel.arms * own_prior - equations.log_determinant() - loss)
    return Solution(evidence, value, importance, theta, local, equations)


def _first_guess(panel: Panel, design: Design, information: np.ndarray) -> np.ndarray:
    """Return levels of arms as far as they may differ: nearer to the solution than none, for few steps."""
    local = np.zeros((len(design.penalty), panel.arms, 2))
    weight = np.add.reduceat(information, panel.first)
    mean = np.add.reduceat(information * panel.mean / panel.expected, panel.first) / weight
    level = np.log(np.clip(mean, 0.1, 10.0)) if panel.multiplicative else mean - 1
    local[:, :, 0] = level * weight / (weight + design.own_penalty[:, :1])
    return local


def _values(panel: Panel, design: Design, theta: np.ndarray, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of rows, and how they change with the linear predictor."""
    known = np.log(panel.expected) if panel.multiplicative else panel.expected - 1
    each = local[:, panel.arm]
    u = known + theta @ design.common.T + each[:, :, 0] + each[:, :, 1] * design.own[:, 1]
    if not panel.multiplicative:
        return 1 + u, np.ones_like(u)
    value = np.exp(np.minimum(u, HIGHEST_LOGARITHM))
    return value, value
