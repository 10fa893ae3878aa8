"""Places of the irises of a new face, so that it looks where the person looks.

The corners of the new eyes stand for the person's. So along the line of the corners an iris keeps its share of the way,
and both eyes look aside together. The difference between the two eyes is not taken over: seen from a camera both look
the same way, and the rest of the difference tells how much white a person's lids show beside the nose. Another face
with that share would squint. Only eyes that are truly crossed stay crossed.
"""

from __future__ import annotations

import numpy as np

from streamdeid.aam.smooth_step import smooth_step
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS

_RISE, _REST = 1.5, -0.045
"""How much the gaze rises and falls in the new face for what the landmarker reads, and the height of an iris at rest,
eye widths below the line of the corners. Of rendered eyes, whose gaze is known, it reads 0.3 to 0.6 of the rise and
fall, so 1.5 never exaggerates. Chosen on expressions_gaze; medians of three clips at rest: -.03, -.04, -.06."""
_INWARDS = -0.045
"""How far inwards from the middle of the corners the irises of people lie who look ahead, in eye widths. It is the mean
of London, from whom the new faces are made (204 photographs, standard deviation .022). The corner beside the nose is
longer."""
_CROSSED = 0.1, 0.3
"""Distance from there, in eye widths: up to the first eyes do not count as crossed, from the second they are rendered
as crossed as they are. People who look ahead lie below the first: the means of 40 in Canada and 37 of IMM are .020 and
.001, a child with folds at the inner corners has .079 (lp_d11), a man .091 (expressions_gaze). Eyes that are crossed in
jest have .15 to .24 (grimaces). A steeper rise would make trembling landmarks tremble more."""


def irises(shape: Points, laid: Points, seen: Points) -> Points:
    """The centres of the irises of a new face (2, 2), pixels of the picture, image-left first.

    shape, laid: the person's landmarks and the new face's, (81, 2); seen: the person's irises (2, 2). In a turned head
    the eye that looks narrower counts less, and tells less about whether eyes are crossed. Heights over the line of the
    corners grow by `_RISE`. Raises ZeroDivisionError for an eye of the person without width.
    """
    across, down, widths = np.empty(2), np.empty(2), np.empty(2)
    for i, (a, b) in enumerate((LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS)):
        line = complex(*(shape[b] - shape[a]))
        place = (complex(*seen[i]) - complex(*(shape[a] + shape[b])) / 2) / line
        across[i], down[i], widths[i] = place.real, place.imag, abs(line)
    apart = float(across[0] - across[1]) / 2
    away = abs(apart - _INWARDS) * widths.min() / widths.max()
    inwards = _INWARDS + (apart - _INWARDS) * smooth_step((away - _CROSSED[0]) / (_CROSSED[1] - _CROSSED[0]))
    sides = np.array([inwards, -inwards])
    aside = np.average(across - sides, weights=np.square(widths))
    centres = np.empty((2, 2))
    for i, (a, b) in enumerate((LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS)):
        place = complex(aside + sides[i], _REST + _RISE * (down[i] - _REST))
        centre = complex(*(laid[a] + laid[b])) / 2 + place * complex(*(laid[b] - laid[a]))
        centres[i] = centre.real, centre.imag
    return centres
