"""Glasses: where the stubs of a frame are left beside the cover, a plain frame is drawn before the new eyes.

Lenses and rims lie inside the cover and are drawn over; the temples reach out of it, and would end in the air. Whether
somebody wears glasses is one bit of them that is kept, and said (docs/privacy.md). Everything else about the frame
is the same for everybody, but for the colour and the height of the stubs, which are seen outside the cover anyway.

The bit: lines that run from the eyes' corners level outwards over plain skin, and along an arc below each eye. Measured
as paths of strongest contrast to both of their sides, by the weakest of their parts: a line that ends is a fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from streamdeid.aam.piecewise_affine import Pixels, Points
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.synthesise import Patch
from streamdeid.core.colour import yuv_from_rgb
from streamdeid.core.frames import Colour
from streamdeid.core.ibug68 import LEFT_EYE, RIGHT_EYE
from streamdeid.core.kernel_cache import kernel

_SPAN = 40.0
"""Pixels between the eyes in the strip that is measured."""
STRIP = (128, 64)
"""Width and height of the strip; the eyes are level, about its middle."""
_BLACK = 12.0
"""Grey levels added before logarithms."""
_ASIDE = 3, 2
"""Distance to either side at which a temple and a rim are compared to their surroundings, pixels of the strip."""
_CONTRASTS = (-0.02, 0.25)
"""Least and most that one place of a line counts: hair before a wall is no better a line than a thin wire."""
_ROWS = slice(8, 42)
_WITHIN = (slice(20, 34), slice(94, 108))
"""Columns of the strip from the eyes' corners to the rim of the face."""
_BESIDE = (slice(8, 22), slice(106, 120))
"""Columns outside of it."""
_PARTS = 2, 4
"""Parts of a temple and of a rim."""
_ARC = np.deg2rad(np.arange(20.0, 161.0, 4.0)), np.arange(8.0, 26.0), 1.15
"""Directions and radii below an eye, pixels of the strip, and how much wider than high a rim is."""
_RIM_SHARE = 2.0
"""Weight of the rims beside that of the temples: wires before cheeks have half the contrast."""
_ON, _OFF = 0.14, 0.09
"""Strength of the lines, natural log, from which a frame is drawn and below which it no longer is: glasses that come
and go would be worse than none. Chosen on 224 photographs of LFPW's test set and London's 102;
`benchmarks/looks/glasses.py` says what these and others give. Of the clips those with glasses have .156, no other one
more than .094."""
LEAST_WIDTH = 64.0
"""Pixels that a face must be wide for its glasses to be seen, and not only guessed."""
_FRONTAL = np.deg2rad(10.0)
"""Turn up to which both temples are well seen."""
_SETTLED = 3
"""Faces seen before anything is drawn."""
_EVERY = 5
"""Once it is settled, one face of so many is looked at."""
_FOLLOW = 0.18
"""Share of the newest face that was looked at in the running means: about a second."""
_LENS = (0.41, 0.27)
"""Half axes of a lens, distances between the eyes."""
_LENS_AT = (0.04, 0.05, -0.1)
"""Its middle from the eye's: outwards, downwards, backwards."""
_ROUND = 2.6
"""Exponent of its outline: between an ellipse (2) and a rectangle."""
_LINE = 0.018
"""Width of the frame's line, distances between the eyes."""
_SHADOW = 0.1
"""Light that the frame takes from the skin below it."""
_GLOSS, _GLARE, _SHINES = 0.45, 0.1, 1.6
"""How much of the way the upper half of a rim, and a slanting band on a lens, go towards a reflection, and how bright
that is over what the lenses lie before: without reflections glasses look drawn, and in the dark they are dark."""
_BAND = np.array([(-0.1, -1.0), (0.4, -1.0), (0.0, 1.0), (-0.5, 1.0)])
"""Corners of that band, half axes of a lens."""


@dataclass(frozen=True)
class Glasses:
    """What of somebody's glasses is seen beside the cover."""

    colour: Pixels
    """float32 (3,): RGB of the temples."""
    height: float
    """How far below the eyes the temples leave the face, distances between the eyes."""


