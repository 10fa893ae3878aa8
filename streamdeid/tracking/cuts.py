"""Finds hard cuts between scenes, from small copies of the luma plane.

Three signs must agree, because a cut ends every track, and with it the redaction of faces that the detector happens to
miss at that moment:

* the pictures hardly correlate (a flash or a lamp changes level and contrast, to which a correlation does not react);
* the histogram changes (a shaken or panned camera moves pixels, to which a histogram hardly reacts);
* the mean absolute difference stands out from that of the last frames (constant wild motion is not a cut).

Nearly uniform pictures (black between scenes, a white flash) are skipped for this: the next real picture is compared
with the last real one. A missed cut only leaves redactions in place for as long as lost tracks coast.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Plane
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.luma_pyramid import smallest
from streamdeid.tracking import camera

_SIZE = (32, 18)
"""Width and height of the small copies: a shake of a few pixels disappears in them."""
_CORRELATION = 0.5
"""Correlation below which two pictures show different scenes."""
_HISTOGRAM = 0.08
"""Share of the pixels that must have moved to another grey level, 0 to 1. Within a scene the test videos reach 0.04."""
_BINS = 16
_LEAST = 10.0
"""Grey levels of difference below which there is no cut and no jump."""
_OUTSTANDING = 3.0
"""The difference must be so many times the mean of the last ones."""
_MEMORY = 12
"""Frames over which that mean is taken: half a second."""
_STIRRED = 1.5
"""Grey levels of difference up to which the motion of the camera is not estimated."""
_UNIFORM = 6.0
"""Standard deviation, grey levels, below which a picture counts as uniform."""

Small = NDArray[np.float32]


class Cuts:
    """Watches the luma of one stream, frame by frame."""

    def __init__(self) -> None:
        self.jumped = False
        """Whether the last picture is so unlike the one before, cut or not, that faces found before tell little about
        it: the first whole picture after damaged ones, for example."""
        self.camera: CameraMotion | None = None
        """How the camera moved since the picture before; None where it stood, or where its motion is unknown."""
        self._last: Small | None = None
        self._copy: Plane | None = None
        self._differences: deque[float] = deque(maxlen=_MEMORY)

    def __call__(self, levels: Sequence[Plane]) -> bool:
        """Whether this picture is the first of a new scene. levels: its luma plane, also reduced (`luma_pyramid`)."""
        luma = smallest(levels, 2 * _SIZE[0], 2 * _SIZE[1])
        small: Small = cv2.resize(luma, _SIZE, interpolation=cv2.INTER_AREA).astype(np.float32)
        copy, before = camera.small(levels), self._copy
        self.jumped, self.camera, self._copy = False, None, copy
        if small.std() < _UNIFORM:
            return False
        last, self._last = self._last, small
        if last is None:
            return False
        all_of_it = difference = float(np.abs(small - last).mean())
        if difference > _STIRRED and before is not None:
            height, width = levels[0].shape
            self.camera, left = camera.camera_motion(before, copy, (width, height))
            difference *= left
        usual = float(np.mean(self._differences)) if self._differences else 0.0
        cut = (
            difference > _LEAST
            and all_of_it > _OUTSTANDING * usual
            and correlation(last, small) < _CORRELATION
            and histogram_change(last, small) > _HISTOGRAM
        )
        self._differences.append(all_of_it)  # of pans, too: a frame of a pan without a known motion is not a cut
        self.jumped = difference > _LEAST
        self.camera = None if cut else self.camera
        return cut


def correlation(one: Small, other: Small) -> float:
    """Correlation coefficient of two pictures (h, w), -1 to 1; neither is uniform."""
    a, b = one - one.mean(), other - other.mean()
    return float((a * b).sum() / np.sqrt(float((a * a).sum()) * float((b * b).sum())))


def histogram_change(one: Small, other: Small) -> float:
    """Share of the pixels by which the histograms of two pictures (h, w) differ, 0 to 1.

    Half of each bin is given to its neighbours, so that a small change of light near a bin's edge counts little.
    """
    smooth = np.array([0.25, 0.5, 0.25])
    counts = [np.histogram(picture, _BINS, (0, 256))[0] / picture.size for picture in (one, other)]
    a, b = (np.convolve(share, smooth, mode="same") for share in counts)
    return float(np.abs(a - b).sum() / 2)
