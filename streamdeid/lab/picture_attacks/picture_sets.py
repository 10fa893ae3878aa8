"""Sets of pictures for the attacks on what is shown: originals, published faces, and the controls beside them.

The controls tell what the surroundings alone give away (docs/methods.md 3.3, A12): a black hull, the hull filled from
its rim, and the published hull on grey. Without them a recognition rate of a published face says nothing about the
face.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import FitModel
from streamdeid.aam.photographs import Photograph
from streamdeid.core.arrays import Picture, Points
from streamdeid.core.ibug68 import OUTLINE
from streamdeid.lab.published_pictures import Publisher
from streamdeid.surrogates.gallery import Gallery

_GREY = 128
_JPEG_QUALITY = 85


@dataclass(frozen=True)
class PictureSet:
    """Pictures of known people, each with the landmarks of the photograph behind it."""

    name: str
    pictures: tuple[Picture, ...]
    """RGB, uint8 (h, w, 3)."""
    sources: tuple[Photograph, ...]
    sessions: tuple[int, ...] = ()
    """Number of the session, from 0, that published each picture; empty for pictures that no session made."""
    refused: int = 0
    """Pictures that the method did not publish (failed closed); nobody is named by them."""

    @property
    def people(self) -> list[str]:
        """Who is behind each picture."""
        return [source.person for source in self.sources]

    @property
    def landmarks(self) -> list[Points]:
        """68 points (68, 2) of each photograph."""
        return [source.sample.points[:68] for source in self.sources]


def originals(photographs: Sequence[Photograph], name: str) -> PictureSet:
    """The photographs as they are."""
    return PictureSet(name, tuple(p.image for p in photographs), tuple(photographs))


def compressed(photographs: Sequence[Photograph], name: str) -> PictureSet:
    """The photographs once more through JPEG: unaltered, but not the very same numbers."""
    return _changed(originals(photographs, name), name, lambda picture, _: _jpeg(picture))


def published(
    photographs: Sequence[Photograph],
    fitting: FitModel,
    gallery: Gallery,
    method: str,
    keys: Sequence[bytes],
    report: Callable[[str], None] | None = None,
    preserve: tuple[str, ...] = (),
) -> PictureSet:
    """Each photograph as the stream publishes it, once per key, each key a session of its own. preserve: attributes."""
    pictures, sources, sessions, refused = [], [], [], 0
    for number, key in enumerate(keys):
        if report is not None:
            report(f"{method}, key {number + 1} of {len(keys)}")
        publisher = Publisher(fitting, gallery, method, key, preserve=preserve)
        for person, photograph in enumerate(photographs, start=1):
            (picture,) = publisher.publish(person, [photograph])
            if picture is None:
                refused += 1
                continue
            pictures.append(picture)
            sources.append(photograph)
            sessions.append(number)
    return PictureSet(method, tuple(pictures), tuple(sources), tuple(sessions), refused)


def black_hull(photographs: Sequence[Photograph], name: str = "black hull") -> PictureSet:
    """The surroundings, with the face's hull black."""
    return _changed(originals(photographs, name), name, lambda picture, inside: _filled(picture, inside, 0))


def surroundings_only(photographs: Sequence[Photograph], name: str = "surroundings only") -> PictureSet:
    """The surroundings, with the hull painted over from its rim (Telea 2004)."""
    return _changed(originals(photographs, name), name, _painted_over)


def hull_only(given: PictureSet) -> PictureSet:
    """The hull of each picture on grey: what the published face alone gives away, its outline included."""
    name = f"{given.name}, hull only"
    return _changed(given, name, lambda picture, inside: _filled(picture, ~inside, _GREY))


def hull(photograph: Photograph, size: tuple[int, int] | None = None) -> NDArray[np.bool_]:
    """Pixels inside the appearance mesh's outline, bool of the photograph's size or of `size` (height, width)."""
    covered = np.zeros(size or photograph.image.shape[:2], np.uint8)
    outline = photograph.sample.points[OUTLINE].round().astype(np.int32)
    cv2.fillPoly(covered, [outline], (1.0,))
    return covered.astype(np.bool_)


def _changed(given: PictureSet, name: str, change: Callable[[Picture, NDArray[np.bool_]], Picture]) -> PictureSet:
    pictures = (
        change(picture, hull(source, (picture.shape[0], picture.shape[1])))
        for picture, source in zip(given.pictures, given.sources, strict=True)
    )
    return replace(given, name=name, pictures=tuple(pictures))


def _filled(picture: Picture, where: NDArray[np.bool_], value: int) -> Picture:
    out = picture.copy()
    out[where] = value
    return out


def _painted_over(picture: Picture, inside: NDArray[np.bool_]) -> Picture:
    # A quarter of the size is enough for a smooth fill, and sixteen times as fast.
    small = cv2.resize(picture, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    hole = cv2.resize(inside.astype(np.uint8), (small.shape[1], small.shape[0]), interpolation=cv2.INTER_NEAREST)
    filled = cv2.inpaint(small, cv2.dilate(hole, np.ones((5, 5), np.uint8)), 3, cv2.INPAINT_TELEA)
    large = cv2.resize(filled, (picture.shape[1], picture.shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.where(inside[:, :, None], large, picture).astype(np.uint8)


def _jpeg(picture: Picture) -> Picture:
    _, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    return np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)
