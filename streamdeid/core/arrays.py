"""The types of arrays that many files use, each under one name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, pixels."""
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Rows = NDArray[np.intp]
"""Numbers of rows or columns of another array."""
Points = NDArray[np.float64]
"""(n, 2) or (n, 3), mostly: places, or values that are computed with like places."""
Triangles = NDArray[np.int32]
"""(t, 3): numbers of their corners."""
Vector = NDArray[np.float64]
"""(d,): a face in a space of faces."""
Vectors = NDArray[np.float64]
"""(n, d)"""
Pixels = NDArray[np.float32]
"""(h, w), (h, w, c), or (n, c) of chosen pixels: grey levels, weights, or logarithms of them."""
Picture = NDArray[np.uint8]
"""(h, w, 3): RGB, unless it is said otherwise."""
Plane = NDArray[np.uint8]
"""(h, w): one plane of a picture."""
