"""Glasses: where the stubs of a frame are left beside the redaction, a plain frame is rendered before the new eyes.

Lenses and rims lie inside the redaction, which replaces them. The temples reach out of it and would end in the air.
Everything about the frame is the same for everybody, except the colour and the height of the stubs, which are seen
outside the redaction anyway.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from streamdeid.aam.pose import HeadPose
from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.colour import yuv_from_rgb
from streamdeid.core.frames import Colour
from streamdeid.observe.glasses import FRONTAL, Glasses

_LENS = (0.41, 0.27)
"""Half axes of a lens, in distances between the eyes."""
_LENS_AT = (0.04, 0.05, -0.1)
"""Offset of a lens's middle from the eye's: outwards, downwards, backwards, in distances between the eyes."""
_ROUND = 2.6
"""Exponent of a lens's outline: between an ellipse (2) and a rectangle."""
_LARGER = 1.12
"""Factor by which dark lenses are larger than others."""
_LINE = 0.018
"""Width of the frame's line, in distances between the eyes."""
_SHADOW = 0.1
"""Share of the light that the frame takes from the skin below it."""
_GLOSS, _GLARE, _SHINES = 0.45, 0.1, 1.6
"""Share of the way that the upper half of a rim, and a slanting band on a lens, go towards a reflection, and how bright
the reflection is over what the lenses lie before. Without reflections glasses look painted; in the dark they are
dark."""
_FINER = 4
"""How many times finer lenses are filled than pixels: their rims were steps in faces of 50 pixels."""
_BAND = np.array([(-0.1, -1.0), (0.4, -1.0), (0.0, 1.0), (-0.5, 1.0)])
"""Corners of that band, in half axes of a lens."""


