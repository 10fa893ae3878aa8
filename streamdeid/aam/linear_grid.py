"""Values of a coarse grid between its places: soft values are computed at few places and interpolated at many.

A grid is spread over the same rectangle as the picture it belongs to, cell by cell, as in OpenCV's linear resizing; its
border is repeated outside. The functions are for other kernels: no array of the size of the picture is made.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.kernel_cache import kernel


@kernel
def places_between(few, many):  # type: ignore[no-untyped-def]
    """Where `many` places along a line lie between `few` others that are spread over it: uint32 (many,), the number of
    the place of the few before each, and float32 (many,), the share of the way from there to the next of the few."""
    before, share = np.empty(many, np.uint32), np.empty(many, np.float32)
    for k in range(many):
        at = min(max((k + 0.5) * few / many - 0.5, 0.0), few - 1.0)
        before[k] = np.uint32(min(int(at), max(few - 2, 0)))
        share[k] = np.float32(at - before[k])
    return before, share


@kernel
def line_between(grid, row, share, before, ahead, few, out):  # type: ignore[no-untyped-def]
    """Write a line of a grid (gh, gw), at a share of the way from a row to the next, into out (w,). before and ahead
    (w,) are the places of `places_between`. few (gw,) is overwritten."""
    below = min(row + 1, grid.shape[0] - 1)
    for column in range(grid.shape[1]):
        few[column] = grid[row, column] + share * (grid[below, column] - grid[row, column])
    last = np.uint32(grid.shape[1] - 1)
    for x in range(len(out)):
        k = before[x]
        out[x] = few[k] + ahead[x] * (few[min(k + np.uint32(1), last)] - few[k])
