"""Albedo: a decoded face as even skin, without the light of the studio it was photographed in.

The training photographs share one light: dark sides of nose and cheeks, a bright forehead. Laid into another light it
looks like a mask, and no light of the scene can undo it. So it is divided out of what is decoded: the *studio field*
is the soft shading of the mean face's plain skin, mirrored and averaged, and it is stored in the model file. What a
single face has of soft blotches besides (traces of sheen, shadows, colours of hair) is held back.

All this is a function of the surrogate alone: it tells nothing of the person, and the space of identities is untouched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np

from streamdeid.aam.piecewise_affine import Pixels, Points, WarpTable
from streamdeid.aam.zones import Zones
from streamdeid.core.colour import LUMA

FLOOR = np.float32(8)
"""Grey levels added before a logarithm is taken: dark pixels are mostly noise."""
_STUDIO_SCALES = (0.035, 0.07, 0.14, 0.3)
"""Blurs of the studio field, shares of the frame's width: the narrow one where there is skin, wider ones to carry it
on under eyes, brows and lips."""
_BLOTCH_SCALES = (0.04, 0.08, 0.2, 0.4)
_KEPT_BLOTCH, _KEPT_BEARD = 0.2, 0.7
"""Shares of soft differences of brightness that stay: on skin, and on the lower face of who may have a beard."""
_BLOTCH, _BEARD = (-0.06, 0.04), -0.22
"""Bounds of what stays, natural log; the lower bound on a beard."""
_KEPT_TINT, _TINT = 0.2, 0.015
"""The same for soft differences of colour."""
_KEPT_LID, _LID = 0.6, (-0.16, 0.0)
"""The same for brightness of lids."""
_STUBBLE, _KEPT_STUBBLE = -0.04, 0.3
"""Darkness about the mouth, natural log, up to which nobody calls it a beard, and the share kept of what is beyond."""
_LIP_LIFT = 0.1
"""Most that lips are brightened with the skin about them, natural log: what is darker is a beard, and they have none.
In 40 faces of the model it is 0.05 at most."""
_LIP_SHADOW = 0.55
"""Share of the dark blotches of lips that is taken off with a moustache: its hairs hang over them."""
_HUE = (np.array([-0.05, -0.03, -0.06], np.float32), np.array([0.07, 0.03, 0.05], np.float32))
"""Range of log RGB, brightness taken off, about skin's: dark hair in brows is blue after its tone was brought to a
mean."""


@dataclass(frozen=True)
class Albedo:
    """What is constant for a model."""

    zones: Zones
    """In the model's frame; its skin lies inside the mesh."""
    studio: Pixels
    """float32 (h, w, 3): natural log of the studio's light, 0 in the median over plain skin."""

    def even(self, picture: Pixels, beard: bool) -> Pixels:
        """A decoded texture picture (h, w, 3), RGB, as even skin. beard: whether darkness about the mouth stays."""
        bare = picture * np.exp(-self.studio)
        bare = self._with_even_lids(self._without_blotches(bare, beard))
        if not beard:
            bare = self._shaved(bare)
        return self._of_one_hue(bare)

    def _middle(self, picture: Pixels) -> Pixels:
        """Median (3,) of the skin of a picture (h, w, 3): of every fifth pixel, in a fifth of the time."""
        return np.asarray(np.median(picture[self.zones.skin > 0][::5], axis=0), np.float32)

    def _with_even_lids(self, picture: Pixels) -> Pixels:
        """Lids are neither plain skin nor brow: their soft colour, shadow of a brow or make-up of a donor, is held back
        by itself."""
        log = np.log(np.maximum(picture, 0) + FLOOR)
        plain = np.clip(2.5 * self.zones.lids - 1.5, 0, 1)  # where no lash and no hair of a brow darkens it
        away = masked_blur(log - self._middle(log), plain, (0.02,))
        level = (away @ LUMA)[:, :, None]
        kept = np.clip(_KEPT_LID * level, *_LID) + np.clip(_KEPT_TINT * (away - level), -_TINT, _TINT)
        gain = (kept - away) * self.zones.lids[:, :, None]
        return under_gain(picture, gain)

    def _without_blotches(self, picture: Pixels, beard: bool) -> Pixels:
        soft = masked_blur(np.log(np.maximum(picture, 0) + FLOOR), self.zones.skin, _BLOTCH_SCALES)
        away = soft - self._middle(soft)
        level = (away @ LUMA)[:, :, None]
        hairy = self.zones.lower[:, :, None] * np.float32(beard)
        share = _KEPT_BLOTCH + (_KEPT_BEARD - _KEPT_BLOTCH) * hairy
        kept = np.clip(share * level, _BLOTCH[0] + (_BEARD - _BLOTCH[0]) * hairy, _BLOTCH[1])
        tint = np.clip(_KEPT_TINT * (away - level), -_TINT, _TINT)
        gain = kept + tint - away
        gain -= (np.maximum(gain @ LUMA - _LIP_LIFT, 0) * self.zones.lips)[:, :, None]
        gain = cv2.GaussianBlur(gain.astype(np.float32), (0, 0), 0.01 * picture.shape[1])
        return under_gain(picture, np.asarray(gain, np.float32))

    def _shaved(self, picture: Pixels) -> Pixels:
        width, lips = picture.shape[1], self.zones.lips
        level = np.log(np.maximum(picture, 0) + FLOOR) @ LUMA
        dark = level - masked_blur(level[:, :, None], self.zones.skin, (0.12,))[:, :, 0]
        kept = np.where(dark < _STUBBLE, _STUBBLE + _KEPT_STUBBLE * (dark - _STUBBLE), dark)
        gain = (kept - dark) * self.zones.lower * (1 - lips)
        blotches = cv2.GaussianBlur(level - level[lips > 0.8].mean(), (0, 0), 0.0125 * width)
        gain = gain - _LIP_SHADOW * np.minimum(blotches, 0) * lips
        gain = cv2.GaussianBlur(gain.astype(np.float32), (0, 0), 0.004 * width)
        return under_gain(picture, gain[:, :, None])

    def _of_one_hue(self, picture: Pixels) -> Pixels:
        log = np.log(np.maximum(picture, 0) + FLOOR)
        colour = log - (log @ LUMA)[:, :, None]
        away = colour - self._middle(colour)
        other = 1 - np.maximum(self.zones.lips, self.zones.eyes)
        gain = (np.clip(away, *_HUE) - away) * other[:, :, None]
        return np.asarray(np.clip(under_gain(picture, gain), 0, 255), np.float32)


