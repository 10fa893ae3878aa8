"""The inside of an open mouth: the original's pixels, moved into the surrogate's lips (docs/methods.md 4.0 step 5).

This is the one exception to non-interference that holds by default: teeth and tongue of the original are shown.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Points
from streamdeid.core.frames import Planes
from streamdeid.render.copied_pixels import copy_polygon

_CLOSED = 0.03
"""Opening over width below which a mouth is closed; the inside fades in up to twice that."""


def render_mouth(patch: Patch, planes: Planes, lips: Points, laid: Points, share: float = 1.0) -> None:
    """Render the inside of the original's inner lips (8, 2) between the new ones (8, 2), in pixels of the picture.

    share: opacity of the inside, 0 to 1.
    """
    width = float(np.linalg.norm(lips[4] - lips[0]))
    opening = float(np.linalg.norm(lips[1:4] - lips[:4:-1], axis=1).max())
    strength = min(1.0, (opening / max(width, 1e-6) - _CLOSED) / _CLOSED)
    if strength > 0:
        copy_polygon(patch, planes, lips, laid, share * strength)
