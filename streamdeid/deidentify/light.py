"""Light, soft folds and skin tone: one low-frequency field over the face (METHODS 4.0 step 4, 2.4).

Everything is measured in a small frame (the fit's, 64 pixels wide) and carried as ratios, so that the person's own
albedo cancels and no fine detail passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import Pixels, Points, WarpTable, spread

_SIGMA = 9 / 180
"""Width of the blur over the width of the frame."""
_FLOOR = 8.0
"""Grey levels added above and below the ratio: dark pixels are mostly noise."""
_RATIO = (0.4, 2.2)
_CONTRAST = (0.75, 1.1)
_MOST = 0.6
"""Largest static brightening or darkening, natural log."""
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


@dataclass(frozen=True)
class LightFrame:
    """The small frame and what is constant in it."""

    table: WarpTable
    mask: Pixels
    """float32 (h, w): blurred mask, the normaliser."""
    studio: Pixels
    """float32 (h, w): soft log luminance of the mean face, its median taken off: the light of the training set."""

    @classmethod
    def of(cls, table: WarpTable, mean: Pixels) -> LightFrame:
        """Light frame over a small warp table; mean (f, 3) is the mean face's small texture."""
        mask = spread(np.ones((len(table.rows), 1), np.float32), table)[:, :, 0]
        bare = cls(table, _blur(mask, table) + 1e-3, mask)
        # Blurred twice: how much of it there is must not carry anything finer than the field itself.
        twice = bare.soft(bare.soft(mean)[table.rows, table.columns])
        soft = np.log(twice @ _LUMA + _FLOOR)
        studio = np.where(mask > 0, soft - np.median(soft[table.rows, table.columns]), 0)
        return cls(table, bare.mask, studio.astype(np.float32))

    def soft(self, texture: Pixels) -> Pixels:
        """Blurred picture float32 (h, w, 3) of a small texture (f, 3)."""
        smooth: Pixels = _blur(spread(texture, self.table), self.table) / self.mask[:, :, None]
        return smooth


def light_ratio(light: LightFrame, texture: Pixels, neutral: Pixels) -> Pixels:
    """Ratio float32 (h, w, 3) of a frame's light and folds, texture (f, 3), to those of the neutral face (f, 3)."""
    ratio = (light.soft(texture) + _FLOOR) / (light.soft(neutral) + _FLOOR)
    clipped: Pixels = np.clip(ratio, *_RATIO)
    return clipped


def static_light(light: LightFrame, neutral: Pixels, surrogate: Pixels, skin: Points | None) -> Pixels:
    """Gain float32 (h, w, 3) that gives the surrogate's small texture (f, 3) the scene's tone and direction of light.

    neutral: the person's small neutral texture (f, 3). skin: colour (3,) of skin outside the hull, or None when there
    is none to be seen; the chroma then lies a third of the way from the hull's to it. A mean colour and a surface in
    log luminance (six numbers) is all that is taken over: enough to sit in the scene, far too little for a likeness.
    """
    hull, own = np.median(neutral, axis=0), np.maximum(np.median(surrogate, axis=0), 1.0)
    tone = hull / own
    luma = float(np.median(neutral @ _LUMA) / max(float(np.median(surrogate @ _LUMA)), 1.0))
    if skin is not None:
        hull = np.maximum(hull, 1.0)
        # A third of the way only: a neck is often in another light.
        chroma = (skin / skin.sum()) ** (1 / 3) * (hull / hull.sum()) ** (2 / 3) / own
        tone = chroma * (luma / float((chroma * own) @ _LUMA / (own @ _LUMA)))
    places = _places(light, light.table.columns, light.table.rows)
    level = np.log((neutral @ _LUMA + _FLOOR) / (surrogate @ _LUMA + _FLOOR)) - np.log(max(luma, 1e-3))
    solution = _robust_surface(places, level)
    width, height = light.table.size
    rows, columns = np.mgrid[0:height, 0:width]
    surface = np.clip(_places(light, columns.ravel(), rows.ravel()) @ solution, -_MOST, _MOST).reshape(height, width)
    gain: Pixels = (np.exp(surface)[:, :, None] * tone).astype(np.float32)
    return gain


def contrast(light: LightFrame, neutral: Pixels, surrogate: Pixels) -> float:
    """Factor for the surrogate's differences from its mean colour: footage that is bright, hazy or badly exposed is
    flatter than the studio. Spread of the soft log luminance of the person's small neutral texture over that of the
    surrogate's (both (f, 3)), held to `_CONTRAST`."""
    rows, columns = light.table.rows, light.table.columns
    spreads = []
    for texture in (neutral, surrogate):
        soft = np.log(light.soft(texture)[rows, columns] @ _LUMA + _FLOOR)
        low, high = np.percentile(soft, [15, 85])
        spreads.append(max(float(high - low), 0.02))
    return float(np.clip(spreads[0] / spreads[1], *_CONTRAST))


def outside_skin(colours: Pixels, inside: Points) -> Points | None:
    """Median colour (3,) of those colours (n, 3) of the surroundings that could be the skin of a face of colour
    inside (3,): much the same chroma and not far in brightness. None when too few are."""
    if len(colours) == 0:
        return None
    chroma = colours / np.maximum(colours.sum(axis=1, keepdims=True), 1.0)
    wanted = inside / max(float(inside.sum()), 1.0)
    bright = colours.sum(axis=1) / max(float(inside.sum()), 1.0)
    skin = (np.abs(chroma - wanted).max(axis=1) < 0.045) & (bright > 0.4) & (bright < 1.6)
    if skin.mean() < 0.1:
        return None
    colour: Points = np.median(colours[skin], axis=0).astype(np.float64)
    return colour


def _blur(picture: Pixels, table: WarpTable) -> Pixels:
    sigma = _SIGMA * table.size[0]
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT), np.float32)


def _places(light: LightFrame, columns: NDArray[Any], rows: NDArray[Any]) -> Points:
    """Terms of the static light, float64 (n, 7), at pixels of the small frame: a surface of second order, and how
    much of the studio's own shading (dark sides of the nose, bright forehead) there is."""
    width, height = light.table.size
    x, y = (columns - width / 2) / (width / 2), (rows - height / 2) / (height / 2)
    return np.column_stack([np.ones(len(x)), x, y, x * x, x * y, y * y, light.studio[rows, columns]])


def _robust_surface(places: Points, level: Pixels) -> Points:
    """Coefficients (7,) of level (n,) over places (n, 7), by reweighted least squares (Cauchy weights): brows, eyes,
    lips and hair are outliers."""
    weights = np.ones(len(places))
    solution = np.zeros(places.shape[1])
    for _ in range(5):
        weighted = places * weights[:, None]
        ridge = 2e-3 * len(places) * np.diag([0.0, 1, 1, 1, 1, 1, 0.2])
        solution = np.linalg.solve(weighted.T @ places + ridge, weighted.T @ level)
        weights = 1 / (1 + ((level - places @ solution) / 0.12) ** 2)
    return solution
