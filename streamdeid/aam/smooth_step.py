"""The smooth step: a function that rises from 0 to 1 without a corner at either end."""

from __future__ import annotations

from typing import Any

import numpy as np


def smooth_step(t: Any) -> Any:
    """0 below 0, 1 above 1 and smooth between, for a number or each entry of an array; the array's dtype stays."""
    t = np.clip(t, 0, 1)
    return t * t * (3 - 2 * t)