def under_gain(picture: Pixels, gain: Pixels) -> Pixels:
    """A picture float32 (h, w, 3) with a gain (h, w, 1 or 3), natural log, on what lies above `FLOOR`."""
    return np.asarray((picture + FLOOR) * np.exp(gain) - FLOOR, np.float32)


def zones_inside(mean_shape: Points, table: WarpTable) -> Zones:
    """Zones of the model's frame, its mesh at mean_shape (81, 2); skin lies inside the mesh."""
    zones = Zones.of(mean_shape, table.size[0], table.size)
    inside = np.zeros(zones.skin.shape, np.float32)
    inside[table.rows, table.columns] = 1
    return replace(zones, skin=zones.skin * inside)


def studio_field(mean: Pixels, skin: Pixels) -> Pixels:
    """Log light float32 (h, w, 3) of a mean face's picture (h, w, 3) on plain skin (h, w), carried on under its
    features, the same on both sides."""
    log = np.log(np.maximum(mean, 4)).astype(np.float32)
    soft = cv2.GaussianBlur(masked_blur(log, skin, _STUDIO_SCALES), (0, 0), 0.01 * mean.shape[1])
    shade = soft - np.median(soft[skin > 0], axis=0)
    return np.asarray((shade + shade[:, ::-1]) / 2, np.float32)


def masked_blur(picture: Pixels, mask: Pixels, shares: tuple[float, ...]) -> Pixels:
    """Blur (h, w, c) of what of a picture (h, w, c) lies in a mask (h, w): the first of several widths, growing shares
    of the picture's, at which enough of the mask is near."""
    height, width = mask.shape
    mask = mask.astype(np.float32)
    kept = (picture * mask[:, :, None]).astype(np.float32)
    out, near = np.zeros_like(kept), np.zeros_like(mask)
    for share in shares:
        step = 1 if share < 0.06 else 3  # a wide blur at a third of the size is the same to the eye
        size = width // step, height // step
        small, weight = (cv2.resize(p, size, interpolation=cv2.INTER_AREA) if step > 1 else p for p in (kept, mask))
        sigma = share * width / step
        weight = cv2.GaussianBlur(weight, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT)
        total = cv2.GaussianBlur(small, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT).reshape(*weight.shape, -1)
        blurred, weight = (cv2.resize(p, (width, height)) for p in (total / (weight[:, :, None] + 1e-4), weight))
        enough = np.clip(near / 0.3, 0, 1)[:, :, None]
        out = out * enough + blurred.reshape(kept.shape) * (1 - enough)
        near = np.maximum(near, weight)
    return np.asarray(out, np.float32)
