"""Hard cuts of a scene, from small copies of the luma plane.

Three signs must agree, because a cut ends every track, and with it the cover of faces that the detector happens to
miss just then:

* the pictures hardly correlate: a flash or a lamp changes level and contrast, which a correlation does not see;
* the histogram changes: a shaken or panned camera moves pixels, which a histogram hardly sees;
* the mean absolute difference stands out from that of the last frames: what moves wildly all the time is no cut.

Nearly uniform pictures (black between scenes, a white flash) are passed over: the next real picture is compared with
the last real one. A missed cut costs a redaction for as long as lost tracks coast, no more.
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
"""Grey levels below which no difference is a cut, or a jump."""
_OUTSTANDING = 3.0
"""The difference must be so many times the mean of the last ones."""
_MEMORY = 12
"""Frames over which that mean is taken: half a second."""
_STIRRED = 1.5
"""Grey levels of difference up to which nobody asks whether the camera moved."""
_UNIFORM = 6.0
"""Standard deviation, grey levels, below which a picture shows nothing."""

Small = NDArray[np.float32]


class Cuts:
    """Watches the luma of one stream, frame by frame."""

    def __init__(self) -> None:
        self.jumped = False
        """Whether the picture asked about last is so unlike the one before, cut or not, that what was found there says
        little about it: the first whole picture after damaged ones, say."""
        self.camera: CameraMotion | None = None
        """How the camera moved since the picture before; None where it stood, or nobody can tell."""
        self._last: Small | None = None
        self._copy: Plane | None = None
        self._differences: deque[float] = deque(maxlen=_MEMORY)

    def __call__(self, levels: Sequence[Plane]) -> bool:
        """True when this picture, its luma and that reduced (`luma_pyramid`), is the first of a new scene."""
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
        self._differences.append(all_of_it)  # of a pan, too: where one of its frames tells no motion, that is no cut
        self.jumped = difference > _LEAST
        self.camera = None if cut else self.camera
        return cut


def correlation(one: Small, other: Small) -> float:
    """Correlation coefficient of two pictures (h, w), -1 to 1; neither is uniform."""
    a, b = one - one.mean(), other - other.mean()
    return float((a * b).sum() / np.sqrt(float((a * a).sum()) * float((b * b).sum())))


def histogram_change(one: Small, other: Small) -> float:
    """Share of the pixels by which the histograms of two pictures (h, w) differ, 0 to 1.

    Half of each bin is shared out to its neighbours, so that a small change of light near a bin's edge counts little.
    """
    smooth = np.array([0.25, 0.5, 0.25])
    counts = [np.histogram(picture, _BINS, (0, 256))[0] / picture.size for picture in (one, other)]
    a, b = (np.convolve(share, smooth, mode="same") for share in counts)
    return float(np.abs(a - b).sum() / 2)
