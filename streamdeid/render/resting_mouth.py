"""The mouth of a surrogate at rest: its corners do not hang (docs/methods.md 4.0 step 2).

Most faces photographed for science look stern: the corners of the mouth lie below the line between the lips, and
means of them as well. People who are filmed talk and smile: in half of their frames the corners lie above that line. A
stern surrogate therefore shows a frown that nobody made, and a slight smile only lifts it to a straight line.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.piecewise_affine import Points
from streamdeid.core.ibug68 import MOUTH, MOUTH_CORNERS

_INNER_UPPER, _INNER_LOWER = 62, 66
"""Middle of the inner lips."""
_LOWEST = 0.01
"""Height of the corners over the middle of the inner lips, a share of the mouth's width, that a surrogate has at least.
In bank faces it is -.04 in the median and down to -.16. Of 16 people on clips the median of all frames is +.01."""


def with_corners_up(shape: Points) -> Points:
    """A surrogate's shape at rest (81, 2) with corners of the mouth no lower than `_LOWEST`; the same array where they
    are not. The lips bend with them: by the square of the distance from the middle, which stays where it is."""
    left, right = (shape[i] for i in MOUTH_CORNERS)
    along = right - left
    width = float(np.hypot(*along)) or 1.0
    along = along / width
    down = np.array([-along[1], along[0]])
    middle = (shape[_INNER_UPPER] + shape[_INNER_LOWER]) / 2
    missing = _LOWEST - float((middle - (left + right) / 2) @ down) / width
    if missing <= 0:
        return shape
    lips = shape[MOUTH]
    share = np.clip(2 * ((lips - middle) @ along) / width, -1, 1) ** 2
    up = shape.copy()
    up[MOUTH] = lips - (missing * width * share)[:, None] * down
    return up
