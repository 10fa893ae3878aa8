"""A de-identifier that redacts every face with one of the masks (`MaskFaces`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import DeidentifiedFrame, Frame, Planes, Redaction
from streamdeid.errors import SettingsError
from streamdeid.protect.levels import Level
from streamdeid.protect.pending import PendingFrame, Waiting
from streamdeid.protect.plan import Plan, Plans
from streamdeid.protect.soft_head import lost_face
from streamdeid.render.masks import bar, blackout, blur, noise, pixelate, solid_fill, t_mask, threshold

_MARGINS = (0.15, 0.35, 0.15, 0.10)  # left, top, right, bottom: ears beside, forehead above, chin below
_NEAR = 0.2
"""Share of a box's side: a box that ends within that distance of the picture's border reaches to it."""

_BOX_MASKS: dict[str, Callable[[Planes, Box], Planes]] = {
    "blackout": blackout,
    "blur": blur,
    "pixelate": pixelate,
    "threshold": threshold,
}
MASKS = (*_BOX_MASKS, "bar", "t-mask", "noise")
LEAVES_NOTHING = frozenset({"blackout"})
"""Masks after which nothing of the face is left: after others, who masks his own photographs alike may know people."""


class MaskFaces:
    """Applies one mask to every track with a face and a solid redaction to every other; a `plan.Deidentifier`."""

    def __init__(self, mask: str) -> None:
        """Choose one of `MASKS`; raises SettingsError for another name."""
        if mask not in MASKS:
            raise SettingsError(f"unknown mask {mask!r}: choose from {', '.join(MASKS)}")
        self._mask = mask

    def observe(self, pending: PendingFrame[Any], waiting: Waiting) -> None:
        """Do nothing: a mask needs no identity."""

    def settle(self, waiting: Waiting, due: Sequence[Track] | None = None) -> None:
        """Do nothing: there is nobody to commit."""

    def decide(self, pending: PendingFrame[Any], tracks: Sequence[Track]) -> Plans:
        """Plan the mask for faces that the detector saw, and a solid redaction where a place is only predicted."""
        size = pending.frame.planes.size
        plans = []
        for track in tracks:
            box = track.box if track.sighted is None else face_extent(track, track.sighted)
            level = Level.SOLID if track.sighted is None else Level.MASK
            plans.append(Plan(track, (grown(box, size), None, size), level))
        return plans

    def render(self, pending: PendingFrame[Any], plans: Plans) -> DeidentifiedFrame:
        """Redact all that was decided. Raises FailedClosed when a place is not finite; nothing is published then."""
        frame, planes = pending.frame, pending.frame.planes.copy()
        for plan in plans:
            if plan.track.sighted is not None:
                planes = self._cover(planes, frame, plan.track, plan.track.sighted)
        # Solid fills come last, so that no mask mixes pixels from beside it into a fill.
        for plan in plans:
            if plan.track.sighted is None:
                planes = solid_fill(planes, plan.place[0])
        ordered = sorted(plans, key=lambda plan: plan.track.sighted is None)
        redactions = tuple(Redaction(plan.track.number, plan.place[0], plan.level.label) for plan in ordered)
        return DeidentifiedFrame(planes, frame.time, frame.index, redactions)

    def _cover(self, planes: Planes, frame: Frame, track: Track, face: Face) -> Planes:
        if self._mask == "bar":
            return bar(planes, face.box, face.landmarks)
        if self._mask == "t-mask":
            return t_mask(planes, face.box, face.landmarks)
        place = grown(face_extent(track, face), planes.size)
        if self._mask == "noise":
            # The seed is no secret, only the same in every run: which positions stay bare is known anyway.
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

    size: width and height of the picture. With it, a box that comes near the picture's border reaches to the border,
    because the detector sees only a part of a face that the border cuts.
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


def place_of(track: Track) -> Box:
    """The box of a face, or of the place where a lost face may be, in pixels."""
    return lost_face(track) if track.sighted is None else face_extent(track, track.sighted)
