"""A detector made of a function that a user gives: the function takes a picture and returns where faces are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.colour import rectangle_to_rgb
from streamdeid.core.faces import Face
from streamdeid.core.frames import Frame
from streamdeid.detection.landmarks import Landmarks, face_of, region_of_box
from streamdeid.detection.networks import Networks
from streamdeid.errors import FailedClosed

Find = Callable[[NDArray[np.uint8]], Iterable[Sequence[float]]]
"""(image uint8 (height, width, 3), RGB) to faces: each x0, y0, x1, y1 in pixels, then a score 0 to 1 if it has one."""


class PluggedIn:
    """A detector made of a function; the landmark model looks at each box that the function returns.

    find: see `Find`. Its boxes are believed: a box in which the landmark model sees no face is redacted, too, without
    landmarks. landmarks: False leaves the landmark model out, and all boxes are redacted without landmarks.
    """

    def __init__(self, find: Find, *, landmarks: bool = True) -> None:
        self._find = find
        self._landmarks = Landmarks(Networks(), quick=True) if landmarks else None

    def __call__(self, frame: Frame, /) -> Sequence[Face]:
        """Faces of an upright frame. Boxes outside the picture are left out. Raises FailedClosed for an invalid box."""
        width, height = frame.planes.size
        faces = []
        for row in self._find(rectangle_to_rgb(frame.planes, 0, 0, width, height)):
            values = [float(value) for value in row]
            if len(values) not in (4, 5) or not np.isfinite(values).all():
                raise FailedClosed(f"the detector gave frame {frame.index} something that is no box: {values}")
            x0, y0, x1, y1 = values[:4]
            if x1 > 0 and y1 > 0 and x0 < width and y0 < height:
                faces.append(self._face(frame, (x0, y0, x1, y1), values[4] if len(values) == 5 else 1.0))
        return faces

    def close(self) -> None:
        """Stop the landmark model."""
        if self._landmarks is not None:
            self._landmarks.close()

    def _face(self, frame: Frame, box: tuple[float, float, float, float], score: float) -> Face:
        found = None
        if self._landmarks is not None and box[2] > box[0] and box[3] > box[1]:
            found = self._landmarks(frame.planes, region_of_box(box))
        mesh, presence = (None, 0.0) if found is None else found[:2]
        return face_of(box, score, 1.0, mesh, presence)
