"""The ad hoc masks of Newton, Sweeney, Malin 2005 (P5), section 5.3, on registered grey face images (methods.md 1.3).

Images are (n, h, w) grey levels 0 to 255 as float64 or uint8, with the faces upright and in one place, 134 rows by 99
columns in P5. Results are new float64 arrays. `render.masks` has the same redactions for a stream. There a mask lies
somewhere in a picture of three planes, follows landmarks or a box, has the picture's own black and must fail closed.
Here a whole array of registered faces is changed at once, and positions are fractions of the image. The two share the
block means. The masks here are kept to be attacked, not to be used: only the black-out hides a face
(`surrogates.guarantee`).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.errors import SettingsError

Grey: TypeAlias = Floats | NDArray[np.uint8]
Span = tuple[float, float]
"""Start and end as fractions of the image's height or width."""

FRAME = (134, 99)
"""Rows and columns of P5's face images."""
EYE_ROWS: Span = (0.28, 0.46)
"""Rows of the bar, which spans all columns: 24 of 134 rows, for faces whose eyes lie at 0.37 of the height, where
`lab.papers.registered_faces` puts them. P5 shows its bar (figure 5b) but gives no figures."""
NOSE_ROWS: Span = (0.28, 0.62)
NOSE_COLUMNS: Span = (0.36, 0.64)
"""The upright of the T, from the bar to below the nose (figure 5c)."""
_POSITION_SEED = 2005


def black_out(images: Grey, value: float = 0.0) -> Floats:
    """Set every pixel to `value`."""
    return np.full_like(_checked(images), value)


def bar_mask(images: Grey, value: float = 0.0, rows: Span = EYE_ROWS) -> Floats:
    """Lay a band of one grey level over the eyes, across the whole image."""
    result = _checked(images).copy()
    result[:, _part(rows, result.shape[1])] = value
    return result


def t_mask(
    images: Grey,
    value: float = 0.0,
    rows: Span = EYE_ROWS,
    nose_rows: Span = NOSE_ROWS,
    nose_columns: Span = NOSE_COLUMNS,
) -> Floats:
    """Lay the bar over the eyes, and an upright of the same grey level over the nose."""
    result = bar_mask(images, value, rows)
    result[:, _part(nose_rows, result.shape[1]), _part(nose_columns, result.shape[2])] = value
    return result


def pixelate_blocks(images: Grey, block: int) -> Floats:
    """Replace blocks of `block` x `block` pixels by their means; P5 uses 15, 20 and 30.

    Blocks start at the top left; the last ones are partial where the size does not divide the image. Means are not
    rounded. Raises SettingsError when `block` is below 1.
    """
    if block < 1:
        raise SettingsError(f"a block must be at least 1 pixel wide, not {block}")
    return block_means(_checked(images), block)


def block_means(pixels: Floats, step: int) -> Floats:
    """Replace blocks of `step` x `step` pixels by their means, float64 (…, h, w); the last blocks may be partial."""
    height, width = pixels.shape[-2:]
    row_starts, column_starts = np.arange(0, height, step), np.arange(0, width, step)
    sums = np.add.reduceat(np.add.reduceat(pixels, row_starts, axis=-2), column_starts, axis=-1)
    heights, widths = np.diff(row_starts, append=height), np.diff(column_starts, append=width)
    means = sums / np.outer(heights, widths)
    return np.asarray(np.repeat(np.repeat(means, heights, axis=-2), widths, axis=-1), dtype=np.float64)


def random_noise(images: Grey, pixels: int, rng: np.random.Generator, position_seed: int = _POSITION_SEED) -> Floats:
    """Put random grey levels, whole numbers 0 to 255, at `pixels` positions (P5: up to 13,266).

    "The same set of pixels is randomly perturbed in each image": positions depend on `position_seed` and the image's
    size only, and the positions of fewer pixels are among those of more. Levels are sampled from `rng` anew for each
    image, so an attacker who repeats the method has the positions but other levels. Raises SettingsError for a wrong
    number of pixels.
    """
    result = _checked(images).copy()
    flat = result.reshape(len(result), result.shape[1] * result.shape[2])
    where = _positions(flat.shape[1], pixels, position_seed)
    flat[:, where] = rng.integers(0, 256, (len(flat), pixels))
    return result


def black_white_flip(images: Grey, pixels: int, level: float = 118.0, position_seed: int = _POSITION_SEED) -> Floats:
    """Flip `pixels` positions, the same in all images, between 0 and 255: P5's noise for black and white images.

    Images are first made black and white at `level`, which changes nothing in those that are so already (0 < level ≤
    255). Only the positions are random, so flipping all pixels gives the negative. Raises SettingsError as
    `random_noise`.
    """
    result = np.ascontiguousarray(threshold_at_level(images, level))  # contiguous, so that `flat` is a view
    flat = result.reshape(len(result), result.shape[1] * result.shape[2])
    where = _positions(flat.shape[1], pixels, position_seed)
    flat[:, where] = 255.0 - flat[:, where]
    return result


def threshold_at_level(images: Grey, level: float) -> Floats:
    """Set pixels below a grey level to black (0), and pixels at or above it to white (255)."""
    return np.where(_checked(images) >= level, 255.0, 0.0)


def _checked(images: Grey) -> Floats:
    pixels = np.asarray(images, dtype=np.float64)
    if pixels.ndim != 3 or pixels.shape[1] == 0 or pixels.shape[2] == 0:
        raise SettingsError(f"face images must be (n, rows, columns), not {pixels.shape}")
    return pixels


def _part(span: Span, length: int) -> slice:
    start, stop = (round(fraction * length) for fraction in span)
    if not 0 <= start < stop <= length:
        raise SettingsError(f"a mask from {span[0]} to {span[1]} covers no part of an image {length} pixels long")
    return slice(start, stop)


def _positions(count: int, pixels: int, seed: int) -> NDArray[np.int64]:
    if not 0 <= pixels <= count:
        raise SettingsError(f"{pixels} pixels cannot be changed in images of {count}")
    return np.asarray(np.random.default_rng(seed).permutation(count)[:pixels], dtype=np.int64)
