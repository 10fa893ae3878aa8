"""The types that many files speak of: a box, and an array of floating-point numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, pixels."""
Floats = NDArray[np.float64]
