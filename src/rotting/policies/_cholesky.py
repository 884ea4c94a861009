"""Small linear systems, in kernels that allocate nothing."""

from __future__ import annotations

import math

from rotting._core.compiling import helper


@helper
def factorise(matrix, factor):
    """Write the lower triangular L with L L' = `matrix` (symmetric, positive definite) to `factor`."""
    for row in range(len(matrix)):
        for column in range(row + 1):
            left = matrix[row, column]
            for k in range(column):
                left -= factor[row, k] * factor[column, k]
            factor[row, column] = math.sqrt(left) if row == column else left / factor[column, column]


@helper
def solve_lower(factor, vector):
    """Replace `vector` by the solution of L z = vector."""
    for row in range(len(vector)):
        for k in range(row):
            vector[row] -= factor[row, k] * vector[k]
        vector[row] /= factor[row, row]


@helper
def solve_upper(factor, vector):
    """Replace `vector` by the solution of L' z = vector."""
    for row in range(len(vector) - 1, -1, -1):
        for k in range(row + 1, len(vector)):
            vector[row] -= factor[k, row] * vector[k]
        vector[row] /= factor[row, row]
