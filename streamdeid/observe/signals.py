"""Measures signs that a face must not be trusted: blur, an occluder, a fit that got worse (methods.md 4.5).

All of them are measured on the small RGB texture in the fit's frame, so that they do not depend on the face's size or
turn. Thresholds are in `levels`; `benchmarks/looks/levels.py` measures each signal on clips.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.fit import Fit, FitModel
from streamdeid.aam.piecewise_affine import WarpTable, spread
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import LEFT_EYE, MOUTH, RIGHT_EYE
from streamdeid.core.kernel_cache import kernel

_LUMA = np.array([0.299, 0.587, 0.114])
_FLOOR = 8.0
"""Grey levels added before a logarithm, because dark pixels are mostly noise."""
_FINE, _COARSE = (0.7, 1.5), (2.0, 4.0)
"""Bands whose detail is compared for sharpness: sigmas in pixels of the fit's frame, 64 wide."""
_SHARP_WIDTH = 64.0
"""Width in pixels from which a face can be as sharp as the fit's frame shows."""
_EDGE = 2
"""Pixels along the mesh's rim that are left out of the measure of sharpness."""
_ODD_CHROMA, _ODD_LUMA = 0.07, 0.9
"""Distance from the face's median colour from which a colour cannot be skin: in the share of R + G + B of a channel,
and in log luma. On open faces of the clips shadows and lamps stay under it, except for 6 % of the skin."""
_CHANGED = 0.25
"""Change of log colour, with the face's own median change taken off, from which a triangle shows something else."""
_USUAL, _HELD = 2.0, 8.0
"""Seconds in which a track's usual colours and residual follow the present ones, and the same while they differ
much."""
_MUCH = 0.1
"""Share of changed triangles, and rise of the residual, from which they differ much."""


@dataclass(frozen=True)
class Signals:
    """Signs that one face in one frame must not be trusted."""

    sharpness: float
    """Fine detail over coarse detail, in the direction that has least of it: about 1.2 in a sharp photograph, 0.5 when
    it is blurred with a sigma of 3 % of its width."""
    odd: float
    """Share of the skin whose colour is not a skin colour."""
    changed: float
    """Share of the mesh that looks different from what it was over the last seconds."""
    strain: float
    """How much worse the model fits than over the last seconds (residual)."""


class SignalReader:
    """Reads the signals of one track from frame to frame; its state is what is usual for the track."""

    def __init__(self, fitting: FitModel) -> None:
        self._table = table = fitting.table
        triangles = table.triangles
        self._count = np.bincount(table.triangle, minlength=len(triangles)).astype(np.float64)
        eyes = np.isin(triangles, np.r_[LEFT_EYE, RIGHT_EYE]).sum(axis=1) >= 2
        lips = np.isin(triangles, np.r_[MOUTH]).all(axis=1)
        self._skin = ~(eyes | lips) & (self._count > 0)
        self._sharpness = Sharpness(table)
        self._colours: Points | None = None
        self._residual = 0.0
        self._time = 0.0

    def __call__(self, texture: Pixels, fit: Fit, time: float, fresh: bool) -> Signals:
        """Signals of a small texture (f, 3) and its fit at a time in seconds; fresh: nothing before this frame
        counts."""
        colours = np.zeros((len(self._count), 3))
        _add_up(texture, self._table.triangle, colours)
        colours /= np.maximum(self._count, 1)[:, None]
        level = np.log(colours + _FLOOR)
        if self._colours is None or fresh:
            self._colours, self._residual = level, fit.residual
        change = level - self._colours
        change -= _median(change)
        changed = _share(np.abs(change).max(axis=1) > _CHANGED, self._count)
        strain = fit.residual - self._residual
        follow = -np.expm1(-max(0.0, time - self._time) / (_HELD if max(changed, strain) > _MUCH else _USUAL))
        self._colours = self._colours + follow * (level - self._colours)
        self._residual += follow * strain
        self._time = time
        return Signals(self._sharpness(texture), self._odd(colours), changed, strain)

    def _odd(self, colours: Points) -> float:
        chroma = colours / np.maximum(colours.sum(axis=1, keepdims=True), 1.0)
        luma = np.log(colours @ _LUMA + _FLOOR)
        usual = _median(chroma[self._skin]), _median(luma[self._skin])
        odd = (np.abs(chroma - usual[0]).max(axis=1) > _ODD_CHROMA) | (np.abs(luma - usual[1]) > _ODD_LUMA)
        return _share(odd, self._count * self._skin)


