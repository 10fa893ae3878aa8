"""Where the irises of a new face lie, so that it looks where the person does.

Corners of the eyes lie on corners, so along their line an iris keeps its share of the way, and both eyes look aside
together. How far apart they look is not taken over: seen from a camera both look the same way, and what is left tells
how much of the white beside the nose a person's lids show. Another face with that share would squint. Only eyes that
are truly crossed stay crossed.
"""

from __future__ import annotations

import numpy as np

from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS

_RISE, _REST = 1.5, -0.045
"""How much of the gaze's rise and fall is drawn for each that the landmarker reads, and the height of an iris at rest,
eye widths below the line of the corners. It reads of eyes whose gaze is known (drawn ones) 0.3 to 0.6 of the rise and
fall, so that 1.5 exaggerates none. Chosen on expressions_gaze; medians of three clips at rest: -.03, -.04, -.06."""
_INWARDS = -0.045
"""How far inwards from the middle of the corners the irises of those lie who look ahead, eye widths: London's mean (204
photographs, standard deviation .022), from whom the new faces are made. The corner beside the nose is longer."""
_CROSSED = 0.1, 0.2
"""Distance from there, eye widths, up to which eyes do not count as crossed, and from which they are drawn as crossed
as they are. Other people's lie within it: means of 40 in Canada and 37 of IMM -.025 and -.046, a child's with folds at
the inner corners .034 (lp_d11), .046 (expressions_gaze). Eyes that are crossed in jest, .1 to .19 (grimaces)."""


def irises(shape: Points, laid: Points, seen: Points) -> Points:
    """Centres of the irises of a new face (2, 2), pixels of the picture, image-left first.

    shape, laid: the person's landmarks and the new face's, (81, 2); seen: the person's irises (2, 2). The eye that a
    turned head shows narrower counts less. Heights over the line of the corners grow by `_RISE`.
    """
    across, down, widths = np.empty(2), np.empty(2), np.empty(2)
    for i, (a, b) in enumerate((LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS)):
        line = complex(*(shape[b] - shape[a])) or 1e-9
        place = (complex(*seen[i]) - complex(*(shape[a] + shape[b])) / 2) / line
        across[i], down[i], widths[i] = place.real, place.imag, abs(line)
    apart = float(across[0] - across[1]) / 2
    inwards = _INWARDS + (apart - _INWARDS) * _risen(abs(apart - _INWARDS))
    sides = np.array([inwards, -inwards])
    aside = np.average(across - sides, weights=np.square(widths))
    centres = np.empty((2, 2))
    for i, (a, b) in enumerate((LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS)):
        place = complex(aside + sides[i], _REST + _RISE * (down[i] - _REST))
        centre = complex(*(laid[a] + laid[b])) / 2 + place * complex(*(laid[b] - laid[a]))
        centres[i] = centre.real, centre.imag
    return centres


def _risen(away: float) -> float:
    """0 for eyes that are not crossed, 1 for those that are, smooth between."""
    low, high = _CROSSED
    t = min(max((away - low) / (high - low), 0.0), 1.0)
    return t * t * (3 - 2 * t)
