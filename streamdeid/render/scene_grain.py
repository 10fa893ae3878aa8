"""The scene's own sharpness and grain for a rendered face: no face is sharper or cleaner than its surroundings.

Sharpness is the width of the edges: the gradient across an edge of standard deviation s drops by sqrt(1 + (b / s)^2)
when the picture is blurred again by b, so the ratio of both gradients tells s (Zhuo & Sim, Pattern Recognition 44,
2011). It is measured along rows and columns at every maximum of the gradient, and a low quantile counts: shadows and
folds are wide in any picture, and the camera makes the sharpest edges. Grain is what the flattest blocks hold in the
two finest planes of the a trous wavelet transform (Starck & Murtagh, PASP 110, 1998).

Both come from the surroundings (neck, hair, shoulders) alone. Inside the hull only the rendered face is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.synthesise import Mask, Patch
from streamdeid.core.arrays import Pixels, Plane, Points
from streamdeid.core.convex import convex
from streamdeid.core.frames import Planes
from streamdeid.core.kernel_cache import kernel

_REACH = 0.45
"""Width of the surroundings that are looked at, as a share of the face's width."""
_CLEAR = 0.06
"""Width next to the hull that does not count, as a share of the face's width: feather and stray pixels of the face."""
_EVERY = 16
"""Number of frames from one look at the scene to the next: the camera, not the moment, makes sharpness and grain."""
_LINES = 128
"""Number of rows and columns across a face that are searched for edges; in a larger face some are left out."""
_CONTRAST = 4.0
"""Gradient in grey levels per pixel from which there is an edge: several times the grain of a compressed picture."""
_QUANTILE = 0.25
"""Quantile of the widths of edges that counts."""
_BINS, _BIN = 80, 0.05
"""Histogram of the widths of edges: number of bins, and pixels per bin."""
_USUAL = 0.70, 60.0
"""Sharpness in pixels where no edge tells it, the median of 15 clips with people; and how many edges it counts as."""
_SOFTER = 0.15
"""Pixels by which a face's edges are wider than those around it. It is the median over 15 clips of the originals, 0.13
to 0.16 when any one of them is left out."""
_WIDEST = 2.0
"""Largest blur of a face in pixels: it is still a face where the scene is a smear."""
_CRISP = 0.8
"""Largest share of the rendered face's finest detail that is added where the scene is sharper: more makes seams."""
_COLOURS = 0.7
"""Least blur of a face's colours, chroma pixels. A video's colours are softer than its brightness: one in two to four
of a sensor's pixels sees them, they are halved and encoded with less care. Unblurred, a new face's chroma had 1.2 to
3.2 times the fine detail (what a blur of one pixel takes) of the original's, 1.9 in the middle of 22 sizes of face in
13 clips, and blue eyes, red lips and grey brows on faces of 50 pixels; with this, .55 to 1.55 times, .98 in the middle.
In clips of cameras colours pass over four such pixels at a face's edge, too."""
_NEWEST = 0.44
"""Weight of the newest look in the running means: they follow in a second and a half."""
_BLOCK = 8
"""Side of the blocks in which grain is measured, pixels of each plane."""
_FEWEST = 12
"""Fewest blocks from which the grain is known."""
_FLATTEST = 0.1
"""Quantile of the blocks' deviations that is taken for the grain: the other blocks show something. At 0.2 the crowd's
clothes were taken for grain."""
_ALIKE, _ONE_WAY, _MOST = 0.35, 0.45, 0.25
"""Noise has no direction, and what a scene shows has one in each block: hair, cloth, leaves, rails. The coherence of
the gradients in the flattest blocks (0: none, 1: all along one line; Bigun & Granlund 1987) has a median of 0.15 to
0.41 in three scenes with drawn noise of 3 and 6 grey levels, as fine as pixels or twice as coarse, before and after
libx264, wherever 0.6 and more of it is left; in a fourth, all bricks, of 0.29 to 0.82. It is 0.52 to 0.64 in the seven
clips with people whose flattest blocks hold 0.25 and more, which are hair, cloth and rails: a carriage full of rails
gave faces of 70 pixels a grain of 6, curls one of 3, which looked like freckles. From the second figure on no more than
the third is believed, the most that the other clips have in their median; in between, a share. Slopes as steep as the
noise is strong count as having a direction, too (noise of 1 on a slope of .75 levels a pixel): such a face is cleaner
than its scene. Without the gradients' mean, or in the finest plane alone, curls cannot be told from noise."""
_AMONG = 0.15, 6
"""Share of the blocks, the flattest ones, whose directions are looked at, and their least number: two of twelve are
often alike by chance."""
_SEEN_OF = 0.87, 0.81
"""Deviation at the flattest quantile, as a share of the true one, in blocks of nothing but grain, in each plane."""
_ROUNDING = 0.231, 0.079
"""Deviation in each plane that rounding to whole grey levels makes; the published picture gets it again."""
_SOFT_LIP = 6
"""Pixels about the mouth that the copied inside of the mouth may reach."""
_TILE = 128
"""Side of the tiles of noise."""
_COLOUR_FILTER = 0.5
"""Blur of the grain in pixels: demosaicing halves the resolution of two of three colours."""
_SMOOTH = np.array([0.25, 0.5, 0.25], np.float32)
_SMOOTHER = np.array([0.25, 0, 0.5, 0, 0.25], np.float32)

