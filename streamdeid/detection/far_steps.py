"""Frames that are so far apart in time that a face's landmarks cannot be followed from one to the next unchecked."""

from __future__ import annotations

from fractions import Fraction

_FAR = Fraction(9, 100)
"""Seconds between two frames from which the detector checks followed landmarks in every frame. In the region of a head
that has moved on, the landmark model sees a face in hair or forehead, and is sure of it. Of 2,026 faces of crowd_1080p
and five other surveillance clips 0 meshes were more than a tenth of the face's width astray after .04 s, .1 % after
.1 s, .6 % after .125 s and 1.7 % after .2 s (crowd_1080p alone .4, 2.5 and 7.5 %); of 1,049 in seven portraits and
interviews, which did not choose it, 0, 0, .2 and .1 %."""


class FarSteps:
    """Tells, frame by frame, whether a frame comes long after the one before."""

    def __init__(self) -> None:
        self._last: Fraction | None = None

    def __call__(self, time: Fraction) -> bool:
        """Whether the frame at this time, seconds, is far from the last one; a time before that one is, too."""
        last, self._last = self._last, time
        return last is not None and not 0 <= time - last <= _FAR
