"""Where the parts of a face lie in a frame of the model: masks that every step on textures shares."""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np

from streamdeid.aam.masked_blur import MaskedBlur
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.convex import convex
from streamdeid.core.ibug68 import LEFT_BROW, LEFT_EYE, NOSTRILS, OUTER_LIP, RIGHT_BROW, RIGHT_EYE

_ABOUT_EYES = 0.1
"""How far the skin of the lids reaches from their edge, share of the frame's width."""
_BELOW_NOSE = 0.04
"""Height over which the lower face begins, share of the frame's width."""
_LASHES, _LIP_RIM, _HOLES = 0.022, 0.012, (0.03, 0.012)
"""How far lashes reach from the lids' edge, a lip's rim beyond its landmarks, and the dark of nostrils above and below
their landmarks, shares of the frame's width."""
_RIM = 0.04
"""Width of the rim of the mesh in which hair and background show, share of the frame's width."""


@dataclass(frozen=True)
class Zones:
    """Masks float32 (h, w), 0 to 1."""

    skin: Pixels
    """1 on plain skin, 0 on and about eyes, brows, lips and nostrils. The mask continues beyond the mesh."""
    lower: Pixels
    """Rises from 0 to 1 just below the nose: where a beard grows."""
    lips: Pixels
    """Soft; the opening of the mouth is part of it."""
    eyes: Pixels
    """Soft: what lies between the lids."""
    lids: Pixels
    """Soft: skin about the eyes, neither between the lids nor under a brow."""
    brows: Pixels
    """Soft, with the hairs beside the line of landmarks."""
    bare: Pixels
    """Soft: all skin, up to the very rims of lids, brows, lips and nostrils, without the outermost rim of the mesh."""
    _blurs: dict[tuple[str, tuple[float, ...]], MaskedBlur] = field(default_factory=dict, init=False, repr=False)

    def blurred(self, picture: Pixels, zone: str, shares: tuple[float, ...]) -> Pixels:
        """The part of a picture (h, w, c) in a zone, given by name, blurred by shares of the width (`MaskedBlur`)."""
        blur = self._blurs.get((zone, shares))
        if blur is None:
            blur = self._blurs[zone, shares] = MaskedBlur(getattr(self, zone), shares)
        return blur(picture)

    def box_of_lips(self, above: float) -> tuple[slice, slice]:
        """Rows and columns of the frame in which `lips` exceeds a value."""
        rows, columns = (np.flatnonzero(self.lips.max(axis=axis) > above) for axis in (1, 0))
        return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)

    @classmethod
    def of(cls, mean_shape: Points, frame_width: int, size: tuple[int, int]) -> Zones:
        """Zones of a mean shape (81, 2), given in a frame `frame_width` wide, in a frame of size (width, height)."""
        width, height = size
        points = mean_shape * (width / frame_width)
        rows = np.arange(height, dtype=np.float32)[:, None] + np.zeros((1, width), np.float32)
        lower = np.clip((rows - points[33, 1]) / (_BELOW_NOSE * width) + 0.25, 0, 1)
        brows = [_raised(points[brow], 0.025 * width, 0.045 * width) for brow in (LEFT_BROW, RIGHT_BROW)]
        eyes = _soft([points[LEFT_EYE], points[RIGHT_EYE]], size, 0.0075)
        hair = np.minimum(np.float32(1.15) * _soft(brows, size, 0.012), 1)
        around = [_wider(points[eye], _ABOUT_EYES * width) for eye in (LEFT_EYE, RIGHT_EYE)]
        lids = _soft(around, size, 0.02) * (1 - hair) * (1 - eyes) ** 2
        return cls(
            _plain_skin(points, size),
            lower.astype(np.float32),
            _soft([points[OUTER_LIP]], size, 0.006),
            eyes,
            np.asarray(lids, np.float32),
            hair,
            _bare(points, hair, size),
        )


def _bare(points: Points, hair: Pixels, size: tuple[int, int]) -> Pixels:
    """`Zones.bare` (h, w) of a mesh (81, 2): all of it but brows (h, w), eyes with lashes, lips and nostrils."""
    width, height = size
    eyes = _soft([_wider(points[eye], _LASHES * width) for eye in (LEFT_EYE, RIGHT_EYE)], size, 0.008)
    lips = _soft([_wider(points[OUTER_LIP], _LIP_RIM * width)], size, 0.008)
    holes = _soft([_raised(points[NOSTRILS], *(reach * width for reach in _HOLES))], size, 0.012)
    inside = np.zeros((height, width), np.uint8)
    cv2.fillPoly(inside, [np.round(convex(points) * 16).astype(np.int32)], (1,), cv2.LINE_8, 4)
    reach = 2 * round(_RIM * width) + 1
    within = cv2.erode(inside, np.ones((reach, reach), np.uint8), borderType=cv2.BORDER_CONSTANT, borderValue=0)
    skin = np.asarray(within, np.float32) * np.clip(1 - 1.1 * holes, 0, 1)
    for part, sharply in ((hair, 8), (eyes, 1.5), (lips, 1.5)):
        skin = skin * np.clip(1 - sharply * part, 0, 1)
    return np.asarray(skin, np.float32)


def _wider(eye: Points, reach: float) -> Points:
    """Points (n, 2) of a part of the face, moved away from its middle by so many pixels."""
    away = eye - eye.mean(axis=0)
    wider: Points = eye + reach * away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-6)
    return wider


def _raised(line: Points, above: float, below: float) -> Points:
    """Polygon (2n, 2) about a line of points (n, 2), reaching so many pixels above and below it."""
    return np.concatenate([line - np.array([0, above]), (line + np.array([0, below]))[::-1]])


def _plain_skin(points: Points, size: tuple[int, int]) -> Pixels:
    width, height = size
    reaches = [(points[LEFT_EYE], 0.03), (points[RIGHT_EYE], 0.03), (points[OUTER_LIP], 0.02)]
    reaches += [(_raised(points[brow], 0.02 * width, 0.03 * width), 0.015) for brow in (LEFT_BROW, RIGHT_BROW)]
    reaches.append((points[NOSTRILS] + (0, 0.005 * width), 0.02))
    skin = np.ones((height, width), np.float32)
    for polygon, reach in reaches:
        part = np.zeros((height, width), np.uint8)
        cv2.fillPoly(part, [np.round(convex(polygon) * 16).astype(np.int32)], (1,), cv2.LINE_8, 4)
        radius = max(1, round(reach * width))
        kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
        skin[cv2.dilate(part, kernel) > 0] = 0
    return skin


def _soft(polygons: list[Points], size: tuple[int, int], sigma: float) -> Pixels:
    """Polygons (n, 2) filled, their edge blurred by a share of the width."""
    width, height = size
    hard = np.zeros((height, width), np.uint8)
    for polygon in polygons:
        cv2.fillPoly(hard, [np.round(polygon * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    return np.asarray(cv2.GaussianBlur(hard.astype(np.float32) / 255, (0, 0), sigma * width), np.float32)