Deviations = NDArray[np.float64]


@dataclass
class SceneGrain:
    """What is remembered of the picture around one track's face: running means of its sharpness and grain."""

    sharpness: float | None = None
    """Width of the surroundings' sharpest edges, standard deviation in pixels."""
    rendered: float | None = None
    """Width of the rendered face's sharpest edges before anything is done to it, standard deviation in pixels."""
    grain: Deviations | None = None
    """float64 (3, 2): deviation of Y, U and V in the finest and the second plane, grey levels."""
    frames: int = 0
    """Number of faces rendered so far."""

    def match(
        self, patch: Patch, original: Planes, raw: Points, fresh: bool = False, mouth: Points | None = None
    ) -> None:
        """Give a rendered face the sharpness and grain of the picture it goes into, in place.

        raw (n, 2): where the original's face is, pixels of the picture; nothing of it is looked at. fresh: what is
        remembered belongs to another scene. mouth (m, 2): the part of the patch that is not looked at; None where the
        patch holds nothing of the original.
        """
        if fresh:
            self.sharpness = self.rendered = self.grain = None
        if self.sharpness is None or self.frames % _EVERY == 0:
            self._look(patch, original, raw, mouth)
        self.apply(patch)

    def apply(self, patch: Patch) -> None:
        """Give a face the remembered sharpness and grain, in place; nothing of the picture is looked at."""
        if self.sharpness is not None and self.rendered is not None:
            _sharpen(patch, self.rendered, self.sharpness + _SOFTER)
        if self.grain is not None:
            _add_grain(patch, self.grain, self.frames)
        self.frames += 1

    def _look(self, patch: Patch, original: Planes, raw: Points, mouth: Points | None) -> None:
        width = float(np.ptp(raw[:, 0]))
        corner, around = _surroundings(patch, original.size, raw, width)
        every = max(1, int(width / _LINES))
        luma = _part(original.y, corner, around.shape)
        self.sharpness = _mean(self.sharpness, edge_width(luma, around, every))
        inside: NDArray[Any] = cv2.erode(patch.covered_luma, np.ones((5, 5), np.uint8))
        if mouth is not None:
            low, high = (mouth - (patch.x0, patch.y0)).min(axis=0), (mouth - (patch.x0, patch.y0)).max(axis=0)
            rows, columns = (
                slice(max(0, int(a) - _SOFT_LIP), max(0, int(b) + _SOFT_LIP + 1))
                for a, b in ((low[1], high[1]), (low[0], high[0]))
            )
            inside[rows, columns] = 0
        self.rendered = _mean(self.rendered, edge_width(patch.y, inside, every))
        half = np.ascontiguousarray(around[::2, ::2])
        chroma = [_part(plane, (corner[0] // 2, corner[1] // 2), half.shape) for plane in (original.u, original.v)]
        found = [grain_of(luma, around), *(grain_of(part, half) for part in chroma)]
        if all(f is not None for f in found):
            newest = np.array(found, np.float64)
            self.grain = newest if self.grain is None else self.grain + _NEWEST * (newest - self.grain)


def edge_width(plane: Plane | Pixels, where: Mask, every: int = 1) -> float:
    """The width of a plane's sharpest edges, standard deviation in pixels, where a mask uint8 (h, w) is not 0.

    every: one of so many rows and columns is searched.
    """
    counts = np.zeros(_BINS, np.int64)
    values = np.ascontiguousarray(plane, np.float32)
    _count_edges(values, where, every, counts)
    _count_edges(np.ascontiguousarray(values.T), np.ascontiguousarray(where.T), every, counts)
    number = int(counts.sum())
    usual, weight = _USUAL
    if number == 0:
        return usual
    rank = np.interp(_QUANTILE * number, np.cumsum(counts), np.arange(1, _BINS + 1))
    return float((number * rank * _BIN + weight * usual) / (number + weight))


def grain_of(plane: Plane | Pixels, where: Mask) -> Deviations | None:
    """The deviation (2,) of a plane's grain in the two finest wavelet planes, where a mask uint8 (h, w) is not 0.

    The deviation that rounding makes is taken out. None where too little is flat.
    """
    values = np.ascontiguousarray(plane, np.float32)
    first = cv2.sepFilter2D(values, -1, _SMOOTH, _SMOOTH)
    second = cv2.sepFilter2D(first, -1, _SMOOTHER, _SMOOTHER)
    blocks = np.zeros((where.shape[0] // _BLOCK * (where.shape[1] // _BLOCK), 3))
    number = _deviations(np.stack([values - first, first - second], axis=2), values, where, blocks)
    if number < _FEWEST:
        return None
    known = blocks[:number]
    seen = np.quantile(known[:, :2], _FLATTEST, axis=0) / _SEEN_OF
    grain: Deviations = np.sqrt(np.maximum(seen**2 - np.square(_ROUNDING), 0))
    flattest = np.argsort(known[:, 0], kind="stable")[: max(int(_AMONG[0] * number), _AMONG[1])]
    doubt = np.clip((np.median(known[flattest, 2]) - _ALIKE) / (_ONE_WAY - _ALIKE), 0, 1)
    grain -= doubt * np.maximum(grain - _MOST, 0)
    grain[1] = min(grain[1], grain[0])  # coarse without fine is no grain but a soft pattern
    return grain


def _surroundings(patch: Patch, size: tuple[int, int], raw: Points, width: float) -> tuple[tuple[int, int], Mask]:
    """The upper left corner (x, y), even, of a rectangle around a face, and the mask (h, w) of what counts in it."""
    low, high = raw.min(axis=0) - _REACH * width, raw.max(axis=0) + _REACH * width
    x0, y0 = (int(np.clip(v, 0, limit - 2)) & ~1 for v, limit in zip(low, size, strict=True))
    x1, y1 = (int(np.clip(v, o + 2, limit)) for v, o, limit in zip(high, (x0, y0), size, strict=True))
    hidden: NDArray[Any] = np.zeros((y1 - y0, x1 - x0), np.uint8)
    cv2.fillConvexPoly(hidden, np.round(convex(raw) - (x0, y0)).astype(np.int32), (1,))
    left, top = max(x0, patch.x0), max(y0, patch.y0)
    rendered = patch.covered_luma[top - patch.y0 : max(y1 - patch.y0, 0), left - patch.x0 : max(x1 - patch.x0, 0)]
    under = hidden[top - y0 : top - y0 + rendered.shape[0], left - x0 : left - x0 + rendered.shape[1]]
    np.maximum(under, rendered, out=under)
    reach = 2 * max(2, round(_CLEAR * width)) + 1
    grown = cv2.dilate(hidden, np.ones((reach, reach), np.uint8))
    return (x0, y0), np.asarray(1 - grown, np.uint8)


def _part(plane: Plane, corner: tuple[int, int], shape: tuple[int, ...]) -> Plane:
    return plane[corner[1] : corner[1] + shape[0], corner[0] : corner[0] + shape[1]]


def _mean(old: float | None, newest: float) -> float:
    return newest if old is None else old + _NEWEST * (newest - old)


def soften_colours(patch: Patch) -> None:
    """Make the colours of a rendered patch as soft as a camera's, in place. To be called before anything of the
    original is copied into it: else that would spread."""
    _blurred_by(patch.uv, patch.covered, _COLOURS, -1.0)


def _sharpen(patch: Patch, own: float, wanted: float) -> None:
    """Change a patch whose edges are `own` pixels wide so that they are `wanted` pixels wide, in place.

    Nothing beside the mesh is mixed in: blurs are divided by the share of them that is rendered.
    """
    if wanted > own:
        for plane, mask, sigma in (
            (patch.y, patch.covered_luma, np.sqrt(wanted**2 - own**2)),
            (patch.uv, patch.covered, np.sqrt(wanted**2 - own**2) / 2),
        ):
            if sigma > 0.2:  # a narrower Gaussian is a single pixel
                _blurred_by(plane, mask, min(sigma, _WIDEST), -1.0)
    else:
        _blurred_by(patch.y, patch.covered_luma, own, min(_CRISP, (own / wanted) ** 2 - 1))


def _blurred_by(plane: Pixels, mask: Mask, sigma: float, amount: float) -> None:
    """Add a share `amount` of a plane's difference from its own blur to it, in place, where a mask (h, w) is 1.

    The plane is (h, w) or (h, w, 2). An amount of -1 blurs it, a positive one sharpens it.
    """
    parts: Pixels = mask.astype(np.float32)
    share = np.asarray(cv2.GaussianBlur(parts, (0, 0), sigma), np.float32)
    if plane.ndim == 3:
        parts, share = (np.repeat(field, plane.shape[2], axis=1) for field in (parts, share))
    flat = plane.reshape(parts.shape)
    kept = np.ascontiguousarray(flat) * parts
    total = cv2.GaussianBlur(kept.reshape(plane.shape), (0, 0), sigma).reshape(parts.shape)
    _parted(flat, total, share, parts, np.float32(amount))


def _add_grain(patch: Patch, grain: Deviations, frame: int) -> None:
    """Add grain of given deviations (3, 2) to a patch, in place; another grain in each frame."""
    for c, plane in enumerate((patch.y, patch.uv[:, :, 0], patch.uv[:, :, 1])):
        fine, coarse = (float(v) for v in grain[c])
        if max(fine, coarse) > 0:
            # The factors are any odd ones that repeat late: the same place in the tile comes back after 128 frames.
            offset = (37 * frame + 41 * c) % _TILE, (frame * frame * 59 + 83 * c + 11 * frame) % _TILE
            _grain(plane, _FINE, _COARSE, fine, coarse, *offset)


def _tiles() -> tuple[Pixels, Pixels]:
    """Two tiles (128, 128) of noise whose borders fit together: the finest wavelet plane, and all that is coarser.

    The deviations are 1 in the finest and in the second plane. Even the finest is blurred a little, as a camera that
    sees one colour in each pixel blurs it.
    """
    white = np.random.Generator(np.random.PCG64(20)).standard_normal((_TILE, _TILE)).astype(np.float32)
    tiled = np.asarray(cv2.GaussianBlur(np.tile(white, (3, 3)), (0, 0), _COLOUR_FILTER), np.float32)
    first = cv2.sepFilter2D(tiled, -1, _SMOOTH, _SMOOTH)
    second = cv2.sepFilter2D(first, -1, _SMOOTHER, _SMOOTHER)
    middle = slice(_TILE, 2 * _TILE), slice(_TILE, 2 * _TILE)
    fine, coarse = (tiled - first) / (tiled - first).std(), first / (first - second).std()
    return fine[middle].copy(), coarse[middle].copy()


_FINE, _COARSE = _tiles()
_BELL = np.exp(-0.5 * np.arange(-4, 5) ** 2) / np.exp(-0.5 * np.arange(-4, 5) ** 2).sum()
"""Gaussian with a standard deviation of one pixel."""


@kernel
def _parted(plane, total, share, mask, amount):  # type: ignore[no-untyped-def]
    """Add a share of a plane's (h, w) difference from totals by shares (h, w) to it, in place, where a mask is 1.

    mask: float32 (h, w).
    """
    one, least = np.float32(1), np.float32(1e-3)
    for y in range(plane.shape[0]):
        row, sums, parts, where = plane[y], total[y], share[y], mask[y]
        for x in range(len(row)):
            step = amount * (row[x] - sums[x] * (one / max(parts[x], least)))
            row[x] += step * where[x]


@kernel
def _count_edges(plane, where, every, counts):  # type: ignore[no-untyped-def]
    height, width = plane.shape
    for y in range(0, height, every):
        for x in range(6, width - 6):
            if where[y, x] == 0:
                continue
            here = abs(plane[y, x + 1] - plane[y, x - 1]) / 2
            if here < _CONTRAST:
                continue
            if abs(plane[y, x] - plane[y, x - 2]) / 2 > here or abs(plane[y, x + 2] - plane[y, x]) / 2 >= here:
                continue
            # The gradient at this place of the row, blurred again by one pixel.
            again = 0.0
            for k in range(-4, 5):
                again += _BELL[k + 4] * (plane[y, x + k + 1] - plane[y, x + k - 1]) / 2
            ratio = here / max(abs(again), 1e-6)
            if 1.02 < ratio < 6.0:
                counts[min(int(1 / np.sqrt(ratio * ratio - 1) / _BIN), _BINS - 1)] += 1


@kernel
def _deviations(planes, values, where, blocks):  # type: ignore[no-untyped-def]
    """The deviations of both planes (h, w, 2) and the coherence of the gradients of values (h, w) in each block that
    counts, into blocks (n, 3); returns their number."""
    height, width = where.shape
    number = 0
    area = _BLOCK * _BLOCK
    for top in range(0, height - _BLOCK + 1, _BLOCK):
        for left in range(0, width - _BLOCK + 1, _BLOCK):
            inside = 0
            level = 0.0
            for y in range(top, top + _BLOCK):
                for x in range(left, left + _BLOCK):
                    inside += 1 if where[y, x] > 0 else 0
                    level += values[y, x]
            if inside < area or level < 32 * area or level > 224 * area:  # black and white have no grain
                continue
            for c in range(2):
                total, squares = 0.0, 0.0
                for y in range(top, top + _BLOCK):
                    for x in range(left, left + _BLOCK):
                        total += planes[y, x, c]
                        squares += planes[y, x, c] * planes[y, x, c]
                blocks[number, c] = np.sqrt(max(squares / area - (total / area) ** 2, 0.0))
            blocks[number, 2] = _coherence(values, top, left)
            number += 1
    return number


@kernel
def _coherence(values, top, left):  # type: ignore[no-untyped-def]
    """How far the gradients of a block of values (h, w) lie along one line: 0 to 1; 0 where there are none."""
    across, down, both = 0.0, 0.0, 0.0
    height, width = values.shape
    for y in range(max(top, 1), min(top + _BLOCK, height - 1)):
        for x in range(max(left, 1), min(left + _BLOCK, width - 1)):
            gx, gy = values[y, x + 1] - values[y, x - 1], values[y + 1, x] - values[y - 1, x]
            across += gx * gx
            down += gy * gy
            both += gx * gy
    total = across + down
    return np.sqrt((across - down) ** 2 + 4 * both * both) / total if total > 0 else 0.0


@kernel
def _grain(plane, fine, coarse, fine_amount, coarse_amount, x0, y0):  # type: ignore[no-untyped-def]
    height, width = plane.shape
    size = fine.shape[0]
    for y in range(height):
        row = (y + y0) % size
        for x in range(width):
            column = (x + x0) % size
            plane[y, x] += fine_amount * fine[row, column] + coarse_amount * coarse[row, column]
