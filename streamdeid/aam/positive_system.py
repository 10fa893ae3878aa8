"""A small symmetric, positive system of equations, for kernels: numba compiles no `np.linalg` without scipy."""

from __future__ import annotations

import numpy as np

from streamdeid.core.kernel_cache import kernel


@kernel
def solved(matrix, right):  # type: ignore[no-untyped-def]
    """Solution of a symmetric, positive system (q, q), (q,), by Cholesky's method, in place; nan when the system is not
    positive."""
    q = len(right)
    for j in range(q):
        for k in range(j):
            matrix[j, j] -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = np.sqrt(matrix[j, j]) if matrix[j, j] > 0 else np.nan
        for i in range(j + 1, q):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k]
            matrix[i, j] /= matrix[j, j]
    for j in range(q):
        for k in range(j):
            right[j] -= matrix[j, k] * right[k]
        right[j] /= matrix[j, j]
    for j in range(q - 1, -1, -1):
        for k in range(j + 1, q):
            right[j] -= matrix[k, j] * right[k]
        right[j] /= matrix[j, j]
    return right
