"""A surrogate's own colours in the light of a frame: what every way of drawing it begins with."""

from __future__ import annotations

import cv2
import numpy as np

from streamdeid.aam.piecewise_affine import Pixels
from streamdeid.aam.synthesise import to_yuv
from streamdeid.colour import yuv_from_rgb
from streamdeid.deidentify.eyes import EyeColours
from streamdeid.deidentify.new_face import NewFace
from streamdeid.frames import Colour

_KNEE = np.float32(205)
"""Grey level from which highlights are compressed."""


def lit_texture(
    face: NewFace, gain: Pixels, flat: float, colour: Colour, size: tuple[int, int] | None = None
) -> Pixels:
    """The surrogate's texture under a gain of light float32 (gh, gw, 3), YUV of the given colour, float32 (h, w, 3).

    flat: its contrast. size: width and height of the result, reduced by area; the model's frame when not given.
    """
    picture = face.picture
    if size is not None:
        picture = np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.float32)
    height, width = picture.shape[:2]
    field = np.asarray(cv2.resize(gain, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)
    return to_yuv(_in_light(picture, face, field, flat), *yuv_from_rgb(colour))


def lit_eye(face: NewFace, eye: int, gain: Pixels, colour: Colour) -> EyeColours:
    """Colours of an eye (0: image-left) under the gain (3,) of light at its place, YUV of the given colour."""
    own = face.eyes[eye]
    colours = _in_light(np.stack([own.sclera, own.iris, own.pupil])[None], face, gain, 1.0)
    sclera, iris, pupil = to_yuv(colours, *yuv_from_rgb(colour))[0]
    return EyeColours(sclera, iris, pupil)


def _in_light(colours: Pixels, face: NewFace, ratio: Pixels, flat: float) -> Pixels:
    """RGB colours (..., 3) of a surrogate under a gain of light, with its contrast."""
    lit = ((face.middle + np.float32(flat) * (colours - face.middle)) * ratio).astype(np.float32)
    over = np.maximum(lit - _KNEE, 0)
    lit -= over * over / (over + (255 - _KNEE))  # a lamp that is brighter here than in the studio is not to burn out
    return lit