def render_glasses(
    patch: Patch,
    glasses: Glasses,
    eyes: Points,
    pose: HeadPose,
    span: float,
    colour: Colour,
    lens: tuple[Points, float] | None = None,
) -> None:
    """Render a plain frame into a patch, in place.

    eyes (2, 2): middles of the rendered eyes, the picture's left one first; span: distance between the eyes in the
    model's frame. lens: RGB (3,) of dark lenses, which are a little larger, and their opacity, 0 to 1.
    """
    rims, others = frame_lines(patch, glasses, eyes, pose, span, 1.0 if lens is None else 1 + (_LARGER - 1) * lens[1])
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
    whole = lenses > 0.5
    shines = np.float32(min(_SHINES * float(np.median(luma[whole])), 255.0) if whole.any() else 0.0)
    chroma = patch.uv[y0 // 2 : (y1 + 1) // 2, x0 // 2 : (x1 + 1) // 2]
    if lens is not None:
        dark = cv2.GaussianBlur(lenses, (0, 0), max(0.5 * width, 0.4)) * np.float32(lens[1])
        tint = (matrix @ lens[0] + offset).astype(np.float32)
        luma += dark * (tint[0] - luma)
        chroma += cv2.resize(dark, chroma.shape[1::-1], interpolation=cv2.INTER_AREA)[:, :, None] * (tint[1:] - chroma)
    luma += np.float32(_GLARE) * cv2.GaussianBlur(bands, (0, 0), 2 * sigma) * np.maximum(shines - luma, 0)
    luma += mask * (np.float32(y) - luma)
    upper = _stroked([ring[len(ring) // 2 :] - (0, 0.25 * width) for ring in rings], 0.4 * width, mask.shape[::-1])
    luma += np.float32(_GLOSS) * mask * upper * np.maximum(shines - luma, 0)
    half = cv2.resize(mask, chroma.shape[1::-1], interpolation=cv2.INTER_AREA)[:, :, None]
    chroma += half * (np.array([u, v], np.float32) - chroma)


def _lenses(rings: list[Points], shape: tuple[int, ...]) -> tuple[Pixels, Pixels]:
    """How much of each pixel the lenses with these outlines (49, 2) cover, and the bands of reflections on them,
    float32 (h, w), 0 to 1."""
    fine = _FINER * shape[0], _FINER * shape[1]
    lenses, bands = np.zeros(fine, np.uint8), np.zeros(fine, np.uint8)
    for ring in rings:
        middle, right, down = ring[:-1].mean(axis=0), ring[0], ring[len(ring) // 4]
        band = middle + _BAND @ np.array([right - middle, down - middle])
        for places, picture in ((ring, lenses), (band, bands)):
            corners = _FINER * places + (_FINER - 1) / 2
            cv2.fillPoly(picture, [np.round(corners * 16).astype(np.int32)], (255,), cv2.LINE_8, 4)
    of_lenses, of_bands = (
        np.asarray(cv2.resize(picture, shape[1::-1], interpolation=cv2.INTER_AREA), np.float32) / np.float32(255)
        for picture in (lenses, bands)
    )
    return of_lenses, of_lenses * of_bands


def _box_about(lines: list[Points], margin: float, size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """The rectangle (x0, y0, x1, y1) of a picture (width, height) about lines (n, 2), or None.

    It is grown by a margin in pixels and to even corners. It is None where the lines lie beside the picture.
    """
    places = np.concatenate(lines)
    low, high = places.min(axis=0) - margin, places.max(axis=0) + margin
    x0, y0 = (max(0, int(v)) & ~1 for v in low)
    x1, y1 = (min(limit, (int(v) + 2) & ~1) for v, limit in zip(high, size, strict=True))
    # Rows and columns of chroma at an odd border of the picture stay whole.
    x1, y1 = (limit if limit - v == 1 else v for v, limit in zip((x1, y1), size, strict=True))
    return (x0, y0, x1, y1) if x1 > x0 and y1 - y0 > margin else None


def _ring() -> Points:
    """The outline (49, 2) of a lens about its middle, in distances between the eyes."""
    angle = np.linspace(0, 2 * np.pi, 49)
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([np.sign(c) * np.abs(c) ** (2 / _ROUND), np.sign(s) * np.abs(s) ** (2 / _ROUND)]) * _LENS


_RING = _ring()


def frame_lines(
    patch: Patch, glasses: Glasses, eyes: Points, pose: HeadPose, span: float, larger: float = 1.0
) -> tuple[list[Points], list[Points]]:
    """Both rims (49, 2) of a frame, and its temples and bridge, as lines (n, 2), pixels of the picture.

    The rims are enlarged by the factor `larger`. A temple ends where the face ends; on the far side of a turned head
    there is none.
    """
    axes = span * pose.scale * pose.rotation[:2].T
    """Steps in the picture, (3, 2), of one distance between the eyes to the right, downwards and backwards."""
    out, down, back = _LENS_AT
    rims, others, inner = [], [], []
    for eye, side in zip(eyes, (-1.0, 1.0), strict=True):
        middle = eye + np.array([side * out, down, back]) @ axes
        rims.append(middle + larger * _RING @ axes[:2])
        inner.append(middle + np.array([-side * _LENS[0], -0.3 * _LENS[1], 0.0]) @ axes)
        if side * pose.yaw > -FRONTAL:
            hinge = middle + np.array([side * _LENS[0], -0.35 * _LENS[1], 0.0]) @ axes
            far = eye + np.array([side * 0.9, glasses.height, 0.0]) @ axes
            others.append(_to_rim(patch, hinge, far))
    top = (inner[0] + inner[1]) / 2 + np.array([0.0, -0.05, back]) @ axes
    t = np.linspace(0, 1, 9)[:, None]
    others.append((1 - t) ** 2 * inner[0] + 2 * t * (1 - t) * top + t**2 * inner[1])
    return rims, others


def _to_rim(patch: Patch, start: Points, end: Points) -> Points:
    """The line from a place towards another one, as far as the patch is covered, (2, 2)."""
    t = np.linspace(0, 1, 33)[:, None]
    places = start + t * (end - start)
    x, y = np.floor(places - (patch.x0, patch.y0)).astype(int).T
    height, width = patch.covered_luma.shape
    inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
    inside[inside] = patch.covered_luma[y[inside], x[inside]] > 0
    last = int(np.argmin(inside)) if not inside.all() else len(inside) - 1
    return places[[0, max(last, 1)]]


def _stroked(lines: list[Points], width: float, size: tuple[int, int]) -> Pixels:
    """Opacity float32 (h, w) of lines (n, 2) of a width in pixels; a line finer than half a pixel is fainter."""
    mask = np.zeros((2 * size[1], 2 * size[0]), np.uint8)
    stroke: Any = [np.round((2 * line + 0.5) * 16).astype(np.int32)[:, None] for line in lines]
    cv2.polylines(mask, stroke, False, (255,), max(1, round(2 * width)), cv2.LINE_AA, 4)
    small = cv2.resize(mask, size, interpolation=cv2.INTER_AREA).astype(np.float32)
    return np.asarray(small * np.float32(min(1.0, 2 * width) / 255), np.float32)