class GlassesReader:
    """Whether the face of one track wears glasses, over its frames."""

    def __init__(self) -> None:
        self._means: NDArray[np.float64] | None = None
        self._count, self._age = 0, 0
        self._worn = False

    def __call__(self, image: NDArray[np.uint8], points: Points, yaw: float, width: float) -> Glasses | None:
        """Look at a face: RGB uint8 (h, w, 3) of its surroundings, its landmarks (81, 2) there, its turn in radians and
        its width in pixels of the frame. A turned or small one changes nothing."""
        self._age += 1
        due = self._count < _SETTLED or self._age >= _EVERY
        if due and abs(yaw) <= _FRONTAL and width >= LEAST_WIDTH:
            measured = _measured(eyes_strip(image, points))
            share = max(_FOLLOW, 1 / (self._count + 1))
            self._means = measured if self._means is None else self._means + share * (measured - self._means)
            self._count, self._age = self._count + 1, 0
            self._worn = self._count >= _SETTLED and bool(self._means[0] > (_OFF if self._worn else _ON))
        if not self._worn or self._means is None:
            return None
        return Glasses(self._means[2:].astype(np.float32), float(self._means[1]))


def _measured(strip: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Strength of the lines, height and RGB of the temples: float64 (5,)."""
    grey = np.log(cv2.cvtColor(strip, cv2.COLOR_RGB2GRAY).astype(np.float32) + np.float32(_BLACK))
    within = [line_in(np.ascontiguousarray(grey[_ROWS, at]), _ASIDE[0], _PARTS[0])[0] for at in _WITHIN]
    rims = [line_in(_below_eye(grey, side), _ASIDE[1], _PARTS[1])[0] for side in (-1, 1)]
    heights, colours = [], []
    for at in _BESIDE:
        _, path = line_in(np.ascontiguousarray(grey[_ROWS, at]), _ASIDE[0], _PARTS[0])
        heights.append((float(path.mean()) + _ROWS.start - STRIP[1] / 2) / _SPAN)
        colours.append(_standing_out(strip[_ROWS, at], path))
    strength = float(np.mean(within)) + _RIM_SHARE * float(np.mean(rims))
    return np.array([strength, float(np.mean(heights)), *np.mean(colours, axis=0)])


def _below_eye(grey: Pixels, side: int) -> Pixels:
    """What lies below the left (-1) or right (1) eye of a strip (h, w), float32 (radii, directions)."""
    angle, radius, wider = _ARC
    x = STRIP[0] / 2 + side * _SPAN / 2 + wider * radius[:, None] * np.cos(angle)
    y = STRIP[1] / 2 + radius[:, None] * np.sin(angle)
    return np.asarray(cv2.remap(grey, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR), np.float32)


def _standing_out(block: NDArray[np.uint8], path: NDArray[np.intp]) -> Pixels:
    """Mean colour (3,) of the half of a line's places, rows (w,) of a block (h, w, 3), that stands out most from it: in
    the other half the line may have ended."""
    line = block[path, np.arange(len(path))].astype(np.float32)
    apart = np.abs(line - block.reshape(-1, 3).mean(axis=0)).sum(axis=1)
    return np.asarray(line[apart >= np.median(apart)].mean(axis=0), np.float32)


def eyes_strip(image: NDArray[np.uint8], points: Points) -> NDArray[np.uint8]:
    """The eyes' surroundings, level and _SPAN apart, uint8 (*STRIP reversed, 3)."""
    left, right = points[LEFT_EYE].mean(axis=0), points[RIGHT_EYE].mean(axis=0)
    along = right - left
    span = max(float(np.hypot(*along)), 1e-6)
    c, s = along / span * (_SPAN / span)
    turn = np.array([[c, s], [-s, c]])
    shift = np.array(STRIP) / 2 - turn @ (left + right) / 2
    matrix = np.column_stack([turn, shift])
    return np.asarray(cv2.warpAffine(image, matrix, STRIP, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))


@kernel
def line_in(block: Pixels, aside: int, parts: int) -> tuple[float, NDArray[np.intp]]:
    """The strongest line through logs (h, w) from left to right, a row up or down at most from column to column: mean
    contrast of the weakest of its parts, 0 where there is no line, and its rows (w,).

    Contrast is that to the nearer in tone of what is `aside` rows above and below, where both differ the same way; a
    line is all darker or all lighter.
    """
    height, width = block.shape
    best, strength, chosen = 0.0, 0.0, np.full(width, height // 2)
    contrast = np.zeros((height, width))
    for y in range(aside, height - aside):
        for x in range(width):
            above, below = block[y, x] - block[y - aside, x], block[y, x] - block[y + aside, x]
            if above * below > 0:
                contrast[y, x] = above if abs(above) < abs(below) else below
    for sign in (1.0, -1.0):
        counted = np.minimum(np.maximum(sign * contrast, _CONTRASTS[0]), _CONTRASTS[1])
        total = np.full((height, width), -1e9)
        before = np.zeros((height, width), np.intp)
        for x in range(width):
            for y in range(aside, height - aside):
                origin = y
                if x > 0:
                    for other in (y - 1, y + 1):
                        if total[other, x - 1] > total[origin, x - 1]:
                            origin = other
                total[y, x] = counted[y, x] + (total[origin, x - 1] if x > 0 else 0.0)
                before[y, x] = origin
        end = int(np.argmax(total[:, width - 1]))
        if total[end, width - 1] <= best:
            continue
        best = total[end, width - 1]
        for x in range(width - 1, -1, -1):
            chosen[x] = end
            end = before[end, x]
        strength = 1e9
        for part in range(parts):
            first, last = part * width // parts, (part + 1) * width // parts
            mean = 0.0
            for x in range(first, last):
                mean += counted[chosen[x], x] / (last - first)
            strength = min(strength, mean)
    return max(strength, 0.0), chosen


def render_glasses(patch: Patch, glasses: Glasses, eyes: Points, pose: HeadPose, span: float, colour: Colour) -> None:
    """Draw a plain frame into a patch, in place.

    eyes (2, 2): middles of the drawn eyes, the picture's left one first; span: distance between the eyes in the model's
    frame.
    """
    rims, others = frame_lines(patch, glasses, eyes, pose, span)
    lines = [line - (patch.x0, patch.y0) for line in (*rims, *others)]
    width = _LINE * span * pose.scale
    sigma, fallen = max(0.8 * width, 0.5), max(1, round(1.2 * width))
    box = _box_about(lines, 4 * sigma + fallen + width + 2, patch.size)
    if box is None:
        return
    x0, y0, x1, y1 = box
    mask = _stroked([line - (x0, y0) for line in lines], width, (x1 - x0, y1 - y0))
    shadow = cv2.GaussianBlur(mask, (0, 0), sigma)
    shadow = np.concatenate([np.zeros_like(shadow[:fallen]), shadow[:-fallen]])
    matrix, offset = yuv_from_rgb(colour)
    y, u, v = matrix @ glasses.colour + offset
    luma = patch.y[y0:y1, x0:x1]
    luma *= 1 - np.float32(_SHADOW) * shadow
    rings = [line - (x0, y0) for line in lines[: len(rims)]]
    lenses, bands = _lenses(rings, mask.shape)
    shines = np.float32(min(_SHINES * float(np.median(luma[lenses > 0])), 255.0) if lenses.any() else 0.0)
    luma += np.float32(_GLARE) * cv2.GaussianBlur(bands, (0, 0), 2 * sigma) * np.maximum(shines - luma, 0)
    luma += mask * (np.float32(y) - luma)
    upper = _stroked([ring[len(ring) // 2 :] - (0, 0.25 * width) for ring in rings], 0.4 * width, mask.shape[::-1])
    luma += np.float32(_GLOSS) * mask * upper * np.maximum(shines - luma, 0)
    chroma = patch.uv[y0 // 2 : (y1 + 1) // 2, x0 // 2 : (x1 + 1) // 2]
    half = cv2.resize(mask, chroma.shape[1::-1], interpolation=cv2.INTER_AREA)[:, :, None]
    chroma += half * (np.array([u, v], np.float32) - chroma)


def _lenses(rings: list[Points], shape: tuple[int, ...]) -> tuple[Pixels, Pixels]:
    """Lenses with these outlines (49, 2), and the bands of reflections on them, float32 (h, w), 0 or 1."""
    lenses, bands = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for ring in rings:
        middle, right, down = ring[:-1].mean(axis=0), ring[0], ring[len(ring) // 4]
        band = middle + _BAND @ np.array([right - middle, down - middle])
        for places, picture in ((ring, lenses), (band, bands)):
            cv2.fillPoly(picture, [np.round(places * 16).astype(np.int32)], (1,), cv2.LINE_8, 4)
    return lenses, lenses * bands


def _box_about(lines: list[Points], margin: float, size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """The rectangle (x0, y0, x1, y1) of a picture (width, height) about lines (n, 2), grown by a margin in pixels and
    to even corners; None where they lie beside the picture."""
    places = np.concatenate(lines)
    low, high = places.min(axis=0) - margin, places.max(axis=0) + margin
    x0, y0 = (max(0, int(v)) & ~1 for v in low)
    x1, y1 = (min(limit, (int(v) + 2) & ~1) for v, limit in zip(high, size, strict=True))
    # An odd border of the picture is not cut off from the rows and columns of chroma that it belongs to.
    x1, y1 = (limit if limit - v == 1 else v for v, limit in zip((x1, y1), size, strict=True))
    return (x0, y0, x1, y1) if x1 > x0 and y1 - y0 > margin else None


def _ring() -> Points:
    """A lens's outline (49, 2) about its middle, distances between the eyes."""
    angle = np.linspace(0, 2 * np.pi, 49)
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([np.sign(c) * np.abs(c) ** (2 / _ROUND), np.sign(s) * np.abs(s) ** (2 / _ROUND)]) * _LENS


_RING = _ring()


def frame_lines(
    patch: Patch, glasses: Glasses, eyes: Points, pose: HeadPose, span: float
) -> tuple[list[Points], list[Points]]:
    """Both rims (49, 2) of a frame, and its temples and bridge, as lines (n, 2), pixels of the picture. A temple ends
    where the face does; on the far side of a turned head there is none."""
    axes = span * pose.scale * pose.rotation[:2].T
    """What one distance between the eyes to the right, downwards and backwards is in the picture, (3, 2)."""
    out, down, back = _LENS_AT
    rims, others, inner = [], [], []
    for eye, side in zip(eyes, (-1.0, 1.0), strict=True):
        middle = eye + np.array([side * out, down, back]) @ axes
        rims.append(middle + _RING @ axes[:2])
        inner.append(middle + np.array([-side * _LENS[0], -0.3 * _LENS[1], 0.0]) @ axes)
        if side * pose.yaw > -_FRONTAL:
            hinge = middle + np.array([side * _LENS[0], -0.35 * _LENS[1], 0.0]) @ axes
            far = eye + np.array([side * 0.9, glasses.height, 0.0]) @ axes
            others.append(_to_rim(patch, hinge, far))
    top = (inner[0] + inner[1]) / 2 + np.array([0.0, -0.05, back]) @ axes
    t = np.linspace(0, 1, 9)[:, None]
    others.append((1 - t) ** 2 * inner[0] + 2 * t * (1 - t) * top + t**2 * inner[1])
    return rims, others


def _to_rim(patch: Patch, start: Points, end: Points) -> Points:
    """From a place towards another as far as the patch is covered, (2, 2)."""
    t = np.linspace(0, 1, 33)[:, None]
    places = start + t * (end - start)
    x, y = np.floor(places - (patch.x0, patch.y0)).astype(int).T
    height, width = patch.covered_luma.shape
    inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    inside[inside] = patch.covered_luma[y[inside], x[inside]] > 0
    last = int(np.argmin(inside)) if not inside.all() else len(inside) - 1
    return places[[0, max(last, 1)]]


def _stroked(lines: list[Points], width: float, size: tuple[int, int]) -> Pixels:
    """Opacity float32 (h, w) of lines (n, 2) of a width in pixels; one finer than half a pixel is the fainter."""
    mask = np.zeros((2 * size[1], 2 * size[0]), np.uint8)
    stroke: Any = [np.round((2 * line + 0.5) * 16).astype(np.int32)[:, None] for line in lines]
    cv2.polylines(mask, stroke, False, (255,), max(1, round(2 * width)), cv2.LINE_AA, 4)
    small = cv2.resize(mask, size, interpolation=cv2.INTER_AREA).astype(np.float32)
    return np.asarray(small * np.float32(min(1.0, 2 * width) / 255), np.float32)
