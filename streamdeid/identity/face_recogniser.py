"""The interface of all face recognisers.

They are used by the stream (`person_recogniser`), the whitelist (`recognised_faces`), and the attacks on published
pictures (`picture_recognisers`, `lab.recognisers`).
"""

from __future__ import annotations

from typing import Protocol

from streamdeid.core.arrays import Picture, Points, Vector


class FaceRecogniser(Protocol):
    """Turns a face into a vector; the smaller the Euclidean distance of two vectors, the more alike the faces."""

    def __call__(self, picture: Picture, points: Points, /) -> Vector:
        """The vector (d,), float64, of a face in an RGB picture uint8 (h, w, 3), with its landmarks in the picture's
        pixels: 68 iBUG points (68, 2), with or without the forehead's 13 after them (81, 2). nan where the recogniser
        cannot use the picture."""
        ...
