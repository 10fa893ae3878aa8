"""A surrogate's own colours in the light of a frame: the first step of every way of rendering it."""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.linear_grid import line_between, places_between
from streamdeid.aam.masked_blur import under_gain
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels
from streamdeid.core.colour import LUMA, yuv_from_rgb
from streamdeid.core.frames import Colour
from streamdeid.core.kernel_cache import kernel
from streamdeid.render.eyes import EyeColours
from streamdeid.render.light import StaticLight
from streamdeid.render.new_face import NewFace

_KNEE = 235.0
"""Grey level from which highlights are compressed and keep their hue: a lamp that is brighter here than in the studio
must not burn out."""
_EYE_TINT, _WARM, _MORE = 0.35, 0.1, 0.55
"""Share of the light's colour in which eyes are shown: most of what is taken for the light's colour is the tone of the
skin, and pale skin would make whites blue. Where the light lacks more blue than the second figure (log), eyes show up
to the third figure more of it: under yellow lamps grey whites look blue, and so do brown irises."""


def dressed(face: NewFace, light: StaticLight, zones: Zones, hair: Pixels) -> Pixels:
    """The surrogate's picture float32 (h, w, 3), with brows and lips in tones that go with the person's.

    hair: `thin_brows.darkness` of the picture.
    """
    gain = (zones.brows * np.float32(light.brows - 1) * hair)[:, :, None]
    gain = gain + zones.lips[:, :, None] * light.lips.astype(np.float32)
    return under_gain(face.picture, gain)


def lit_texture(picture: Pixels, field: Pixels, colour: Colour, size: tuple[int, int] | None = None) -> Pixels:
    """A surrogate's picture (h, w, 3) under a field of light, as YUV of the given colour, float32 (h, w, 3).

    field: float32 (gh, gw, 3 or 1), natural log of the gain. size: width and height of the result, reduced by area; the
    picture's own when not given.
    """
    if size is not None:
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.float32)
    out = np.empty_like(picture)
    _lit(np.ascontiguousarray(picture), np.exp(np.asarray(field, np.float32)), *yuv_from_rgb(colour), _KNEE, out)
    return out


def at_eye(field: Pixels, eye: int, model: AppearanceModel) -> Pixels:
    """The value of a field (gh, gw, c) over the model's frame at an eye (0: image-left)."""
    width, height = model.frame_size
    x, y = model.iris[eye, :2]
    value: Pixels = field[int(y * field.shape[0] / height), int(x * field.shape[1] / width)]
    return value


def lit_eye(own: EyeColours, here: Pixels, colour: Colour) -> EyeColours:
    """The colours of an eye under the light at its place, natural log of the gain (3,), in YUV."""
    level = np.float32(here @ LUMA if len(here) == 3 else here[0])
    tint = np.float32(_EYE_TINT + _MORE * max(0.0, 1 - _WARM / max(float(level - here[-1]), _WARM)))
    here = np.asarray(level + tint * (here - level), np.float32)
    colours = np.stack([own.sclera, own.iris, own.pupil])[None].astype(np.float32)
    out = np.empty_like(colours)
    gain = np.exp(np.broadcast_to(here, (1, 1, 3)).astype(np.float32))
    _lit(colours, gain, *yuv_from_rgb(colour), _KNEE, out)
    sclera, iris, pupil = out[0]
    return EyeColours(sclera, iris, pupil)


@kernel
def _lit(picture, gain, matrix, offset, knee, out):  # type: ignore[no-untyped-def]
    """A picture (h, w, 3) under a gain on a coarse grid (gh, gw, 1 or 3), as YUV (h, w, 3)."""
    height, width = picture.shape[:2]
    channels = gain.shape[2]
    limit = np.float32(knee)
    room = np.float32(255 - knee)
    rows, down = places_between(gain.shape[0], height)
    columns, across = places_between(gain.shape[1], width)
    few, lines = np.empty(gain.shape[1], np.float32), np.empty((3, width), np.float32)
    planes = [np.ascontiguousarray(gain[:, :, c]) for c in range(channels)]
    yr, yg, yb, y0 = matrix[0, 0], matrix[0, 1], matrix[0, 2], offset[0]
    ur, ug, ub, u0 = matrix[1, 0], matrix[1, 1], matrix[1, 2], offset[1]
    vr, vg, vb, v0 = matrix[2, 0], matrix[2, 1], matrix[2, 2], offset[2]
    for y in range(height):
        for c in range(channels):
            line_between(planes[c], rows[y], down[y], columns, across, few, lines[c])
        reds, greens, blues = lines[0], lines[min(1, channels - 1)], lines[channels - 1]
        for x in range(width):
            r, g, b = picture[y, x, 0] * reds[x], picture[y, x, 1] * greens[x], picture[y, x, 2] * blues[x]
            peak = max(r, g, b)
            if peak > limit:
                over = peak - limit
                less = (peak - over * over / (over + room)) / peak
                r, g, b = r * less, g * less, b * less
            out[y, x, 0] = yr * r + yg * g + yb * b + y0
            out[y, x, 1] = ur * r + ug * g + ub * b + u0
            out[y, x, 2] = vr * r + vg * g + vb * b + v0
