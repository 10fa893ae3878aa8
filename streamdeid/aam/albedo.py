"""Albedo: a decoded face as even skin, without the light of the studio it was photographed in.

The training photographs share one light: dark sides of nose and cheeks, a bright forehead. A face with this light in
another light looks like a mask, and no light of the scene can undo it. So it is divided out of the decoded face: the
*studio field* is the soft shading of the mean face's plain skin, mirrored and averaged, and it is stored in the model
file. Other soft blotches of a single face (traces of sheen, shadows, colours of hair) are reduced.

All this is a function of the surrogate alone: it tells nothing of the person, and the space of identities is untouched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.clean_skin import Relief, relief_of, with_clean_skin
from streamdeid.aam.masked_blur import FLOOR, masked_blur, under_gain
from streamdeid.aam.piecewise_affine import WarpTable
from streamdeid.aam.plain_lips import with_plain_lips
from streamdeid.aam.smooth_step import smooth_step
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import LUMA

_STUDIO_SCALES = (0.035, 0.07, 0.14, 0.3)
"""Blurs of the studio field, shares of the frame's width: the narrow one where there is skin, wider ones to continue it
under eyes, brows and lips."""
_BLOTCH_SCALES = (0.05, 0.1, 0.2, 0.4)
_KEPT_BLOTCH, _KEPT_BEARD = 0.1, 0.7
"""Shares of soft differences of brightness that stay: on skin, and on a lower face that may have a beard."""
_BLOTCH, _BEARD = (-0.06, 0.04), -0.22
"""Bounds of the differences that stay, natural log; the lower bound on a beard."""
_KEPT_TINT, _TINT = 0.2, 0.015
"""The same for soft differences of colour."""
_STUBBLE, _KEPT_STUBBLE = -0.04, 0.3
"""Darkness about the mouth, natural log, up to which it does not look like a beard, and the share kept of more."""
_BEARDED = 0.1, 0.2
"""Darkness of the lower face over the upper, natural log of luma, from which a beard is possible, and is certain."""
_HUE = (np.array([-0.05, -0.03, -0.06], np.float32), np.array([0.07, 0.03, 0.05], np.float32))
"""Range of log RGB about that of skin, brightness subtracted: dark hair in brows is blue once its tone was brought to a
mean."""


@dataclass(frozen=True)
class Albedo:
    """The constants of a model that even out the skin of its decoded faces."""

    zones: Zones
    """In the model's frame; its skin lies inside the mesh."""
    studio: Pixels
    """float32 (h, w, 3): natural log of the studio's light, 0 in the median over plain skin."""
    mean: Pixels
    """float32 (h, w, 3), RGB: the mean face as it was photographed."""

    def even(self, picture: Pixels, beard: bool) -> Pixels:
        """A decoded texture picture (h, w, 3), RGB, as even skin. beard: whether darkness about the mouth stays."""
        bare = picture * np.exp(-self.studio)
        hairy = self.zones.lower * np.float32(self._bearded(bare) if beard else 0)
        bare = self._without_blotches(bare, hairy)
        bare = self._shaved(bare, 1 - hairy)
        bare = with_clean_skin(bare, self.zones, self.relief, hairy)
        bare = with_plain_lips(bare, self.zones, self._middle(np.log(np.maximum(bare, 0) + FLOOR)))
        return self._of_one_hue(bare)

    @cached_property
    def relief(self) -> Relief:
        """The relief that the skin of the model's faces usually has."""
        return relief_of(self.mean * np.exp(-self.studio), self.zones)

    def _bearded(self, picture: Pixels) -> float:
        """How surely a picture shows a beard, 0 to 1; a darkness in between looks like dirt."""
        lower = self.zones.lower * self.zones.bare
        level = np.log(np.maximum(picture, 0) + FLOOR) @ LUMA
        darkness = float(
            np.median(level[self.zones.skin * (1 - self.zones.lower) > 0.5]) - np.average(level, weights=lower)
        )
        least, sure = _BEARDED
        return float(smooth_step((darkness - least) / (sure - least)))

    def _middle(self, picture: Pixels) -> Pixels:
        """Median (3,) of the skin of a picture (h, w, 3), over every fifth pixel, which takes a fifth of the time."""
        return np.asarray(np.median(picture.reshape(-1, 3)[self._fifth], axis=0), np.float32)

    @cached_property
    def _fifth(self) -> NDArray[np.intp]:
        """Numbers of every fifth pixel of skin."""
        return np.flatnonzero(self.zones.skin > 0)[::5]

    def _without_blotches(self, picture: Pixels, hairy: Pixels) -> Pixels:
        log = np.log(np.maximum(picture, 0) + FLOOR)
        away = self.zones.blurred(log, "bare", _BLOTCH_SCALES) - self._middle(log)
        level = (away @ LUMA)[:, :, None]
        hairy = hairy[:, :, None]
        share = _KEPT_BLOTCH + (_KEPT_BEARD - _KEPT_BLOTCH) * hairy
        kept = np.clip(share * level, _BLOTCH[0] + (_BEARD - _BLOTCH[0]) * hairy, _BLOTCH[1])
        tint = np.clip(_KEPT_TINT * (away - level), -_TINT, _TINT)
        gain = kept + tint - away
        gain = cv2.GaussianBlur(gain.astype(np.float32), (0, 0), 0.01 * picture.shape[1])
        return under_gain(picture, np.asarray(gain, np.float32))

    def _shaved(self, picture: Pixels, bare: Pixels) -> Pixels:
        """A picture without stubble, to the degree bare (h, w), 0 to 1."""
        width, lips = picture.shape[1], self.zones.lips
        level = np.log(np.maximum(picture, 0) + FLOOR) @ LUMA
        dark = level - self.zones.blurred(level[:, :, None], "skin", (0.12,))[:, :, 0]
        kept = np.where(dark < _STUBBLE, _STUBBLE + _KEPT_STUBBLE * (dark - _STUBBLE), dark)
        gain = (kept - dark) * self.zones.lower * (1 - lips) * bare
        gain = cv2.GaussianBlur(gain.astype(np.float32), (0, 0), 0.004 * width)
        return under_gain(picture, gain[:, :, None])

    def _of_one_hue(self, picture: Pixels) -> Pixels:
        log = np.log(np.maximum(picture, 0) + FLOOR)
        colour = log - (log @ LUMA)[:, :, None]
        away = colour - self._middle(colour)
        other = 1 - np.maximum(self.zones.lips, self.zones.eyes)
        gain = (np.clip(away, *_HUE) - away) * other[:, :, None]
        return np.asarray(np.clip(under_gain(picture, gain), 0, 255), np.float32)


def zones_inside(mean_shape: Points, table: WarpTable) -> Zones:
    """Zones of the model's frame, with its mesh at mean_shape (81, 2); skin lies inside the mesh."""
    zones = Zones.of(mean_shape, table.size[0], table.size)
    inside = np.zeros(zones.skin.shape, np.float32)
    inside[table.rows, table.columns] = 1
    return replace(zones, skin=zones.skin * inside)


def studio_field(mean: Pixels, skin: Pixels) -> Pixels:
    """Log light float32 (h, w, 3) of a mean face's picture (h, w, 3) on plain skin (h, w), continued under its features
    and the same on both sides."""
    log = np.log(np.maximum(mean, 4)).astype(np.float32)
    soft = cv2.GaussianBlur(masked_blur(log, skin, _STUDIO_SCALES), (0, 0), 0.01 * mean.shape[1])
    shade = soft - np.median(soft[skin > 0], axis=0)
    return np.asarray((shade + shade[:, ::-1]) / 2, np.float32)
