"""The decoded new faces of the people seen last: decoding takes as long as two frames, and every frame needs the face.

They are made of a surrogate's vector and of nothing of the person or the scene, so they outlive a part of a stream.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Points
from streamdeid.core.whose import Whose
from streamdeid.render.new_face import NewFace

_LEAST, _EACH = 64, 2
"""Number of faces kept at least, and number kept for each person who is shown, if that is more: a provisional one and
the person's. Without the second, each face in a picture of 97 people was decoded again in each frame, which took 5.4
seconds instead of half a second."""


class DecodedFaces:
    """New faces, kept by the tracklet or person that each belongs to."""

    def __init__(self, fitting: FitModel, children: bool = False) -> None:
        """Start with no faces. children: whether all of them are to be children's faces."""
        self._fitting, self._children = fitting, children
        self._faces: OrderedDict[Whose, NewFace] = OrderedDict()
        self._most = _LEAST

    def __call__(self, whose: Whose, vector: Points, beard: bool) -> NewFace:
        """The face of a surrogate vector (d,), which is decoded if it is not kept.

        It is kept if `whose` asked for the same vector last, or if the face is kept for somebody else, such as a
        tracklet that turned out to be this person.
        """
        beard = beard and not self._children
        face = self._faces.get(whose)
        if face is None or not _is_of(face, vector, beard):
            others = (other for other in self._faces.values() if _is_of(other, vector, beard))
            face = next(others, None) or NewFace.of(vector, self._fitting, beard, self._children)
            self._faces[whose] = face
        self._faces.move_to_end(whose)
        self._leave(self._most)
        return face

    def make_room(self, shown: int) -> None:
        """Keep enough faces for `shown` people who are shown at a time."""
        self._most = max(_LEAST, _EACH * shown)
        self._leave(self._most)

    def _leave(self, most: int) -> None:
        while len(self._faces) > most:
            self._faces.popitem(last=False)

    def forget(self, whose: Whose) -> None:
        """Remove the face of `whose`, if it is kept."""
        self._faces.pop(whose, None)

    def __len__(self) -> int:
        return len(self._faces)


def _is_of(face: NewFace, vector: Points, beard: bool) -> bool:
    return face.beard == beard and np.array_equal(face.vector, vector)
