"""MaskFaces: a de-identifier that covers every face with one of the masks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes, Redaction
from streamdeid.errors import SettingsError
from streamdeid.render.masks import Box, bar, blackout, blur, noise, pixelate, solid_fill, t_mask, threshold

_MARGINS = (0.15, 0.35, 0.15, 0.10)  # left, top, right, bottom: ears beside, forehead above, chin below
_NEAR = 0.2
"""A box that ends so near the picture's border, share of its side, reaches to it."""

_BOX_MASKS: dict[str, Callable[[Planes, Box], Planes]] = {
    "blackout": blackout,
    "blur": blur,
    "pixelate": pixelate,
    "threshold": threshold,
}
MASKS = (*_BOX_MASKS, "bar", "t-mask", "noise")


class MaskFaces:
    """Applies one mask to every track with a face and a solid redaction to every other; a `protocols.Deidentifier`."""

    def __init__(self, mask: str) -> None:
        """Choose one of `MASKS`; raises SettingsError for another name."""
        if mask not in MASKS:
            raise SettingsError(f"unknown mask {mask!r}: choose from {', '.join(MASKS)}")
        self._mask = mask
        self.levels: Counter[str] = Counter()
        """Covered faces so far: "mask" where the detector saw the face, "solid" where it is only predicted."""

    @property
    def by_level(self) -> dict[str, int]:
        """Places covered so far, by how."""
        return dict(sorted(self.levels.items()))

    @property
    def by_person(self) -> dict[str, dict[str, int]]:
        """Nothing: a mask knows nobody."""
        return {}

    @property
    def people(self) -> None:
        """A mask knows nobody."""
        return None

    def close(self) -> None:
        """Nothing is kept."""

    def observe(self, frame: Frame, tracks: Sequence[Track]) -> None:
        """Nothing to learn ahead: a mask needs no identity."""

    def deidentify(self, frame: Frame, tracks: Sequence[Track]) -> DeidentifiedFrame:
        """Cover all tracks. Raises FailedClosed when a place is not finite; nothing is published then."""
        planes = frame.planes.copy()
        redactions = []
        for track in tracks:
            if track.face is not None:
                planes = self._cover(planes, frame, track, track.face)
                redactions.append(Redaction(track.number, grown(face_extent(track, track.face), planes.size), "mask"))
        # Last, so that no mask mixes into a fill what it takes from beside it.
        for track in tracks:
            if track.face is None:
                place = grown(track.box, planes.size)
                planes = solid_fill(planes, place)
                redactions.append(Redaction(track.number, place, "solid"))
        self.levels.update(redaction.level for redaction in redactions)
        return DeidentifiedFrame(planes, frame.time, frame.index, tuple(redactions))

    def _cover(self, planes: Planes, frame: Frame, track: Track, face: Face) -> Planes:
        if self._mask == "bar":
            return bar(planes, face.box, face.landmarks)
        if self._mask == "t-mask":
            return t_mask(planes, face.box, face.landmarks)
        place = grown(face_extent(track, face), planes.size)
        if self._mask == "noise":
            # Not secret, only the same in every run: the positions that stay bare are known anyway.
            return noise(planes, place, np.random.default_rng((frame.index, track.number)))
        return _BOX_MASKS[self._mask](planes, place)


def face_extent(track: Track, face: Face) -> Box:
    """The smallest box, in pixels, around the track's box, the detected box and all points of the face."""
    corners = [np.reshape(np.array(box), (2, 2)) for box in (track.box, face.box)]
    corners += [points for points in (face.landmarks, face.forehead, face.silhouette) if points is not None]
    points = np.concatenate(corners)
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def grown(box: Box, size: tuple[int, int] | None = None) -> Box:
    """A face's box, in pixels, enlarged to take in ears, forehead and chin.

    size: width and height of the picture; given, a box that comes near its border reaches to it, because of a face that
    the border cuts the detector sees only a part.
    """
    x0, y0, x1, y1 = box
    left, top, right, bottom = _MARGINS
    width, height = x1 - x0, y1 - y0
    x0, y0, x1, y1 = x0 - left * width, y0 - top * height, x1 + right * width, y1 + bottom * height
    if size is None:
        return x0, y0, x1, y1
    near_x, near_y = _NEAR * width, _NEAR * height
    return (
        min(x0, 0.0) if x0 < near_x else x0,
        min(y0, 0.0) if y0 < near_y else y0,
        max(x1, float(size[0])) if x1 > size[0] - near_x else x1,
        max(y1, float(size[1])) if y1 > size[1] - near_y else y1,
    )
