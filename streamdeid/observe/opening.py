"""An opening in a new face, through which something before the original face is visible, and its possible colours.

`occluders` decides where there is an opening; this module renders it. The colour of each pixel is checked once more in
the picture itself, which is finer than the fit's frame in which the decision was made.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import render
from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Flags, Pixels
from streamdeid.core.colour import LUMA, rgb_from_yuv
from streamdeid.core.frames import Planes
from streamdeid.observe.observation import Observation

FLOOR = np.float32(8)
"""Grey levels added before a ratio or a logarithm, because dark pixels are mostly noise."""
_DARK, _BURNT = 36.0, 240.0
"""Luma from which a colour is reliable, and level of the brightest channel up to which it is."""
_OUTWARD = 0.08
"""Share of the face's width by which an opening goes on beyond the mesh, where the rendered face may be wider than
it."""


@dataclass(frozen=True)
class Opening:
    """Where an occluder is, and may be visible, in one frame."""

    weights: Pixels
    """float32 (h, w) in the fit's frame: 1 where the original shows, 0 where the new face does. It is 0 everywhere at
    first, and where the occluder hides the face but must not be visible."""
    hidden: Flags
    """bool (f,): pixels of the small texture that show the occluder, or are so near that its colour spills into
    them."""
    mouth: bool
    """Whether the mouth is hidden: what is visible between the lips is then not its inside."""
    coldest: float
    """Coldness from which a pixel of the picture may be the occluder's."""

    def without(self, texture: Pixels, neutral: Pixels) -> Pixels:
        """The small texture (f, 3), filled where the occluder hides it with the neutral one (f, 3) in the light of the
        rest: the colour of the occluder is no light on the face."""
        seen = ~self.hidden
        if not seen.any():
            return neutral
        gain = np.median((texture[seen] + FLOOR) / (neutral[seen] + FLOOR), axis=0)
        filled = texture.copy()
        filled[self.hidden] = (neutral[self.hidden] + FLOOR) * gain - FLOOR
        return np.maximum(filled, 0)


def coldness(colours: Pixels) -> Pixels:
    """How much colder than grey RGB colours (n, 3) are: by how much green or blue exceeds red, share of the sum."""
    red, green, blue = colours[:, 0], colours[:, 1], colours[:, 2]
    return np.asarray((np.maximum(green, blue) - red) / (red + green + blue + 3 * FLOOR), np.float32)


def shown_through(opening: Opening, patch: Patch, original: Planes, seen: Observation, fitting: FitModel) -> Pixels:
    """The share of the new face that is left, float32 like the patch's `covered`.

    It is 1 minus the opening, warped to where the original's face is. There is an opening only where the picture itself
    has the occluder's colour in all pixels around.
    """
    bare = np.ones(patch.covered.shape, np.float32)
    if not opening.weights.any():
        return bare
    model = fitting.model
    height, width = patch.covered.shape
    weights, covered = np.zeros((height, width, 1), np.float32), np.zeros((height, width), np.uint8)
    halved = (seen.raw - (patch.x0, patch.y0) - 0.5) / 2
    texture = np.ascontiguousarray(opening.weights[:, :, None])
    render(texture, model.mean_shape * fitting.scale, halved, model.closed_triangles, weights, covered)
    reach = 2 * int(_OUTWARD * seen.width / 2) + 1
    beyond = cv2.dilate(weights[:, :, 0], cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach)))
    shown = np.where(covered > 0, weights[:, :, 0], beyond)
    cold = _cold_picture(original, patch) > opening.coldest
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))
    return np.asarray(bare - shown * cv2.erode(cold.astype(np.uint8), disc), np.float32)


def _cold_picture(planes: Planes, patch: Patch) -> Pixels:
    """Coldness (h, w) of a picture under a patch, at the size of its chroma; burnt and dark pixels are not cold."""
    height, width = patch.covered.shape
    x, y = patch.x0 // 2, patch.y0 // 2
    luma = planes.y[patch.y0 : patch.y0 + patch.size[1], patch.x0 : patch.x0 + patch.size[0]]
    half = cv2.resize(luma, (width, height), interpolation=cv2.INTER_AREA)
    chroma = (plane[y : y + height, x : x + width] for plane in (planes.u, planes.v))
    matrix, offset = rgb_from_yuv(planes.colour)
    yuv = np.stack([half, *chroma], axis=2).reshape(-1, 3).astype(np.float32)
    colours = np.clip(yuv @ matrix.T + offset, 0, 255)
    return np.where(telling(colours), coldness(colours), np.float32(-1)).reshape(height, width)


def telling(colours: Pixels) -> Flags:
    """Which RGB colours (n, 3) are neither too dark nor too bright for their colour to be reliable."""
    telling: Flags = (colours @ LUMA > _DARK) & (colours.max(axis=1) < _BURNT)
    return telling
