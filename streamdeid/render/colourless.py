"""A picture without colours, as of an infrared camera, gets a face without colours.

Lips are redder than skin on every surrogate, and irises have their colours: in a picture of greys they are the only
ones.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.synthesise import Mask, Patch
from streamdeid.core.arrays import Floats
from streamdeid.core.frames import Planes

_NONE, _SOME = 0.3, 0.6
"""Standard deviation of U and V about a face, grey levels: up to the first there are no colours, from the second on
they are as they are. Encoded greys have 0. Of 2,000 faces of ten clips, dark audiences and distant people among them,
the least has 0.49 and one in a hundred below 0.6."""


def without_colours(patch: Patch, original: Planes, beside: Mask) -> float:
    """Give a patch the mean chroma of the picture beside what is rendered if that has no colours there, in place.

    beside: uint8 (ceil(h / 2), ceil(w / 2)), 1 where the picture may be looked at: nothing of the face inside. Where
    that is nowhere, nothing changes. Returns the share of the colours that was taken away.
    """
    height, width = patch.covered.shape
    x, y = patch.x0 // 2, patch.y0 // 2
    if not beside.any():
        return 0.0
    planes = [plane[y : y + height, x : x + width][beside > 0] for plane in (original.u, original.v)]
    spread = max(float(plane.std()) for plane in planes)
    share = np.float32(np.clip((_SOME - spread) / (_SOME - _NONE), 0, 1))
    if share > 0:
        mean: Floats = np.array([plane.mean() for plane in planes])
        patch.uv[:] += share * (mean.astype(np.float32) - patch.uv)
    return float(share)
