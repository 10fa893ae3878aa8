"""The line between two points that lie level in a face that stands upright, such as the corners of a mouth."""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Points


def level_line(left: Points, right: Points) -> tuple[Points, Points, float]:
    """The directions (2,) along the line from one point to another and down from it, and its length; 1 where it has
    none."""
    across = right - left
    length = float(np.hypot(*across)) or 1.0
    along = across / length
    return along, np.array([-along[1], along[0]]), length