def relative_sharpness(sharpness: float, width: float) -> float:
    """Sharpness of a face so many pixels wide, relative to what its pixels allow: small faces cannot be as sharp."""
    return sharpness / float(np.sqrt(min(1.0, max(width, 1e-6) / _SHARP_WIDTH)))


class Sharpness:
    """Measures the sharpness of faces (`Signals.sharpness`); its only state is what is constant of the fit's frame."""

    def __init__(self, table: WarpTable) -> None:
        """table: of the fit's frame."""
        self._table = table
        mask = spread(np.ones((len(table.rows), 1), np.float32), table)[:, :, 0]
        self._weights = {sigma: _blur(mask, sigma) + np.float32(1e-3) for sigma in (*_FINE, *_COARSE)}
        side = 2 * _EDGE + 1
        self._inner = cv2.erode(mask, np.ones((side, side), np.uint8)) > 0

    def __call__(self, texture: Pixels) -> float:
        """Sharpness of a small texture, float32 (f, 3): root of the least generalised eigenvalue of two gradient
        tensors, of the fine band over the coarse one. The least is taken because motion blurs one direction only."""
        grey = spread((texture @ _LUMA)[:, None].astype(np.float32), self._table)[:, :, 0]
        soft = {sigma: _blur(grey, sigma) / weight for sigma, weight in self._weights.items()}
        fine, coarse = (self._tensor(soft[a] - soft[b]) for a, b in (_FINE, _COARSE))
        return float(np.sqrt(max(_least_ratio(fine, coarse + 1e-6 * np.eye(2)), 0.0)))

    def _tensor(self, band: Pixels) -> Points:
        tensor = np.zeros((2, 2))
        _add_gradients(band, self._inner, tensor)
        return tensor


@kernel
def _add_up(texture, triangle, colours):  # type: ignore[no-untyped-def]
    """Add the pixels of a texture (f, 3) to the colours (m, 3) of their triangles (f,)."""
    for i in range(len(triangle)):
        for c in range(3):
            colours[triangle[i], c] += texture[i, c]


@kernel
def _add_gradients(band, inner, tensor):  # type: ignore[no-untyped-def]
    """Sum of the products (2, 2) of the gradient of a band (h, w) with itself, where a mask (h, w) is true. Central
    differences, one-sided ones at the border."""
    height, width = band.shape
    for y in range(height):
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        for x in range(width):
            if not inner[y, x]:
                continue
            before, after = max(x - 1, 0), min(x + 1, width - 1)
            across = (np.float64(band[y, after]) - band[y, before]) / (after - before)
            down = (np.float64(band[below, x]) - band[above, x]) / (below - above)
            tensor[0, 0] += across * across
            tensor[0, 1] += across * down
            tensor[1, 1] += down * down
    tensor[1, 0] = tensor[0, 1]


def _least_ratio(fine: Points, coarse: Points) -> float:
    """The least generalised eigenvalue of two symmetric tensors (2, 2): root of det(fine - x coarse)."""
    (a, b), (_, c) = fine
    (d, e), (_, f) = coarse
    area = d * f - e * e
    half, product = (a * f + c * d - 2 * b * e) / (2 * area), (a * c - b * b) / area
    return float(half - np.sqrt(max(half * half - product, 0.0)))


def _median(values: Points) -> Points:
    """Median along the first axis. NumPy's own takes ten times as long for so few values."""
    ordered = np.sort(values, axis=0)
    middle: Points = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return middle


def _share(where: NDArray[np.bool_], weights: Points) -> float:
    return float(weights[where].sum() / weights.sum())


def _blur(picture: Pixels, sigma: float) -> Pixels:
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma, borderType=cv2.BORDER_CONSTANT), np.float32)
