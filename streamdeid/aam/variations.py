"""A photograph as other cameras would have shown it: small, soft, sharpened, noisy, compressed, in other colours and
other light, slightly turned.

Rules on identity vectors that are fitted to studio photographs alone take a lamp from the side, a soft picture or the
landmarks of a small face for a trait of the person. These variations leave the person unchanged and change only what
differs between cameras. Landmarks are looked for anew in each of them (`filmed` gives the picture), for they err where
faces are small; then light and turn are changed in the model's frame (`variation`).
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.procrustes import align
from streamdeid.aam.train import Sample, mirrored, texture_of_sample
from streamdeid.core.arrays import Pixels, Points

_SIZES = (24.0, 120.0)
"""Least and greatest width of the face, pixels: what surveillance cameras show."""
_GAMMA, _TONE, _SATURATION, _EXPOSURE = 0.2, 0.1, 0.3, 0.3
"""Standard deviations, natural log, of the exponent of brightness, of the level of each colour, of saturation and of
the level of all. Contrast varies by as much as the exponent."""
_SHOWN = (0.5, 1.0)
"""Share of the face's width that the lens and the encoder's scaler leave of its detail."""
_SHARPENED = 1.5
"""Most that a camera sharpens: weight of the difference from a blur of one pixel. From -0.8 to 0 it does not."""
_NOISE = (0.002, 0.03)
"""Least and greatest standard deviation of noise, share of white."""
_QUALITY = (25, 90)
"""Quality of the compression, as JPEG counts it."""
_LEAST_SIDE = 160
"""Least side of the picture, pixels, so that a small face is as small beside it as in a video."""
_LIGHT = 0.35
"""Standard deviation, natural log, of the light's slope from the middle to a side of the face; that of its curvature is
half as much, that of the colour of the whole a quarter."""
_CONTRAST = (0.75, 1.15)
_TURN = 0.25
"""Largest turn of the head to a side and up or down, radians. A face that is turned back to frontal by the mean face's
depth keeps an error where its own depth differs."""


def filmed(image: NDArray[np.uint8], width: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A photograph, RGB uint8 (h, w, 3), with a face of `width` pixels, as another camera would have shown it."""
    reduced = min(1.0, 2 * _SIZES[1] / width)  # no camera of these sees more, and it is quicker
    image = np.asarray(cv2.resize(image, None, fx=reduced, fy=reduced, interpolation=cv2.INTER_AREA), np.uint8)
    width *= reduced
    colours = image.astype(np.float32) / 255
    colours = colours ** np.float32(np.exp(rng.normal(0, _GAMMA)))
    colours *= np.exp(rng.normal(0, _TONE, 3)).astype(np.float32)
    grey = colours.mean(axis=2, keepdims=True)
    colours = grey + (colours - grey) * np.float32(np.exp(rng.normal(0, _SATURATION)))
    level, contrast = np.exp(rng.normal(0, _EXPOSURE)), np.exp(rng.normal(0, _GAMMA))
    mean = float(colours.mean())
    colours = np.clip((colours - np.float32(mean)) * np.float32(contrast) + np.float32(mean * level), 0, 1)
    scale = float(np.exp(rng.uniform(*np.log(_SIZES)))) / width
    height, across = (max(2, round(side * scale)) for side in image.shape[:2])
    detail = scale * rng.uniform(*_SHOWN)
    colours = cv2.resize(colours, None, fx=detail, fy=detail, interpolation=cv2.INTER_AREA)
    colours = cv2.resize(colours, (across, height), interpolation=cv2.INTER_CUBIC)
    sharpened = max(0.0, rng.uniform(-0.8, _SHARPENED))
    colours = colours + np.float32(sharpened) * (colours - cv2.GaussianBlur(colours, (0, 0), 1.0))
    noise = np.exp(rng.uniform(*np.log(_NOISE))) * rng.standard_normal(colours.shape)
    seen = np.rint(255 * np.clip(colours + noise, 0, 1)).astype(np.uint8)
    written = cv2.imencode(".jpg", seen[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, int(rng.uniform(*_QUALITY))])[1]
    read = np.asarray(cv2.imdecode(written, cv2.IMREAD_COLOR), np.uint8)[:, :, ::-1]
    border = max(0, _LEAST_SIDE + 1 - min(height, across)) // 2
    framed = cv2.copyMakeBorder(read, border, border, border, border, cv2.BORDER_REPLICATE)
    return np.ascontiguousarray(framed)


def variation(given: Sample, model: AppearanceModel, rng: np.random.Generator) -> Points:
    """Identity vector (d,) of a sample in another light, turned a little, and every other time seen in a mirror."""
    given = mirrored(given) if rng.random() < 0.5 else given
    shape = _turned(given, model, rng)
    return model.identity(shape, _lit(texture_of_sample(given, model.mean_shape, model.table), model, rng))


def _turned(given: Sample, model: AppearanceModel, rng: np.random.Generator) -> Points:
    to_frame = align(given.points, model.mean_shape)
    own = (given.depth - given.depth.mean()) * to_frame.scale
    turn = np.sin(rng.uniform(-_TURN, _TURN, 2))
    shape: Points = to_frame(given.points) + (own - model.depth)[:, None] * turn
    return shape


def _lit(texture: Pixels, model: AppearanceModel, rng: np.random.Generator) -> Pixels:
    width, height = model.frame_size
    x = (model.table.columns - width / 2) / (width / 2)
    y = (model.table.rows - height / 2) / (height / 2)
    terms = np.column_stack([x, y, x * x, x * y, y * y])
    level = terms @ (rng.normal(0, _LIGHT, 5) * (1, 1, 0.5, 0.5, 0.5))
    tone = rng.normal(0, _LIGHT / 4, 3)
    middle = texture.mean(axis=0)
    flat = middle + rng.uniform(*_CONTRAST) * (texture - middle)
    return np.asarray(np.clip(flat * np.exp(level[:, None] + tone), 0, 255), np.float32)
