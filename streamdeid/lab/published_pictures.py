"""Photographs published as the stream publishes frames: the same parts, fed with pictures instead of a video.

Each person is one track of one session. Pictures of a person follow each other in seconds, so nothing of one is
smoothed into the next, but the neutral face and the surrogate are the person's, as in a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import Photograph
from streamdeid.core.arrays import Points
from streamdeid.core.colour import planes_from_rgb, rectangle_to_rgb
from streamdeid.core.faces import Track
from streamdeid.core.frames import Colour, Frame, Planes
from streamdeid.protect.choices import Choice
from streamdeid.protect.levels import Level
from streamdeid.protect.mask_faces import MASKS, MaskFaces
from streamdeid.protect.plan import Deidentifier, at_once
from streamdeid.protect.replace_faces import ReplaceFaces
from streamdeid.surrogates.choice import Surrogates, SurrogateSettings
from streamdeid.surrogates.gallery import Gallery

_COLOUR = Colour("bt601", full_range=True)
_PAUSE = Fraction(10)
"""Seconds between two pictures of a person: longer than anything is smoothed over."""
_AS_ASKED = Level.OWN_FACE.label, Level.MASK.label
"""Levels of faces that are shown as the method shows them: not covered in its stead."""


MEAN_FACE, NOTHING_CHANGED = "mean face for everybody", "model reconstruction, nothing changed"
"""Controls: drawn like a surrogate, but the same for all, or the person's own."""


@dataclass(frozen=True)
class _Vector:
    vector: Points
    beard: bool = True


class _MeanFace:
    def surrogate(self, person: int, y: Points, /) -> _Vector:
        return _Vector(np.zeros_like(y))


class _NothingChanged:
    def surrogate(self, person: int, y: Points, /) -> _Vector:
        return _Vector(y)


_CONTROLS: dict[str, Choice] = {MEAN_FACE: _MeanFace(), NOTHING_CHANGED: _NothingChanged()}


@dataclass(frozen=True)
class TrackRegister:
    """Every track is a person of its own: its number."""

    known: set[int]

    def update(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Nothing to note."""

    def person_of(self, track: int) -> int | None:
        """The track's number, once committed."""
        return track if track in self.known else None

    def commit(self, track: int, identity: Points, frames: int) -> int | None:
        """The track's number."""
        self.known.add(track)
        return track


class Publisher:
    """One session of a stream method or mask, on photographs."""

    def __init__(
        self,
        fitting: FitModel,
        gallery: Gallery,
        method: str,
        key: bytes,
        *,
        k: int = 5,
        q: float = 0.5,
        preserve: tuple[str, ...] = (),
    ) -> None:
        """method: a stream method or a mask by its `--method` name, or a control. Raises SettingsError."""
        self._faces: ReplaceFaces | None = None
        if method not in MASKS:
            choice = _CONTROLS.get(method)
            if choice is None:
                settings = SurrogateSettings(method=method, k=k, q=q, preserve=preserve)
                choice = Surrogates(gallery, fitting.model.variances, settings, key)
            self._faces = ReplaceFaces(fitting, choice, TrackRegister(set()))
        self._filter: Deidentifier = MaskFaces(method) if self._faces is None else self._faces
        self._index = 0

    def publish(self, person: int, photographs: Sequence[Photograph]) -> list[NDArray[np.uint8] | None]:
        """The published pictures, RGB uint8, of one person (a number from 1, not used before), in order.

        None where the stream would not have shown a synthetic face: a surrogate was refused, or the pose is too strong.
        """
        published: list[NDArray[np.uint8] | None] = []
        for photograph in photographs:
            planes = even_planes(photograph.image)
            frame = Frame(planes, _PAUSE * self._index, self._index)
            self._index += 1
            track = Track(person, photograph.face.box, photograph.face, 0, False)
            done = at_once(self._filter, frame, [track])
            shown = done.redactions[0].level in _AS_ASKED
            published.append(whole_rgb(done.planes) if shown else None)
        return published

    def vector(self, person: int) -> Points | None:
        """The surrogate P (d,) of a person; None when there is none, or for a mask."""
        chosen = None if self._faces is None else self._faces.chosen(person)
        return None if chosen is None else chosen.vector


def even_planes(image: NDArray[np.uint8]) -> Planes:
    """A picture (h, w, 3) as planes; an odd last row or column is left out."""
    height, width = image.shape[0] & ~1, image.shape[1] & ~1
    return planes_from_rgb(np.ascontiguousarray(image[:height, :width]), _COLOUR)


def whole_rgb(planes: Planes) -> NDArray[np.uint8]:
    """A whole picture as RGB uint8 (h, w, 3)."""
    width, height = planes.size
    return rectangle_to_rgb(planes, 0, 0, width, height)
